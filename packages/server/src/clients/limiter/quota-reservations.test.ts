import { describe, expect, test } from 'vitest';
import { PROTOCOLS, useQuotaServer, warm } from './testing/quota-server.js';

const { clientOver, define, open, leftOf } = useQuotaServer();

describe.each(PROTOCOLS)('a reservation, over %s', (protocol) => {
  test('is settled with what it cost, and comes back where it is not', async () => {
    const name = await define(100);
    const { quota } = open(name, {}, clientOver(protocol));
    const reserved = await quota.reserve('alice', 80, { ttlMs: 60_000 });
    expect(reserved).toMatchObject({ success: true, limit: 100, remaining: 20, reason: 'within' });
    expect(await quota.reserve('alice', 30)).toMatchObject({ success: false, reason: 'limited', id: undefined });
    expect(await reserved.commit(50)).toEqual({ charged: 50, uncharged: 0 });
    expect(await reserved.commit(50)).toEqual({ charged: 50, uncharged: 0 });
    expect(await reserved.cancel()).toBe(false);
    expect(await leftOf(name)).toBe(50);
    const cancelled = await quota.reserve('alice', 50);
    expect(await cancelled.cancel()).toBe(true);
    expect(await leftOf(name)).toBe(50);
    const dear = await quota.reserve('alice', 10);
    expect(await dear.commit(70)).toEqual({ charged: 50, uncharged: 20 });
  });
});

test('await using: a reservation that is not committed at the end of its block is cancelled', async () => {
  const name = await define(100);
  const { quota } = open(name);
  {
    await using reservation = await quota.reserve('alice', 60);
    expect(reservation.success).toBe(true);
    expect(await leftOf(name)).toBe(40);
  }
  expect(await leftOf(name)).toBe(100);
  {
    await using reservation = await quota.reserve('alice', 60);
    await reservation.commit(25);
  }
  expect(await leftOf(name)).toBe(75);
  const failed = async () => {
    await using _reservation = await quota.reserve('alice', 60);
    throw new Error('the work failed');
  };
  await expect(failed()).rejects.toThrow('the work failed');
  {
    await using denied = await quota.reserve('alice', 76);
    expect(denied.success).toBe(false);
  }
  expect(await leftOf(name)).toBe(75);
});

test('a reservation finds what this very process holds', async () => {
  const name = await define(100);
  const { quota } = open(name);
  const admitted = await warm(quota);
  expect((await quota.reserve('alice', 100 - admitted)).success).toBe(true);
  expect(await leftOf(name)).toBe(0);
});
