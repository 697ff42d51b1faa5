import { expect, test } from 'vitest';
import { rowOf } from '../testing/rows.js';
import { alignColumns, formatRow } from './table.js';

test('sides stand beside each other with spread, ratio and who is ahead', () => {
  const row = rowOf({
    redis: [{ throughputPerSecond: 1_000_000, p99Ms: 1, clientBusyCpus: 0.5 }],
    quotadb: [{ throughputPerSecond: 800_000, p99Ms: 0.5, clientBusyCpus: 0.5 }],
  });
  expect(formatRow(row)).toBe(
    [
      'incr-uniform, 1,000,000 keys, pipeline 16, 50 connections: INCR',
      '                          redis 1.0.0  quotadb 1.0.0        : redis',
      'throughput, operations/s    1,000,000        800,000  0.80x behind?',
      'p99, ms                         1.000          0.500   0.50x ahead?',
      'client busy, CPUs                0.50           0.50',
      '',
    ].join('\n'),
  );
});

test('a lead that every round bears out stands without a question mark', () => {
  const text = formatRow(rowOf({ redis: [{ p99Ms: 1 }, { p99Ms: 1.1 }], quotadb: [{ p99Ms: 2 }, { p99Ms: 2.2 }] }));
  expect(text).toMatch(/p99, ms .*2\.00x behind$/m);
});

test('rounds that overlap leave a question mark, equal medians are called equal', () => {
  const text = formatRow(
    rowOf({
      redis: [
        { p50Ms: 1, p99Ms: 10 },
        { p50Ms: 1, p99Ms: 12 },
        { p50Ms: 1, p99Ms: 20 },
      ],
      quotadb: [
        { p50Ms: 1, p99Ms: 11 },
        { p50Ms: 1, p99Ms: 15 },
        { p50Ms: 1, p99Ms: 16 },
      ],
    }),
  );
  expect(text).toMatch(/p99, ms .*12\.000 \(83 %\) .*15\.000 \(33 %\) .*1\.25x behind\?/);
  expect(text).toMatch(/p50, ms .*1\.00x equal/);
});

test('a measure that one side lacks is a dash, without a ratio', () => {
  const text = formatRow(rowOf({ redis: [{ usedBytesPerKey: 80 }], quotadb: [{ residentBytesPerKey: 70 }] }));
  expect(text).toMatch(/resident memory, bytes\/key +- +70\.0$/m);
  expect(text).toMatch(/server's own count, bytes\/key +80\.0 +-$/m);
});

test('where the client was busy and the server was not, it says so', () => {
  const busy = { clientBusyCpus: 0.97, serverBusyCpus: 0.99 };
  const waiting = { clientBusyCpus: 0.97, serverBusyCpus: 0.7 };
  expect(formatRow(rowOf({ redis: [busy], quotadb: [waiting] }))).toContain('was the limit for: quotadb.');
  expect(formatRow(rowOf({ redis: [busy], quotadb: [busy] }))).not.toContain('was the limit');
});

test('columns are as wide as their widest text', () => {
  expect(
    alignColumns([
      ['', 'a'],
      ['name', 'long'],
      ['x', ''],
    ]),
  ).toEqual(['         a', 'name  long', 'x']);
});
