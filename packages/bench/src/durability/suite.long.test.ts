import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { readHistory } from '../results/history.js';
import { ExitCode, runBench } from '../run-bench.js';
import { testWithRedis } from '../testing/requires.js';

const TIMEOUT_MS = 120_000;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-test-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

testWithRedis(
  'each way to keep things is measured on both sides, into the history, and nothing is left behind',
  async () => {
    const output = { print: () => {}, progress: () => {} };
    const data = join(directory, 'data');
    const results = join(directory, 'results');
    const small = ['--rounds', '1', '--seconds', '0.1', '--keys', '100', '--recovery-keys', '2000', '--pipeline', '4'];
    const flags = ['--connections', '4', '--directory', data, '--results', results, '--no-limits', ...small];
    expect(await runBench(['durability', ...flags], output)).toBe(ExitCode.Ok);
    const rows = readHistory(results);
    expect(rows.map(({ workload }) => workload)).toEqual([
      'durability-memory',
      'durability-never',
      'durability-100ms',
      'durability-always',
      'durability-log',
      'durability-recovery',
    ]);
    for (const { sides } of rows) expect(Object.keys(sides)).toEqual(['redis', 'quotadb']);
    const log = rows[4]?.ratiosToRedis.quotadb?.logBytesPerMillionIncrements ?? Number.NaN;
    expect(log).toBeLessThan(1);
    expect(readdirSync(data)).toEqual([]);
  },
  TIMEOUT_MS,
);
