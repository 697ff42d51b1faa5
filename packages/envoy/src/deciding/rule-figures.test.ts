import { expect, test } from 'vitest';
import { Figures, MAXIMUM_FIGURE_LENGTH, MAXIMUM_FIGURES, noteHits } from './rule-figures.js';

/** The hits of requests one after another, by the rules that the reference documents for its statistics. */
test.each([
  // A limit of 10 is near from 8 on: the hit that reaches 9 is the first near one.
  ['single hits up to the limit and past it', 10, Array(12).fill(1), { total: 12, within: 10, near: 2, over: 2 }],
  [
    'hits that begin below the near limit and end over it',
    20,
    [1, 14, 3, 3],
    { total: 21, within: 18, near: 4, over: 1 },
  ],
  ['hits that are all over the limit', 10, [10, 5], { total: 15, within: 10, near: 2, over: 5 }],
  ['a limit of 0', 0, [3], { total: 3, within: 0, near: 0, over: 3 }],
])('%s', (_, limit, requests, expected) => {
  const figures = new Figures().of('d.k', 'd.k');
  let count = 0;
  for (const hits of requests) {
    count += hits;
    noteHits(figures, limit, count, hits);
  }
  const { total, withinLimit, nearLimit, overLimit } = figures;
  expect({ total, within: withinLimit, near: nearLimit, over: overLimit }).toEqual(expected);
});

test('figures of values are bounded: past the bound they are counted with their rule', () => {
  const figures = new Figures();
  for (let index = 0; index < MAXIMUM_FIGURES + 100; index++) figures.of(`d.k_${index}`, 'd.k').total++;
  expect(figures.rules.size).toBe(MAXIMUM_FIGURES + 1);
  expect(figures.rules.get('d.k')?.total).toBe(100);
});

test('a value of a caller does not make a long name in memory and in metrics', () => {
  const figures = new Figures();
  figures.of(`d.k_${'x'.repeat(MAXIMUM_FIGURE_LENGTH)}`, 'd.k').total++;
  expect([...figures.rules.keys()]).toEqual(['d.k']);
});
