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

/** On a busy machine; on a quiet one all of them take half a minute. */
const CRASH_TIMEOUT_MS = 300_000;

test(
  'with --fsync always not one acknowledged increment is missing after kill -9, and none is counted twice',
  async () => {
    const outcomes = await crashRounds({ directory, rounds: 6, fsync: 'always', random: Math.random });
    for (const { key, acknowledged, attempted, found } of outcomes) {
      expect(found, key).toBeGreaterThanOrEqual(acknowledged);
      expect(found, key).toBeLessThanOrEqual(attempted);
    }
    expect(outcomes.at(-1)!.acknowledged).toBeGreaterThan(0);
  },
  CRASH_TIMEOUT_MS,
);

test(
  'so it is over node:net, with snapshots taken all the time',
  async () => {
    const flags = ['--transport', 'net'];
    const options = { directory, rounds: 3, fsync: 'always', flags, snapshots: true, random: Math.random };
    const outcomes = await crashRounds(options);
    for (const { key, acknowledged, attempted, found } of outcomes) {
      expect(found, key).toBeGreaterThanOrEqual(acknowledged);
      expect(found, key).toBeLessThanOrEqual(attempted);
    }
  },
  CRASH_TIMEOUT_MS,
);

test.each([
  ['100', 'epoll'],
  ['100', 'net'],
  ['never', 'auto'],
])(
  'with --fsync %s over %s a process that is killed under fifty connections loses nothing that it acknowledged',
  async (fsync, transport) => {
    const flags = ['--transport', transport];
    const options = { directory, rounds: 3, fsync, flags, clients: 50, snapshots: true, random: Math.random };
    const outcomes = await crashRounds(options);
    for (const { key, acknowledged, attempted, found } of outcomes) {
      expect(found, key).toBeGreaterThanOrEqual(acknowledged);
      expect(found, key).toBeLessThanOrEqual(attempted);
    }
    expect(outcomes.at(-1)!.acknowledged).toBeGreaterThan(0);
  },
  CRASH_TIMEOUT_MS,
);

test.each([
  ['always', 'epoll', 12],
  ['100', 'epoll', 10],
  ['never', 'epoll', 4],
  ['100', 'net', 4],
])(
  'with --fsync %s over %s transactions of several connections are there whole or not at all after kill -9, %i times',
  async (fsync, transport, rounds) => {
    const flags = ['--transport', transport, ...(transport === 'epoll' ? ['--lanes', '3'] : [])];
    const outcomes = await transactionCrashRounds({ directory, rounds, fsync, flags, random: Math.random });
    for (const { group, found, acknowledged } of outcomes) {
      expect(new Set(found).size, `${group}: ${found}`).toBe(1);
      expect(found[0], group).toBeGreaterThanOrEqual(acknowledged);
    }
    expect(Math.max(...outcomes.map(({ acknowledged }) => acknowledged))).toBeGreaterThan(0);
  },
  CRASH_TIMEOUT_MS,
);
