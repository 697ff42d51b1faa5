import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ExitCode, runBench } from '../run-bench.js';
import { renderQuotas } from './render.js';
import { readNewestQuotaRows } from './row.js';

const quiet = { print: () => undefined, progress: () => undefined };

test('quotas allow all of a limit and nothing beyond it; what counts alone or hears late does not', {
  timeout: 120_000,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'quotadb-bench-quotas-test-'));
  try {
    const flags = ['--regions', '2', '--limits', '100', '--demand', 'uniform,skewed', '--results', directory];
    expect(await runBench(['quotas', ...flags], quiet)).toBe(ExitCode.Ok);
    const rows = readNewestQuotaRows(directory);
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
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('mistakes in the flags are reported together', async () => {
  const mistakes: string[] = [];
  const output = { print: () => undefined, progress: (text: string) => mistakes.push(text) };
  expect(await runBench(['quotas', '--regions', '9', '--demand', 'none'], output)).toBe(ExitCode.Usage);
  expect(mistakes.join('\n')).toMatch(/--regions[\s\S]*--demand/);
});

test('what was never measured is not in the report', () => {
  expect(readNewestQuotaRows(join(tmpdir(), 'quotadb-no-such-directory'))).toEqual([]);
  expect(renderQuotas([])).toEqual([]);
});
