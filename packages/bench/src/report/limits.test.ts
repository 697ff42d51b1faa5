import { expect, test } from 'vitest';
import type { LimitsRow } from '../results/limits-row.js';
import { summarize } from '../results/summary.js';
import { rowOf } from '../testing/rows.js';
import { renderLimits } from './limits.js';

const figures = {
  operationsPerSecond: 1000,
  clientCpuMicrosecondsPerOperation: 2,
  serverCpuMicrosecondsPerOperation: 3,
};
const rowAt = (date: string, contest: string): LimitsRow => ({
  ...rowOf({}, { date }),
  contest,
  description: 'decisions',
  sides: { INCR: summarize([figures]), 'QUOTA.TAKE': summarize([{ ...figures, p99Ms: 4 }]) },
  ratios: { 'QUOTA.TAKE': { to: 'INCR', operationsPerSecond: 0.5, serverCpuMicrosecondsPerOperation: 1.5 } },
});

test('the newest row of a contest is shown, older ones folded, with what a command costs beside another', () => {
  const lines = renderLimits([rowAt('2026-01-01', 'commands'), rowAt('2026-01-02', 'commands')]).join('\n');
  const [shown, older] = lines.split('<details>');
  expect(shown).toContain('decisions. 2026-01-02 0123456; 3 × 3 s; limits: none.');
  expect(shown).toContain('| QUOTA.TAKE | 1,000 | 2.00 | 3.00 | 1.50× INCR | 4.000 |');
  expect(shown).toContain('| INCR | 1,000 | 2.00 | 3.00 |  |  |');
  expect(older).toContain('2026-01-01');
  expect(renderLimits([])).toEqual([]);
});
