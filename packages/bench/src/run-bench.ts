import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { availability } from './availability/suite.js';
import { helpText, type Options, parseFlags, UsageError } from './command-line/flags.js';
import { type AnySuite, helpFlag, type Output, rowFlags, type sharedFlags } from './command-line/suite.js';
import { counts } from './counts/suite.js';
import { durability } from './durability/suite.js';
import { groups } from './groups/suite.js';
import { limits } from './limits/suite.js';
import { Cleanup } from './machine/cleanup.js';
import { quotas } from './quotas/suite.js';
import { replication } from './replication/suite.js';
import { report } from './report/suite.js';
import { readHistory, writeHistory } from './results/history.js';
import { type RunStamp, repositoryDirectory, stampRun } from './results/stamp.js';
import { rls } from './rls/suite.js';
import { NoRedisError } from './servers/redis.js';
import { aims } from './side-by-side/aims-suite.js';
import { sideBySide } from './side-by-side/suite.js';
import { steps } from './steps/suite.js';

export const ExitCode = { Ok: 0, Failed: 1, Usage: 2, NoRedis: 3, Interrupted: 130 } as const;

const suites: readonly AnySuite[] = [
  sideBySide,
  aims,
  counts,
  durability,
  replication,
  limits,
  quotas,
  rls,
  availability,
  groups,
  steps,
  report,
];

const STANDARD_OUTPUT: Output = {
  print: (text) => process.stdout.write(`${text}\n`),
  progress: (text) => process.stderr.write(`${text}\n`),
};

/**
 * `quotadb bench`: runs one suite. Servers are started here, on free ports, in temporary directories, and all are gone
 * again when this returns, whether the run succeeded, failed or was interrupted.
 *
 * The load comes from our own generator, in a process of its own. On a machine of 2 cores with Redis 7.0.15 it drove a
 * server about as hard as redis-benchmark (harder without pipelining, where redis-benchmark changes its epoll set twice
 * per request), at about the same cost per operation; and it sends what redis-benchmark cannot: skewed keys, mixed
 * commands, transactions, a given load with latencies counted from when each request was due.
 * `--client redis-benchmark` remains as a second opinion from a program that is not ours.
 */
export async function runBench(argv: readonly string[], output: Output = STANDARD_OUTPUT): Promise<number> {
  const cleanup = new Cleanup();
  const interruption = new AbortController();
  const interrupt = () => {
    if (interruption.signal.aborted) process.exit(ExitCode.Interrupted); // asked twice: leave at once
    output.progress('interrupted; cleaning up');
    interruption.abort();
  };
  const cleanUpAtOnce = () => cleanup.atOnce();
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  process.on('exit', cleanUpAtOnce);
  try {
    await runSuite(argv, cleanup, interruption.signal, output);
    return ExitCode.Ok;
  } catch (error) {
    if (interruption.signal.aborted) return ExitCode.Interrupted;
    const message = error instanceof Error ? error.message : String(error);
    output.progress(
      error instanceof UsageError ? `${message}\nSee quotadb bench --help.` : `quotadb bench: ${message}`,
    );
    if (error instanceof UsageError) return ExitCode.Usage;
    return error instanceof NoRedisError ? ExitCode.NoRedis : ExitCode.Failed;
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
    process.off('exit', cleanUpAtOnce);
  }
}

async function runSuite(argv: readonly string[], cleanup: Cleanup, signal: AbortSignal, output: Output): Promise<void> {
  const named = suites.find(({ name }) => name !== '' && name === argv[0]);
  const suite = named ?? sideBySide;
  const flags = { ...suite.flags, ...(suite.rows && rowFlags(suite.rows.folder)), ...helpFlag };
  const options = parseFlags(flags, named === undefined ? argv : argv.slice(1));
  if (options.help) {
    output.print(helpText(usage(suite), flags, suite.appendix));
    return;
  }
  const rows: RunStamp[] = [];
  const keep = (row: RunStamp) => {
    rows.push(row);
    output.print(suite.rows!.format(row));
  };
  try {
    await suite.run(options, { ...output, stamp: stampRun(), cleanup, signal, keep });
  } finally {
    try {
      await cleanup.gently();
    } finally {
      // Rows measured before a failure or an interruption are worth keeping too.
      if (rows.length > 0) keepRows(rows, suite.rows!.folder, options as unknown as RowOptions, output);
    }
  }
}

function usage(suite: AnySuite): string[] {
  const listed = suite === sideBySide ? suites : [suite];
  return listed.map(({ name, summary }) => `${`quotadb bench ${name}`.trim().padEnd(25)} [flags]   ${summary}`);
}

type RowOptions = Options<ReturnType<typeof rowFlags> & Partial<Pick<typeof sharedFlags, 'smoke'>>>;

function keepRows(rows: readonly RunStamp[], folder: string, options: RowOptions, output: Output): void {
  if (options.json !== '') writeFileSync(options.json, `${JSON.stringify(rows, null, 2)}\n`);
  if (options.smoke && options.results === '') {
    checkHistory(rows);
    output.progress('smoke run: the harness works; the figures mean nothing and were not kept');
    return;
  }
  output.progress(`results: ${writeHistory(repositoryDirectory(options.results, 'bench', 'results', folder), rows)}`);
}

/** Writes and reads the rows as a real run would, in a temporary directory. */
function checkHistory(rows: readonly RunStamp[]): void {
  const directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-smoke-'));
  try {
    writeHistory(directory, rows);
    if (readHistory(directory).length !== rows.length) throw new Error('rows were lost on the way to the history');
  } finally {
    rmSync(directory, { recursive: true });
  }
}
