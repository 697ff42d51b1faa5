import { expect, test } from 'vitest';
import { KEY_PREFIX, keyText } from '../load/request.js';
import { parseReport, redisBenchmarkCommand } from './redis-benchmark.js';
import { workloads } from './workloads.js';

const REPORT = `
====== INCR key:__rand_int__ ======
  100000 requests completed in 1.45 seconds
  50 parallel clients

Latency by percentile distribution:
0.000% <= 0.103 milliseconds (cumulative count 1)
50.000% <= 0.351 milliseconds (cumulative count 53734)
98.438% <= 0.671 milliseconds (cumulative count 98514)
99.219% <= 0.735 milliseconds (cumulative count 99238)
99.805% <= 1.151 milliseconds (cumulative count 99805)
99.902% <= 2.015 milliseconds (cumulative count 99903)
100.000% <= 3.463 milliseconds (cumulative count 100000)

Cumulative distribution of latencies:
99.967% <= 0.903 milliseconds (cumulative count 99690)

Summary:
  throughput summary: 69108.50 requests per second
`;

test('the report is read: operations, time and the percentiles at or above those asked for', () => {
  const { elapsedMs, ...rest } = parseReport(REPORT);
  expect(rest).toEqual({ operations: 100_000, p50Ms: 0.351, p99Ms: 0.735, p999Ms: 2.015 });
  expect(elapsedMs).toBeCloseTo(1447, 0);
});

test('a report without figures is an error, not a result of zero', () => {
  expect(() => parseReport('Could not connect to Redis')).toThrow('no figures');
});

test('redis-benchmark is given what it can send, with the keys our own client uses', () => {
  const commandOf = (name: string, kind: 'redis' | 'quotadb') => {
    const workload = workloads.find((candidate) => candidate.name === name)!;
    return redisBenchmarkCommand(workload.pattern(kind), workload.keys);
  };
  expect(commandOf('incr-hot', 'redis')).toEqual(['INCR', keyText(0)]);
  expect(commandOf('incr-uniform', 'redis')).toEqual(['INCR', `${KEY_PREFIX}__rand_int__`]);
  expect(commandOf('mget-10', 'quotadb')).toHaveLength(11);
  for (const name of ['incr-zipf', 'incrbyex', 'incr-expire', 'mixed'])
    expect(commandOf(name, 'redis')).toBeUndefined();
});
