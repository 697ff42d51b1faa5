import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QuotadbClient } from '@quotadb/client';
import { describe, expect, test } from 'vitest';
import { eventually, startTestServer } from '../../testing/index.js';
import { HOUR_MS, LONG_STALENESS_MS, PROTOCOLS, useQuotaServer, warm } from './testing/quota-server.js';

const { clientOver, define, open, leftOf } = useQuotaServer();

describe.each(PROTOCOLS)('the commands, over %s', (protocol) => {
  test('define, list, take, take all, peek, drop', async () => {
    const each = clientOver(protocol);
    const [one, other] = [`${protocol}-one`, `${protocol}-other`];
    await each.quotaDefine(one, { limit: 10, windowMs: HOUR_MS, waitMs: 250 });
    await each.quotaDefine(other, { limit: 2, windowMs: HOUR_MS, waitMs: 0 });
    expect(await each.quotaList()).toEqual(expect.arrayContaining([one, other]));
    expect(await each.quotaPolicy(one)).toEqual({ limit: 10, windowMs: HOUR_MS, leaseMs: 0, waitMs: 250 });
    const first = await each.quotaTake(one, 'käse', 3, { id: `${protocol} 1` });
    expect(first).toMatchObject({ allowed: true, remainingEverywhere: 7, retryAfterMs: 0 });
    expect(await each.quotaTake(one, 'käse', 3, { id: `${protocol} 1`, waitMs: 10 })).toEqual(first);
    const items = [one, other].map((name) => ({ name, subject: 'käse', cost: 2 }));
    const both = await each.quotaTakeAll(items);
    expect(both.allowed).toBe(true);
    expect(both.quotas.map(({ remainingEverywhere }) => remainingEverywhere)).toEqual([5, 0]);
    expect((await each.quotaTakeAll(items)).allowed).toBe(false);
    expect(await each.quotaPeek(one, 'käse')).toMatchObject({ remainingHere: 5, remainingEverywhere: 5 });
    expect([await each.quotaDrop(one), await each.quotaDrop(one)]).toEqual([true, false]);
    await each.quotaDrop(other);
  });
});

describe('a denial', () => {
  test('is repeated here without a word to the server, for as long as it may be old', async () => {
    const name = await define(3);
    const { quota, watched } = open(name);
    await quota.take('alice', 3);
    expect((await quota.take('alice')).success).toBe(false);
    const asked = watched.taken;
    for (let request = 0; request < 50; request++) {
      const denied = quota.tryTake('alice');
      expect(denied).toMatchObject({ success: false, reason: 'limited', remaining: 0 });
      expect(denied!.retryAfterMs).toBeGreaterThan(LONG_STALENESS_MS);
    }
    expect(watched.taken).toBe(asked);
    // Others count apart, and less may be there where more is not.
    expect((await quota.take('bob', 2)).success).toBe(true);
    expect((await quota.take('bob', 2)).success).toBe(false);
    expect((await quota.take('bob', 1)).success).toBe(true);
  });

  test('is looked at again soon: what comes back is found', async () => {
    const name = await define(10);
    const reservation = await open(name).quota.reserve('alice', 10);
    const { quota } = open(name, { stalenessMs: 20 });
    expect((await quota.take('alice')).success).toBe(false);
    await reservation.cancel();
    await eventually(async () => expect((await quota.take('alice')).success).toBe(true));
  });
});

describe('while the server is away', () => {
  test('tokens that are held here are spent; then the policy decides', async () => {
    const name = await define(1_000);
    const { quota, watched } = open(name);
    await warm(quota);
    watched.isAway = true;
    let held = 0;
    while (quota.tryTake('alice')?.success) held++;
    expect(held).toBeGreaterThan(0);
    expect(await quota.take('alice')).toMatchObject({ success: false, limit: 1_000, reason: 'away' });
  });

  test.each([
    ['open' as const, 5],
    ['closed' as const, 0],
    [{ share: 0.3 }, 3],
  ])('%j admits %i of 5', async (whenAway, expected) => {
    const name = await define(10);
    const { quota, watched } = open(name, { whenAway, policy: { limit: 10, windowMs: HOUR_MS } });
    for (const [subject, away] of [
      ['known', () => (watched.isAway = true)],
      ['lost', () => (watched.isLosing = true)],
    ] as const) {
      away();
      const results = [];
      for (let request = 0; request < 5; request++) results.push(await quota.take(subject));
      expect(results.filter(({ success }) => success)).toHaveLength(expected);
      expect(new Set(results.map(({ reason }) => reason))).toEqual(new Set(['away']));
      watched.isAway = false;
    }
    const reserved = await quota.reserve('reserved', 2);
    expect(reserved.success).toBe(expected > 0);
    if (reserved.success) expect(await reserved.commit(2)).toEqual({ charged: 0, uncharged: 2 });
    else await expect(reserved.commit(2)).rejects.toThrow('denied');
  });

  test('a share that could not be settled counts as spent', async () => {
    const name = await define(1_000);
    const { quota, watched } = open(name);
    const admitted = await warm(quota);
    watched.isLosing = true;
    await quota.close();
    expect(await leftOf(name)).toBeLessThan(1_000 - admitted);
  });
});

test('a quota without a window never resets', async () => {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'quotadb-client-quota-'));
  const lasting = await startTestServer({ dataDirectory });
  const lastingClient = QuotadbClient.open({ port: lasting.port });
  try {
    await lastingClient.quotaDefine('seats', { limit: 2, windowMs: null });
    const { quota } = open('seats', {}, lastingClient);
    expect(await quota.take('team', 2)).toMatchObject({ success: true, reset: Number.POSITIVE_INFINITY });
    expect(await quota.take('team')).toMatchObject({ success: false, retryAfterMs: -1 });
    expect(quota.tryTake('team')).toMatchObject({ success: false, retryAfterMs: -1 });
  } finally {
    await lastingClient.close();
    await lasting.stop();
    await rm(dataDirectory, { recursive: true, force: true });
  }
});

test('a wrong request is refused with its reason, and changes nothing', async () => {
  const name = await define(10);
  const { quota } = open(name);
  for (const cost of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => quota.tryTake('alice', cost)).toThrow(RangeError);
    await expect(quota.take('alice', cost)).rejects.toThrow(RangeError);
    await expect(quota.reserve('alice', cost)).rejects.toThrow(RangeError);
  }
  expect(await quota.take('alice', 11)).toMatchObject({ success: false, retryAfterMs: -1 });
  await expect(open('unknown').quota.take('alice')).rejects.toThrow("there is no quota 'unknown'");
  expect(() => open(name, { processShare: 2 })).toThrow(RangeError);
  expect(() => open(name, { stalenessMs: 60_000 })).toThrow(RangeError);
  expect(await leftOf(name)).toBe(10);
});
