import { expect } from 'vitest';
import { ExitCode } from '../run-bench.js';
import { bench, testWithRedis } from '../testing/bench.js';

testWithRedis(
  'kills a member of a group and a master of a Redis Cluster, and loses nothing that a group acknowledged',
  async () => {
    const { code, printed, progress } = await bench('availability', '--smoke', '--sides', 'data,replicate,redis-1s');
    expect(code, progress).toBe(ExitCode.Ok);
    const lines = printed.split('\n');
    expect(lines).toHaveLength(3);
    for (const line of lines.slice(0, 2)) expect(line).toMatch(/^QuotaDB, .*: 1 kills, p50 .*; 0 of \d+ writes lost$/);
    expect(lines[2]).toMatch(/^Redis Cluster, .*: 1 kills, p50 /);
  },
  600_000,
);
