import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readHistory } from '../results/history.js';
import { ExitCode } from '../run-bench.js';
import { bench, testWithRedis } from '../testing/bench.js';
import { temporaryDirectory } from '../testing/temporary-directory.js';

testWithRedis(
  'each way to keep increments is measured on both sides, into the history, and nothing is left behind',
  async () => {
    const directory = temporaryDirectory();
    const data = join(directory, 'data');
    const results = join(directory, 'results');
    const small = ['--rounds', '1', '--seconds', '0.1', '--keys', '100', '--recovery-keys', '2000', '--pipeline', '4'];
    const flags = ['--connections', '4', '--directory', data, '--results', results, '--no-limits', ...small];
    expect(await bench('durability', ...flags)).toMatchObject({ code: ExitCode.Ok });
    const rows = readHistory(results);
    expect(rows.map(({ workload }) => workload)).toEqual([
      'durability-memory',
      'durability-never',
      'durability-100ms',
      'durability-always',
      'durability-log',
      'durability-start',
      'durability-recovery',
    ]);
    for (const { sides } of rows) expect(Object.keys(sides)).toEqual(['redis', 'quotadb']);
    const log = rows[4]?.ratiosToRedis.quotadb?.logBytesPerMillionIncrements ?? Number.NaN;
    expect(log).toBeLessThan(1);
    expect(rows[5]?.sides.quotadb?.measures.loadSeconds?.median).toBeGreaterThan(0);
    expect(readdirSync(data)).toEqual([]);
  },
  120_000,
);
