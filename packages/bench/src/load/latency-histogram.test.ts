import fastCheck from 'fast-check';
import { expect, test } from 'vitest';
import { LatencyHistogram } from './latency-histogram.js';

test('percentiles of one to a hundred milliseconds are those, within one percent', () => {
  const histogram = new LatencyHistogram();
  for (let value = 1; value <= 100; value++) histogram.record(value, 1);
  for (const percentile of [1, 50, 99, 99.9, 100]) {
    const exact = Math.ceil(percentile);
    expect(histogram.percentileMilliseconds(percentile)).toBeGreaterThanOrEqual(exact);
    expect(histogram.percentileMilliseconds(percentile)).toBeLessThanOrEqual(exact * 1.01);
  }
});

test('a value recorded many times at once weighs as many', () => {
  const histogram = new LatencyHistogram();
  histogram.record(1, 99);
  histogram.record(50, 1);
  expect(histogram.percentileMilliseconds(99)).toBeLessThan(1.01);
  expect(histogram.percentileMilliseconds(99.5)).toBeGreaterThanOrEqual(50);
});

test('every latency is found again within one percent or a tenth of a microsecond', () => {
  fastCheck.assert(
    fastCheck.property(fastCheck.double({ min: 0, max: 200_000, noNaN: true }), (milliseconds) => {
      const histogram = new LatencyHistogram();
      histogram.record(milliseconds, 1);
      const found = histogram.percentileMilliseconds(50);
      expect(Math.abs(found - milliseconds)).toBeLessThanOrEqual(milliseconds * 0.01 + 0.0001);
    }),
  );
});

test('beyond its range it counts as the largest, below as zero, and none is zero', () => {
  const histogram = new LatencyHistogram();
  expect(histogram.percentileMilliseconds(99)).toBe(0);
  histogram.record(-1, 1);
  expect(histogram.percentileMilliseconds(99)).toBe(0);
  histogram.record(1e9, 10);
  expect(histogram.percentileMilliseconds(99)).toBeGreaterThan(200_000);
});
