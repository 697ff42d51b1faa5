import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { crashRounds } from '../testing/crash-rounds.js';
import { transactionCrashRounds } from '../testing/transaction-crash-rounds.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-crash-'));
});
afterEach(() => rm(directory, { recursive: true }));

test.each([
  ['always', 'epoll', 60],
  ['always', 'net', 40],
  ['100', 'epoll', 40],
  ['100', 'net', 20],
  ['never', 'auto', 20],
])('--fsync %s over %s keeps its promise through %i crashes', async (fsync, transport, rounds) => {
  const flags = ['--transport', transport];
  const options = { directory, rounds, fsync, flags, clients: 50, snapshots: true, random: Math.random };
  const outcomes = await crashRounds(options);
  for (const { key, acknowledged, attempted, found } of outcomes) {
    expect(found, key).toBeGreaterThanOrEqual(acknowledged);
    expect(found, key).toBeLessThanOrEqual(attempted);
  }
});

test.each([
  ['always', 60],
  ['100', 60],
  ['never', 20],
])('--fsync %s restores transactions whole or not at all through %i crashes', async (fsync, rounds) => {
  const options = { directory, rounds, fsync, flags: ['--lanes', '3'], random: Math.random };
  for (const { group, found, acknowledged } of await transactionCrashRounds(options)) {
    expect(new Set(found).size, `${group}: ${found}`).toBe(1);
    expect(found[0], group).toBeGreaterThanOrEqual(acknowledged);
  }
});
