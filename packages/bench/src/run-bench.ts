import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureAll, type Output } from './bench.js';
import { Cleanup } from './cleanup.js';
import { NoRedisError } from './contenders.js';
import { runCountsBench } from './counts/run-counts-bench.js';
import { runDurabilityBench } from './durability/run-durability-bench.js';
import { UsageError } from './flags.js';
import { runLimitsBench } from './limits/run-limits-bench.js';
import { type BenchOptions, benchHelpText, parseOptions } from './options.js';
import { formatRow } from './output/table.js';
import { formatVerdict } from './output/verdict.js';
import { runQuotasBench } from './quotas/run-quotas-bench.js';
import { runReplicationBench } from './replication/run-replication-bench.js';
import { runReport } from './report/run-report.js';
import { resultsDirectory } from './results/environment.js';
import { readHistory, writeHistory } from './results/history.js';
import type { ResultRow } from './results/row.js';
import { runSteps } from './steps/run-steps.js';

export const ExitCode = { Ok: 0, Failed: 1, Usage: 2, NoRedis: 3, Interrupted: 130 } as const;

const STANDARD_OUTPUT: Output = {
  print: (text) => process.stdout.write(`${text}\n`),
  progress: (text) => process.stderr.write(`${text}\n`),
};

type Subcommand = (argv: readonly string[], cleanup: Cleanup, signal: AbortSignal, output: Output) => unknown;

/** What is measured by a word of its own; everything else is flags of `quotadb bench` itself. */
const subcommands: Readonly<Record<string, Subcommand>> = {
  counts: runCountsBench,
  durability: runDurabilityBench,
  limits: runLimitsBench,
  quotas: (argv, _cleanup, signal, output) => runQuotasBench(argv, signal, output),
  replication: runReplicationBench,
  report: (argv, _cleanup, _signal, output) => {
    for (const file of runReport(argv)) output.print(file);
  },
  steps: (_argv, _cleanup, _signal, output) => runSteps(output),
};

/**
 * `quotadb bench`: QuotaDB and Redis side by side, both started here, on free ports, in temporary directories, without
 * persistence, and both gone again when this returns, whether it went well, went wrong or was interrupted.
 *
 * The load comes from our own generator, in a process of its own. It was held against redis-benchmark on a machine of 2
 * cores with Redis 7.0.15 and drives a server about as hard (harder without pipelining, where redis-benchmark changes its
 * epoll set twice per request), at about the same cost per operation; and it sends what redis-benchmark cannot: skewed
 * keys, mixed commands, transactions, a given load with latencies counted from when each request was due.
 * `--client redis-benchmark` remains as a second opinion that owes nothing to us.
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
    return await benchAndClean(argv, cleanup, interruption.signal, output);
  } catch (error) {
    if (interruption.signal.aborted) return ExitCode.Interrupted;
    output.progress(error instanceof UsageError ? `${error.message}\nSee quotadb bench --help.` : messageOf(error));
    if (error instanceof UsageError) return ExitCode.Usage;
    return error instanceof NoRedisError ? ExitCode.NoRedis : ExitCode.Failed;
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
    process.off('exit', cleanUpAtOnce);
  }
}

async function benchAndClean(
  argv: readonly string[],
  cleanup: Cleanup,
  signal: AbortSignal,
  output: Output,
): Promise<number> {
  const [name = '', ...rest] = argv;
  const subcommand = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (subcommand === undefined) return benchBesideRedis(argv, cleanup, signal, output);
  try {
    await subcommand(rest, cleanup, signal, output);
  } finally {
    await cleanup.gently();
  }
  return ExitCode.Ok;
}

async function benchBesideRedis(
  argv: readonly string[],
  cleanup: Cleanup,
  signal: AbortSignal,
  output: Output,
): Promise<number> {
  const options = parseOptions(argv);
  if (options.help) {
    output.print(benchHelpText());
    return ExitCode.Ok;
  }
  const rows: ResultRow[] = [];
  try {
    await measureAll(options, cleanup, signal, output, (row) => {
      rows.push(row);
      output.print(formatRow(row));
    });
  } finally {
    try {
      await cleanup.gently();
    } finally {
      // Also what was measured before a failure or an interruption is worth keeping.
      if (rows.length > 0) keep(rows, options, output);
    }
  }
  output.print(formatVerdict(rows));
  return ExitCode.Ok;
}

function keep(rows: readonly ResultRow[], options: BenchOptions, output: Output): void {
  if (options.json !== '') writeFileSync(options.json, `${JSON.stringify(rows, null, 2)}\n`);
  if (options.smoke && options.results === '') {
    checkHistory(rows);
    output.progress('smoke run: the harness works; the figures mean nothing and were not kept');
    return;
  }
  output.progress(`results: ${writeHistory(resultsDirectory(options.results), rows)}`);
}

/** Writes and reads the rows as a real run would, somewhere else. */
function checkHistory(rows: readonly ResultRow[]): void {
  const directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-smoke-'));
  try {
    writeHistory(directory, rows);
    if (readHistory(directory).length !== rows.length) throw new Error('rows were lost on the way to the history');
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function messageOf(error: unknown): string {
  return `quotadb bench: ${error instanceof Error ? error.message : String(error)}`;
}
