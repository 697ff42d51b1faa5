import { expect, test } from 'vitest';
import { segmentsOf } from './slot-segments.js';

const group = (...ranges: [number, number][]) => ({
  ...{ name: 'g', isOwn: false, slots: 0, members: [], policies: null, trouble: '' },
  ranges,
});

test('the bar covers all slots once, with those of no group and those on their way apart', () => {
  const moves = [{ from: 'a', to: 'b', slots: 10, heldSlots: 1, ranges: [[90, 99]] as const }];
  expect(segmentsOf({ groups: [group([0, 99]), group([200, 16_383])], moves })).toEqual([
    { first: 0, last: 89, group: 0, isMoving: false },
    { first: 90, last: 99, group: 0, isMoving: true },
    { first: 100, last: 199, group: -1, isMoving: false },
    { first: 200, last: 16_383, group: 1, isMoving: false },
  ]);
});

test('a map in shreds is drawn in as many parts as can be distinguished', () => {
  const even = Array.from({ length: 8192 }, (_, at): [number, number] => [2 * at, 2 * at]);
  const odd = even.map(([slot]): [number, number] => [slot + 1, slot + 1]);
  const segments = segmentsOf({ groups: [group(...even), group(...odd)], moves: [] });
  expect(segments.length).toBeLessThanOrEqual(300);
  expect([segments[0]?.first, segments.at(-1)?.last]).toEqual([0, 16_383]);
});
