import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { measureNames } from './measure/measures.js';
import { readHistory } from './results/history.js';
import { ExitCode, runBench } from './run-bench.js';
import { testWithRedis } from './testing/requires.js';

const BUILT_ENTRY = new URL('../dist/index.js', import.meta.url);
const TIMEOUT_MS = 120_000;

let directory: string;
/** Where everything temporary of the bench goes, so that nothing of it can be overlooked. */
let temporary: string;
let printed: string;
let progress: string;
const output = {
  print: (text: string) => {
    printed += `${text}\n`;
  },
  progress: (text: string) => {
    progress += `${text}\n`;
  },
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-test-'));
  temporary = join(directory, 'temporary');
  mkdirSync(temporary);
  vi.stubEnv('TMPDIR', temporary);
  printed = '';
  progress = '';
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

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
    const code = await runBench(
      [
        ...['--smoke', '--workload', 'incr-uniform,incrbyex,mixed,memory-expiring', '--keys', '1000'],
        ...['--pipeline', '16', '--rounds', '2', '--results', results, '--json', json],
      ],
      output,
    );
    expect(progress).not.toContain('quotadb bench:');
    expect(code).toBe(ExitCode.Ok);
    const rows = readHistory(results);
    expect(rows).toEqual(JSON.parse(readFileSync(json, 'utf8')));
    expect(rows.map((row) => row.workload)).toEqual(['incr-uniform', 'incrbyex', 'mixed', 'memory-expiring']);
    for (const row of rows) {
      expect(Object.keys(row.sides)).toEqual(expect.arrayContaining(['redis', 'quotadb']));
      expect(row.smoke).toBe(true);
      expect(row.rounds).toBe(2);
      const { redis, quotadb } = row.sides;
      expect(Object.keys(redis!.measures)).toEqual(Object.keys(quotadb!.measures));
      for (const side of [redis!, quotadb!]) {
        expect(side.version).toMatch(/^\d+\.\d+/);
        expect(side.limits).toMatch(/^2 CPUs, 2 GiB$|^none: ./);
        for (const name of measureNames) {
          const summary = side.measures[name];
          if (summary === undefined) continue;
          expect(summary.rounds).toHaveLength(2);
          expect(Number.isFinite(summary.median), name).toBe(true);
        }
        if (row.pipeline > 0) expect(side.measures.throughputPerSecond!.minimum).toBeGreaterThan(0);
      }
    }
    expect(rows[0]!.ratiosToRedis.quotadb!.throughputPerSecond).toBeGreaterThan(0);
    expect(rows[1]!.sides.redis!.commands).toContain('MULTI; INCR {key}; EXPIRE {same key}');
    expect(rows[1]!.sides.quotadb!.commands).toContain('INCRBYEX {key} 1');
    expect(printed).toContain('incr-uniform, pipeline 16, 5 connections');
    expect(printed).toMatch(/Redis is ahead of quotadb in (none|\d+) of \d+ measures/);
    expect(leftovers(process.pid)).toEqual([]);
  },
  TIMEOUT_MS,
);

testWithRedis(
  'redis-benchmark as the client gives the same kind of row',
  async () => {
    const results = join(directory, 'results');
    const code = await runBench(
      [
        ...['--smoke', '--workload', 'get,mixed', '--keys', '1000', '--pipeline', '16', '--client', 'redis-benchmark'],
        ...['--no-half-load', '--results', results],
      ],
      output,
    );
    expect(progress).not.toContain('quotadb bench:');
    expect(code).toBe(ExitCode.Ok);
    const [get, mixed] = readHistory(results);
    expect(get!.client).toBe('redis-benchmark');
    expect(mixed!.client).toBe('quotadb-bench');
    for (const side of [get!.sides.redis!, get!.sides.quotadb!]) {
      expect(side.measures.throughputPerSecond!.median).toBeGreaterThan(0);
      expect(side.measures.p999Ms!.median).toBeGreaterThan(0);
      expect(side.measures.halfLoadP99Ms).toBeUndefined();
    }
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
  'a server that does not start is a failure that says why, and leaves nothing behind',
  async () => {
    const broken = join(directory, 'quotadb.js');
    writeFileSync(broken, 'console.error("out of order"); process.exit(1);');
    expect(await runBench(['--smoke', '--quotadb', broken], output)).toBe(ExitCode.Failed);
    expect(progress).toContain('quotadb did not start');
    expect(progress).toContain('out of order');
    expect(leftovers(process.pid)).toEqual([]);
  },
  TIMEOUT_MS,
);

test('without redis-server it says so plainly, with a code of its own', async () => {
  vi.stubEnv('PATH', directory);
  expect(await runBench(['--smoke'], output)).toBe(ExitCode.NoRedis);
  expect(progress).toContain('There is no redis-server on this machine');
  progress = '';
  expect(await runBench(['--smoke', '--redis', join(directory, 'none')], output)).toBe(ExitCode.NoRedis);
  expect(progress).toContain('is no program');
});

test('a mistake in the command line has a code of its own, help has none', async () => {
  expect(await runBench(['--pipeline', 'many'], output)).toBe(ExitCode.Usage);
  expect(progress).toContain('--pipeline: "many" is not a whole number');
  expect(await runBench(['--help'], output)).toBe(ExitCode.Ok);
  expect(printed).toContain('side by side with Redis');
});
