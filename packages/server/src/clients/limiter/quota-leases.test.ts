import { describe, expect, test } from 'vitest';
import { eventually } from '../../testing/index.js';
import { PROTOCOLS, useQuotaServer } from './testing/quota-server.js';

const { clientOver, open } = useQuotaServer();
let defined = 0;

describe.each(PROTOCOLS)('leases, over %s', (protocol) => {
  async function defineLease(limit: number): Promise<string> {
    const name = `lease-${++defined}`;
    await clientOver(protocol).quotaDefine(name, { limit, leaseMs: 60_000 });
    return name;
  }

  test('no more than the limit are held at once; a released lease is free again', async () => {
    const { quota } = open(await defineLease(2), {}, clientOver(protocol));
    const [first, second, third] = [
      await quota.acquire('alice'),
      await quota.acquire('alice'),
      await quota.acquire('alice'),
    ];
    expect(first).toMatchObject({ success: true, limit: 2, remaining: 1, reason: 'within', isHeld: true });
    expect(third).toMatchObject({ success: false, reason: 'limited', isHeld: false, id: undefined });
    expect(await third.release()).toBe(false);
    expect([await first.release(), await first.release(), first.isHeld]).toEqual([true, false, false]);
    {
      await using again = await quota.acquire('alice');
      expect(again.success).toBe(true);
      expect((await quota.acquire('alice')).success).toBe(false);
    }
    const last = await quota.acquire('alice');
    expect([last.success, last.signal.aborted]).toEqual([true, false]);
    await Promise.all([second.release(), last.release()]);
  });

  test('a lease is renewed for as long as it is held, and given away when its process is silent', async () => {
    const { quota, watched } = open(await defineLease(1), {}, clientOver(protocol));
    const lease = await quota.acquire('alice', { ttlMs: 1_500 });
    await eventually(() => expect(watched.renewed).toBeGreaterThanOrEqual(5));
    expect(lease.isHeld).toBe(true);
    expect((await quota.acquire('alice')).success).toBe(false);
    const other = open(quota.name, {}, clientOver(protocol)).quota;
    watched.isLosing = true;
    await new Promise((resolve) => lease.signal.addEventListener('abort', resolve, { once: true }));
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.reason.message).toContain('could not be renewed in time: lost');
    await eventually(async () => {
      const next = await other.acquire('alice');
      expect(next.success).toBe(true);
      await next.release();
    });
  });

  test('while the server is away the policy decides', async () => {
    const name = await defineLease(4);
    for (const [whenAway, expected] of [
      ['open', [true, true, true]],
      ['closed', [false, false, false]],
      [{ share: 0.5 }, [true, true, false]],
    ] as const) {
      const { quota, watched } = open(name, { whenAway, policy: { limit: 4, windowMs: 0 } }, clientOver(protocol));
      watched.isAway = true;
      const leases = [await quota.acquire('alice'), await quota.acquire('alice'), await quota.acquire('alice')];
      expect(leases.map(({ success }) => success)).toEqual(expected);
      await leases[0]!.release();
      expect((await quota.acquire('alice')).success).toBe(expected[0]);
    }
  });
});
