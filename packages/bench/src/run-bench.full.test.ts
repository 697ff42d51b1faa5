import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readHistory } from './results/history.js';
import { ExitCode } from './run-bench.js';
import { bench, testWithRedis } from './testing/bench.js';
import { temporaryDirectory } from './testing/temporary-directory.js';

const BUILT_ENTRY = new URL('../dist/index.js', import.meta.url);
const TIMEOUT_MS = 120_000;

let directory: string;
/** Where everything temporary of the bench goes, so that no leftover can be overlooked. */
let temporary: string;

beforeEach(() => {
  directory = temporaryDirectory();
  temporary = join(directory, 'temporary');
  mkdirSync(temporary);
  vi.stubEnv('TMPDIR', temporary);
});
afterEach(() => vi.unstubAllEnvs());

/** Processes that work in the temporary directory, files in it, control groups of this bench. */
function leftovers(benchPid: number): string[] {
  const processes = readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`).startsWith(temporary);
    } catch {
      return false;
    }
  });
  const groups = ['/sys/fs/cgroup', '/sys/fs/cgroup/cpu', '/sys/fs/cgroup/memory'].flatMap((root) =>
    existsSync(root) ? readdirSync(root).filter((name) => name.startsWith(`quotadb-bench-${benchPid}-`)) : [],
  );
  return [...processes, ...readdirSync(temporary), ...groups];
}

testWithRedis(
  'a real run measures both sides, prints, keeps its rows and leaves nothing behind',
  async () => {
    const results = join(directory, 'results');
    const json = join(directory, 'rows.json');
    const { code, printed, progress } = await bench(
      ...['--smoke', '--workload', 'incrbyex', '--keys', '100', '--connections', '2'],
      ...['--pipeline', '16', '--results', results, '--json', json],
    );
    expect(progress).not.toContain('quotadb bench:');
    expect(code).toBe(ExitCode.Ok);
    const rows = readHistory(results);
    expect(rows).toEqual(JSON.parse(readFileSync(json, 'utf8')));
    expect(rows.map((row) => row.workload)).toEqual(['incrbyex']);
    for (const row of rows) {
      expect(Object.keys(row.sides)).toEqual(expect.arrayContaining(['redis', 'quotadb']));
      expect(row).toMatchObject({ smoke: true, rounds: 1, keyBytes: 42, client: 'quotadb-bench' });
      const { redis, quotadb } = row.sides;
      expect(Object.keys(redis!.measures)).toEqual(Object.keys(quotadb!.measures));
      for (const side of [redis!, quotadb!]) {
        expect(side.version).toMatch(/^\d+\.\d+/);
        expect(side.limits).toMatch(/^2 CPUs, 2 GiB$|^none: ./);
        for (const [name, summary] of Object.entries(side.measures)) {
          expect(summary.rounds).toHaveLength(1);
          expect(Number.isFinite(summary.median), name).toBe(true);
        }
        if (row.pipeline > 0) expect(side.measures.throughputPerSecond!.minimum).toBeGreaterThan(0);
      }
    }
    expect(rows[0]!.ratiosToRedis.quotadb!.throughputPerSecond).toBeGreaterThan(0);
    expect(rows[0]!.sides.redis!.commands).toContain('MULTI; INCR {key}; EXPIRE {same key}');
    expect(rows[0]!.sides.quotadb!.commands).toContain('INCRBYEX {key} 1');
    expect(printed).toContain('incrbyex, 100 keys, pipeline 16, 2 connections');
    expect(printed).toMatch(/Redis is ahead of quotadb in (none|\d+) of \d+ measures/);
    expect(leftovers(process.pid)).toEqual([]);
  },
  TIMEOUT_MS,
);

testWithRedis(
  'an interrupted run ends its servers and removes what it made',
  async () => {
    const script = `
      import { runBench } from ${JSON.stringify(BUILT_ENTRY.href)};
      process.exitCode = await runBench(['--workload', 'incr-hot', '--keys', '10', '--seconds', '600']);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: directory,
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exited = once(child, 'exit');
    const lines = createInterface({ input: child.stderr });
    for await (const line of lines) if (line.startsWith('incr-hot')) break;
    expect(leftovers(child.pid!)).not.toEqual([]);
    child.kill('SIGINT');
    const [code] = await exited;
    expect(code).toBe(ExitCode.Interrupted);
    expect(leftovers(child.pid!)).toEqual([]);
  },
  TIMEOUT_MS,
);

testWithRedis(
  'a server that does not start is a failure with the output of that server, and leaves nothing behind',
  async () => {
    const broken = join(directory, 'quotadb.js');
    writeFileSync(broken, 'console.error("out of order"); process.exit(1);');
    const { code, progress } = await bench('--smoke', '--quotadb', broken);
    expect(code).toBe(ExitCode.Failed);
    expect(progress).toContain('quotadb did not start');
    expect(progress).toContain('out of order');
    expect(leftovers(process.pid)).toEqual([]);
  },
  TIMEOUT_MS,
);

test('without redis-server the message says so, with an exit code of its own', async () => {
  vi.stubEnv('PATH', directory);
  const missing = await bench('--smoke');
  expect(missing.code).toBe(ExitCode.NoRedis);
  expect(missing.progress).toContain('There is no redis-server on this machine');
  const wrong = await bench('--smoke', '--redis', join(directory, 'none'));
  expect(wrong.code).toBe(ExitCode.NoRedis);
  expect(wrong.progress).toContain('none is not an executable file');
});

test('a mistake in the command line has an exit code of its own', async () => {
  const { code, progress } = await bench('--pipeline', 'many');
  expect(code).toBe(ExitCode.Usage);
  expect(progress).toContain('--pipeline: "many" is not a whole number');
});

test('the help names every suite, workload and flag', async () => {
  const { code, printed } = await bench('--help');
  expect(code).toBe(ExitCode.Ok);
  const suites = ['aims', 'counts', 'durability', 'replication', 'limits', 'quotas', 'steps', 'report'];
  for (const suite of suites) {
    expect(printed).toContain(`quotadb bench ${suite}`);
    expect(await bench(suite, '--help')).toMatchObject({
      code: ExitCode.Ok,
      printed: expect.stringContaining('--help'),
    });
  }
  for (const word of ['side by side with Redis', 'incr-zipf', 'memory-expiring', '--no-limits', '--serve-arguments']) {
    expect(printed).toContain(word);
  }
});

test.each([
  ['durability', /--seconds.*\n--rounds/],
  ['replication', /--seconds.*\n--rounds/],
])('mistakes in the command line of %s are reported at once', async (suite, expected) => {
  const { code, progress } = await bench(suite, '--seconds', 'few', '--rounds', '0');
  expect(code).toBe(ExitCode.Usage);
  expect(progress).toMatch(expected);
});
