import { expect, test } from 'vitest';
import { rowOf } from '../testing/rows.js';
import { figureAims, type Records, worstOfEachRun } from './figure-aims.js';
import type { LimitsRow } from './limits-row.js';

const later = { date: '2026-02-03T04:05:06.789Z' };
const figuresOf = (title: string, records: Partial<Records>) => {
  const aim = figureAims.find((candidate) => candidate.title.startsWith(title))!;
  return worstOfEachRun(aim, { rows: [], limits: [], counts: [], ...records }).map(([, value]) => value);
};

test('of the rows of a run the worst counts, and every run has a figure', () => {
  const row = (seconds: number, changes: object) => {
    const sides = { redis: [{ loadSeconds: 10 }], quotadb: [{ loadSeconds: seconds }] };
    return rowOf(sides, { workload: 'durability-recovery', keys: 10_000_000, ...changes });
  };
  const rows = [row(4, {}), row(6, {}), row(5, later), row(50, { keys: 1_000_000 })];
  expect(figuresOf('loading 10 M keys', { rows })).toEqual([0.6, 0.5]);
});

test('the disk is compared with memory in the same run, side by side', () => {
  const row = (workload: string, throughputPerSecond: number, changes: object) =>
    rowOf({ redis: [{ throughputPerSecond: 1 }], quotadb: [{ throughputPerSecond }] }, { workload, ...changes });
  const rows = [
    row('durability-memory', 100, {}),
    row('durability-100ms', 80, {}),
    row('durability-memory', 1000, later),
    row('durability-memory', 100, { ...later, pipeline: 1 }),
    row('durability-100ms', 90, { ...later, pipeline: 1 }),
  ];
  expect(figuresOf('throughput with --fsync 100', { rows })).toEqual([0.8, 0.9]);
});

test('the cost of a decision is that beside INCR in the same row', () => {
  const ratio = (cpu: number) => ({ to: 'INCR', operationsPerSecond: 1, serverCpuMicrosecondsPerOperation: cpu });
  const limits = [
    {
      ...rowOf({}),
      ratios: {
        'QUOTA.TAKE, pipeline 1': ratio(1.2),
        'QUOTA.TAKE, pipeline 16': ratio(1.7),
        'QUOTA.TAKE, the first of each subject, pipeline 16': ratio(9),
        'RATE.LIMIT, pipeline 16': ratio(3),
      },
    },
  ] as unknown as LimitsRow[];
  expect(figuresOf('server CPU of QUOTA.TAKE', { limits })).toEqual([1.7]);
  expect(figuresOf('server CPU of RATE.LIMIT', { limits })).toEqual([3]);
});

test('rows of other rates say nothing about lag and counts', () => {
  const lag = (rate: number, lagP99Ms: number) =>
    rowOf({ 'three regions': [{ lagP99Ms }] }, { description: `lag; ${rate}/s asked of each of three regions` });
  expect(figuresOf('replication lag', { rows: [lag(25_000, 40), lag(125_000, 900)] })).toEqual([40]);
  const counts = (requestedPerSecond: number, maximum: number, items = 100) => ({
    ...rowOf({}, { date: `${requestedPerSecond} ${items}` }),
    requestedPerSecond,
    items,
    sides: { quotadb: { latencyMsP99: { maximum } } },
  });
  const rates = [counts(10_000, 15), counts(10_000, 1, 1), counts(25_000, 99), counts(25_000, 9, 1)];
  expect(figuresOf('counts over HTTP: p99 at 10,000', { counts: rates })).toEqual([15]);
  expect(figuresOf('counts over HTTP: p99 at 25,000', { counts: rates })).toEqual([9]);
});
