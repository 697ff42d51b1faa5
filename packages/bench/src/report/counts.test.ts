import { expect, test } from 'vitest';
import type { CountsRow } from '../counts/row.js';
import { summarize } from '../results/summary.js';
import { rowOf } from '../testing/rows.js';
import { renderCounts } from './counts.js';

const round = {
  requestsPerSecond: 10_000,
  latencyMsP50: 1,
  latencyMsP99: 5,
  latencyMsP999: 15,
  failures: 0,
  serviceCpuMicrosecondsPerRequest: 28,
};
const rowAt = (day: number, changes: object, figures: object = {}): CountsRow => ({
  ...rowOf({}, { date: `2026-03-0${day}` }),
  database: { version: '18.4', fsync: 'on', synchronousCommit: 'on' },
  scenario: 'constant-rate',
  client: 'own',
  items: 10_000,
  connections: 256,
  secondsPerRound: 60,
  rounds: 1,
  requestedPerSecond: 10_000,
  sides: { quotadb: summarize([{ ...round, ...figures }]) },
  ...changes,
});

test('the newest row of each rate and number of counts is shown with the worst p99 of the last three, with limits and client', () => {
  const lines = renderCounts([
    rowAt(1, {}, { latencyMsP99: 224 }),
    rowAt(2, {}, { latencyMsP99: 38 }),
    rowAt(3, {}),
    rowAt(4, {}, { machineIdleShare: 0.44 }),
    rowAt(4, { items: 1, requestedPerSecond: 25_000 }),
    rowAt(5, { smoke: true }),
  ]).join('\n');
  const [shown, older] = lines.split('<details>');
  const measured = '2026-03-04 0123456; 1 × 60 s; limits: none; PostgreSQL 18.4';
  expect(shown).toContain(
    `| 10,000/s | 10,000 | 256 | own | quotadb | 10,000 | 1.0 | 5.0 | 38.0 | 15.0 | 28.0 | 44 % | ${measured} |`,
  );
  expect(shown).toContain(
    `| 25,000/s | 1 | 256 | own | quotadb | 10,000 | 1.0 | 5.0 |  | 15.0 | 28.0 |  | ${measured} |`,
  );
  expect(shown).not.toContain('2026-03-03');
  expect(older!.indexOf('2026-03-03')).toBeLessThan(older!.indexOf('2026-03-01'));
  expect(older).toContain('224.0');
  expect(renderCounts([])).toEqual([]);
});
