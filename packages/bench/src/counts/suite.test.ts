import { expect, test } from 'vitest';
import { readNewestRun } from '../results/history.js';
import { ExitCode } from '../run-bench.js';
import { bench, temporaryDirectory } from '../testing/bench.js';
import { itemSequence } from './requests.js';
import type { CountsRow } from './row.js';

test('a short run measures both sides and keeps a row for each scenario and for the constant rate', async () => {
  const directory = temporaryDirectory();
  const short = ['--items', '50', '--connections', '8', '--client', 'autocannon', '--paced-rate', '100'];
  const ran = await bench('counts', '--smoke', '--scenario', 'uniform', ...short, '--results', directory);
  expect(ran).toMatchObject({ code: ExitCode.Ok });
  const rows = readNewestRun<CountsRow>(directory);
  expect(rows.map(({ scenario }) => scenario)).toEqual(['uniform', 'constant-rate']);
  for (const row of rows) {
    expect(row.database).toMatchObject({ fsync: 'on', synchronousCommit: 'on' });
    expect(row.sides.quotadb).toMatchObject({ failures: { maximum: 0 } });
    expect(row.sides.quotadb!.requestsPerSecond.median).toBeGreaterThan(0);
  }
  expect(Object.keys(rows[0]!.sides)).toEqual(['quotadb', 'one-statement']);
  expect(ran.printed).toContain('times the one-statement service');
}, 60_000);

test('mistakes in the flags are reported together', async () => {
  const { code, progress } = await bench('counts', '--items', '0', '--scenario', 'sideways');
  expect(code).toBe(ExitCode.Usage);
  expect(progress).toMatch(/--scenario[\s\S]*--items/);
});

test('scenarios send the items they name', () => {
  const share = (items: string[]) => items.filter((item) => item === 'item-0').length / items.length;
  expect(share(itemSequence('uniform', 100))).toBeCloseTo(0.01, 2);
  expect(share(itemSequence('hot', 100))).toBe(1);
  expect(share(itemSequence('zipf', 100))).toBeGreaterThan(0.15);
});
