import { expect, test } from 'vitest';
import { leadOf, median, ratios, spread, summarize, summaryOf } from './summary.js';

test('the median is the middle, or the mean of the two middles', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([10, 9])).toBe(9.5);
});

test('the spread is the range of the rounds as a share of the median', () => {
  expect(spread(summaryOf([90, 100, 120]))).toBeCloseTo(0.3);
  expect(spread(summaryOf([0, 0]))).toBe(0);
});

test('rounds are summarized measure by measure, and what was not measured is left out', () => {
  const summaries = summarize([{ p99Ms: 3 }, { p99Ms: 1 }, { p99Ms: 2 }]);
  expect(summaries).toEqual({ p99Ms: { median: 2, minimum: 1, maximum: 3, rounds: [3, 1, 2] } });
});

test('a ratio is ours over theirs, of medians, only for what can be better or worse', () => {
  const ours = summarize([{ throughputPerSecond: 300, p99Ms: 1, clientBusyCpus: 1 }]);
  const theirs = summarize([{ throughputPerSecond: 200, p99Ms: 0, clientBusyCpus: 1 }]);
  expect(ratios(ours, theirs)).toEqual({ throughputPerSecond: 1.5 });
});

test('a lead goes the way the measure goes', () => {
  const low = summaryOf([1, 1.1, 1.2]);
  const high = summaryOf([2, 2.2, 2.4]);
  expect(leadOf(high, low, 'higher')).toEqual({ by: expect.closeTo(1), doubt: '' });
  expect(leadOf(low, high, 'higher')).toBeUndefined();
  expect(leadOf(low, high, 'lower')).toEqual({ by: expect.closeTo(1), doubt: '' });
  expect(leadOf(high, low, 'lower')).toBeUndefined();
  expect(leadOf(low, low, 'lower')).toBeUndefined();
});

test('a lead is in doubt where rounds of the two sides overlap, or where there was only one', () => {
  const overlap = 'but the rounds overlap';
  expect(leadOf(summaryOf([10, 20, 30]), summaryOf([9, 18, 12]), 'higher')!.doubt).toBe(overlap);
  expect(leadOf(summaryOf([5, 10, 19]), summaryOf([18, 20, 30]), 'lower')!.doubt).toBe(overlap);
  expect(leadOf(summaryOf([1]), summaryOf([18]), 'lower')!.doubt).toBe('from one round only');
});
