import { expect, test } from 'vitest';
import { rowOf } from '../testing/rows.js';
import { loadAims, resultOf } from './load-aims.js';
import type { Round } from './measures.js';

const [cpu, throughput, p99] = loadAims;
const rounds = (measure: keyof Round, figures: readonly number[]) => figures.map((figure) => ({ [measure]: figure }));

test('an alternation is one round of each side: an aim met in four of five is met, in three of five missed', () => {
  const measured = (ours: number[]) =>
    rowOf(
      {
        redis: rounds('serverCpuMicrosecondsPerOperation', [10, 20, 10, 20, 10]),
        'quotadb 1 lane': rounds('serverCpuMicrosecondsPerOperation', ours),
      },
      { pipeline: 1 },
    );
  expect(resultOf(cpu!, measured([9, 19, 9, 19, 11]))).toMatchObject({ metIn: 4, alternations: 5, isMet: true });
  const missed = resultOf(cpu!, measured([9, 19, 9, 21, 11]));
  expect(missed).toMatchObject({ bound: 0.95, ratio: 1.1, metIn: 3, isMet: false });
});

test('CPU and latency are those of one lane, whatever others were measured', () => {
  const row = rowOf({
    redis: [{ serverCpuMicrosecondsPerOperation: 1, halfLoadP99Ms: 1 }],
    'quotadb 1 lane': [{ serverCpuMicrosecondsPerOperation: 0.9, halfLoadP99Ms: 0.9 }],
    'quotadb 2 lanes': [{ serverCpuMicrosecondsPerOperation: 0.5, halfLoadP99Ms: 0.5 }],
  });
  for (const aim of [cpu!, p99!]) {
    expect(resultOf(aim, row)).toMatchObject({ side: 'quotadb 1 lane', ratio: 0.9, isMet: false });
  }
});

test('throughput is that of the best number of lanes, and unknown where only one number was measured', () => {
  const redis = [{ throughputPerSecond: 100 }];
  const one = [{ throughputPerSecond: 120 }];
  const two = [{ throughputPerSecond: 150 }];
  const both = rowOf({ redis, 'quotadb 1 lane': one, 'quotadb 2 lanes': two });
  expect(resultOf(throughput!, both)).toMatchObject({ side: 'quotadb 2 lanes', ratio: 1.5, isMet: true });
  expect(resultOf(throughput!, rowOf({ redis, 'quotadb 1 lane': one }))).toBeUndefined();
});

test('a row without the figure, without Redis or of another pipeline says nothing', () => {
  const figures = [{ serverCpuMicrosecondsPerOperation: 1 }];
  const sides = { redis: figures, 'quotadb 1 lane': figures };
  expect(resultOf(p99!, rowOf(sides))).toBeUndefined();
  expect(resultOf(cpu!, rowOf(sides, { pipeline: 2 }))).toBeUndefined();
  expect(resultOf(cpu!, rowOf({ 'quotadb 1 lane': figures }))).toBeUndefined();
});
