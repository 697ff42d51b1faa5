import { expect, test } from 'vitest';
import { rowOf } from '../testing/rows.js';
import { formatVerdict } from './verdict.js';

test('every measure in which Redis is ahead is named, the largest lead first', () => {
  const rows = [
    rowOf({
      redis: [{ throughputPerSecond: 1100, serverCpuMicrosecondsPerOperation: 1, p99Ms: 2 }],
      quotadb: [{ throughputPerSecond: 1000, serverCpuMicrosecondsPerOperation: 1.5, p99Ms: 1 }],
    }),
  ];
  const scenario = '  incr-uniform, 1,000,000 keys, pipeline 16, 50 connections';
  expect(formatVerdict(rows)).toBe(
    [
      'Redis is ahead of quotadb in 2 of 3 measures:',
      `${scenario}: server CPU, µs/operation: redis 1.000, quotadb 1.500 (redis ahead by 50 %, from one round only)`,
      `${scenario}: throughput, operations/s: redis 1,100, quotadb 1,000 (redis ahead by 10 %, from one round only)`,
      '',
    ].join('\n'),
  );
});

test('a lead that lies within the spread of the rounds says so', () => {
  const rows = [rowOf({ redis: [{ p99Ms: 1 }, { p99Ms: 4 }], quotadb: [{ p99Ms: 2 }, { p99Ms: 5 }] })];
  expect(formatVerdict(rows)).toContain('(redis ahead by 40 %, but the rounds overlap)');
});

test('where Redis is nowhere ahead, that is said too, for each side of ours', () => {
  const rows = [
    rowOf({
      redis: [{ p99Ms: 3 }],
      valkey: [{ p99Ms: 9 }],
      'quotadb 1 lane': [{ p99Ms: 3 }],
      'quotadb 2 lanes': [{ p99Ms: 2 }],
    }),
  ];
  const verdict = formatVerdict(rows);
  expect(verdict).toContain('Redis is ahead of quotadb 1 lane in none of 1 measures.');
  expect(verdict).toContain('Redis is ahead of quotadb 2 lanes in none of 1 measures.');
  expect(verdict).not.toContain('valkey');
});

test('a figure of zero on our side does not break the sentence', () => {
  const rows = [rowOf({ redis: [{ throughputPerSecond: 10 }], quotadb: [{ throughputPerSecond: 0 }] })];
  expect(formatVerdict(rows)).toContain('redis ahead by any measure');
});
