import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderQuotas } from '../report/quotas.js';
import { readNewestRun } from '../results/history.js';
import type { QuotasRow } from '../results/quotas-row.js';
import { ExitCode } from '../run-bench.js';
import { bench } from '../testing/bench.js';
import { temporaryDirectory } from '../testing/temporary-directory.js';

test('quotas allow all of a limit and nothing beyond it; limiters that count alone or learn late do not', {
  timeout: 120_000,
}, async () => {
  const directory = temporaryDirectory();
  const flags = ['--regions', '2', '--limits', '100', '--demand', 'uniform,skewed', '--results', directory];
  expect(await bench('quotas', ...flags)).toMatchObject({ code: ExitCode.Ok });
  const rows = readNewestRun<QuotasRow>(directory);
  expect(rows.map(({ demand, asked }) => [demand, asked])).toEqual([
    ['uniform', 300],
    ['skewed', 300],
  ]);
  for (const { sides } of rows) expect(sides.quota).toEqual({ admitted: 100, overAdmission: 0, utilisation: 1 });
  const [uniform, skewed] = rows;
  expect(uniform!.sides.local!.overAdmission).toBeGreaterThan(0.3);
  expect(uniform!.sides.exchanged!.overAdmission).toBeGreaterThan(0);
  expect(skewed!.sides.divided!.utilisation).toBeLessThan(0.9);
  expect(renderQuotas(rows).join('\n')).toContain('| 100 | 2 | uniform | 100 |');
});

test('mistakes in the flags are reported together', async () => {
  const { code, progress } = await bench('quotas', '--regions', '9', '--demand', 'none');
  expect(code).toBe(ExitCode.Usage);
  expect(progress).toMatch(/--regions[\s\S]*--demand/);
});

test('a report without measured quotas has no section about them', () => {
  expect(readNewestRun(join(tmpdir(), 'quotadb-no-such-directory'))).toEqual([]);
  expect(renderQuotas([])).toEqual([]);
});
