import { expect, test } from 'vitest';
import type { RlsRow } from '../results/rls-row.js';
import { rowOf } from '../testing/rows.js';
import { renderRls } from './rls.js';

const measures = rowOf({ grpc: [{ throughputPerSecond: 1000, p99Ms: 2 }] }).sides.grpc!.measures;
const rowAt = (date: string, kind: string): RlsRow => ({
  ...rowOf({}, { date }),
  kind,
  streams: 64,
  limits: 'none: the process could not join its control group',
  sides: { grpc: measures },
});

test('the newest row of each kind of limit is shown with its limits, older ones are folded', () => {
  const lines = renderRls([rowAt('2026-03-01', 'fixed'), rowAt('2026-03-02', 'fixed'), rowAt('2026-03-01', 'exact')]);
  const [shown, older] = lines.join('\n').split('<details>');
  expect(shown).toContain('| fixed | 64 | grpc | 1,000 |  | 2.000 |  | 2026-03-02 0123456; limits: none |');
  expect(shown).toContain('| exact | 64 | grpc |');
  expect(older).toContain('| fixed | 64 | grpc | 1,000 |  | 2.000 |  | 2026-03-01 0123456; limits: none |');
  expect(renderRls([])).toEqual([]);
});
