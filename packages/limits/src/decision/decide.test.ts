import { Status } from '@quotadb/engine';
import type { Allotment, LimitWindow, Policy, UsageRecorder } from '@quotadb/quota';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { item, LimitNode, START_MS } from '../testing/limit-node.js';
import type { Item } from './decision.js';

let node: LimitNode;
beforeEach(() => {
  node = new LimitNode();
  for (const [name, limit] of [
    ['org', 5],
    ['user', 3],
  ] as const)
    node.define({ name, limit });
});

const KINDS = ['exact', 'sliding', 'fixed', 'bucket'] as const;

/** An exact item needs a quota of its name. */
function limitOf(kind: Item['kind'], name: string, limit: number, more: Partial<Item> = {}): Item {
  if (kind === 'exact' && node.book.named(name) === undefined) node.define({ name, limit });
  return item(kind, name, limit, more);
}

describe.each(KINDS)('a limit of kind %s', (kind) => {
  test('admits as much as its limit, and tells the same things as the other kinds', () => {
    const api = limitOf(kind, 'api', 3);
    expect(node.decide([api])).toMatchObject({ allowed: true, limit: 3, remaining: 2, retryAfterMs: 0 });
    expect(node.decide([{ ...api, cost: 2 }])).toMatchObject({ allowed: true, remaining: 0, deniedBy: undefined });
    const denied = node.decide([api]);
    expect(denied).toMatchObject({ allowed: false, limit: 3, remaining: 0, deniedBy: 'api' });
    expect(denied.retryAfterMs).toBeGreaterThan(0);
    expect(denied.resetMs).toBeGreaterThan(0);
    // A bucket and a sliding window come back by and by.
    node.advance(120_000);
    expect(node.decide([api])).toMatchObject({ allowed: true, remaining: 2 });
  });

  test('denies a cost above the limit, for ever', () => {
    expect(node.decide([limitOf(kind, 'api', 3, { cost: 4 })])).toMatchObject({
      allowed: false,
      remaining: 3,
      retryAfterMs: -1,
      deniedBy: 'api',
    });
  });

  test('of 0 denies everything', () => {
    expect(node.decide([limitOf(kind, 'none', 0)])).toMatchObject({ allowed: false, limit: 0, retryAfterMs: -1 });
  });

  test('is looked at without being charged', () => {
    const api = limitOf(kind, 'api', 3);
    node.decide([api]);
    for (let time = 0; time < 5; time++)
      expect(node.decide([api], true)).toMatchObject({ allowed: true, remaining: 2, retryAfterMs: 0 });
    expect(node.decide([{ ...api, cost: 3 }], true)).toMatchObject({ allowed: false, deniedBy: 'api' });
  });

  test('has a counter for each subject', () => {
    const api = limitOf(kind, 'api', 1);
    expect(node.decide([api]).allowed).toBe(true);
    expect(node.decide([{ ...api, subject: Buffer.from('t') }]).allowed).toBe(true);
    expect(node.decide([api]).allowed).toBe(false);
  });

  test('in shadow never denies, and reports that it would have', () => {
    const api = limitOf(kind, 'api', 1, { shadow: true });
    expect(node.decide([api])).toMatchObject({ allowed: true, items: [{ allowed: true, remaining: 0 }] });
    for (let time = 0; time < 3; time++)
      expect(node.decide([api])).toMatchObject({
        allowed: true,
        deniedBy: undefined,
        limit: Number.POSITIVE_INFINITY,
        items: [{ name: 'api', shadow: true, allowed: false, remaining: 0 }],
      });
  });

  test('is charged once where a request names it twice, with the sum of the costs', () => {
    const api = limitOf(kind, 'api', 3);
    expect(node.decide([api, api])).toMatchObject({ allowed: true, remaining: 1 });
    expect(node.decide([api, api])).toMatchObject({ allowed: false, remaining: 1 });
  });
});

test('a denial charges no limit, of whatever kinds they are and whichever denies', () => {
  for (const denying of KINDS) {
    const others = KINDS.map((kind) => limitOf(kind, `other-${kind}-beside-${denying}`, 5));
    const deny = limitOf(denying, `deny-${denying}`, 1);
    expect(node.decide([deny]).allowed).toBe(true);
    for (let time = 0; time < 3; time++)
      expect(node.decide([...others.slice(0, 2), deny, ...others.slice(2)])).toMatchObject({
        allowed: false,
        deniedBy: deny.name,
      });
    for (const other of others) expect(node.decide([other], true).remaining).toBe(5);
    expect(node.decide(others)).toMatchObject({ allowed: true, remaining: 4 });
  }
});

test('a child and its parent agree, and the answer is that of the one with the least left', () => {
  const user = (name: string) => [
    limitOf('exact', 'user', 3, { subject: Buffer.from(`acme/${name}`) }),
    limitOf('exact', 'org', 5, { subject: Buffer.from('acme') }),
  ];
  expect(node.decide(user('ann'))).toMatchObject({ limit: 3, remaining: 2 });
  for (let time = 0; time < 2; time++) node.decide(user('ann'));
  expect(node.decide(user('ann'))).toMatchObject({ allowed: false, deniedBy: 'user' });
  expect(node.decide(user('bob'))).toMatchObject({ allowed: true, limit: 5, remaining: 1 });
  node.decide(user('bob'));
  expect(node.decide(user('bob'))).toMatchObject({ allowed: false, deniedBy: 'org' });
  // The denial burned nothing of the user.
  expect(node.decide(user('bob').slice(0, 1), true).remaining).toBe(1);
  // One who has no tokens here yet is denied by the organisation alone.
  const carol = node.decide(user('carol'));
  expect(carol).toMatchObject({ allowed: false, deniedBy: 'org', limit: 5, remaining: 0 });
  expect(carol.items).toMatchObject([{ allowed: true, remaining: 3 }, { allowed: false }]);
});

test('a limit in shadow is not charged by a request that another limit denies', () => {
  const shadow = limitOf('sliding', 'tried', 5, { shadow: true });
  const strict = limitOf('fixed', 'strict', 1);
  expect(node.decide([shadow, strict]).allowed).toBe(true);
  expect(node.decide([shadow, strict]).allowed).toBe(false);
  expect(node.decide([shadow], true).items[0].remaining).toBe(4);
});

test('without a limit everything is admitted and nothing is counted', () => {
  const keys = node.engine.keyCount();
  expect(node.decide([item('sliding', 'free', Number.POSITIVE_INFINITY, { cost: 1e9 })])).toMatchObject({
    allowed: true,
    limit: Number.POSITIVE_INFINITY,
    remaining: Number.POSITIVE_INFINITY,
    resetMs: -1,
  });
  expect(node.engine.keyCount()).toBe(keys);
});

test('a fixed window may begin where a calendar says', () => {
  const startMs = node.nowMs - 1_000;
  const month = item('fixed', 'month', 2, { startMs, windowMs: 28 * 86_400_000 });
  expect(node.decide([month])).toMatchObject({ remaining: 1, resetMs: 28 * 86_400_000 - 1_000 });
  expect(node.decide([{ ...month, startMs: startMs + 28 * 86_400_000 }]).remaining).toBe(1);
});

test('a region that cannot reach the allocator admits the part that the quota states, then denies', () => {
  node.define({ name: 'far', limit: 100, allocator: 'elsewhere', admitFraction: 0.03 });
  node.define({ name: 'strict', limit: 100, allocator: 'elsewhere' });
  // A region admits nothing in a window that an earlier incarnation may have admitted in.
  node.advance(60_000);
  const far = item('exact', 'far', 100);
  expect(Array.from({ length: 10 }, () => node.decide([far]).allowed).filter(Boolean)).toHaveLength(3);
  expect(node.decide([item('exact', 'strict', 100)]).allowed).toBe(false);
});

test('where memory runs out nothing is charged, tokens of quotas neither', () => {
  node = new LimitNode({ maxMemoryBytes: 3 * 1024 * 1024 });
  node.define({ name: 'calls', limit: 10 });
  node.decide([item('exact', 'calls', 10)]);
  const subject = (number: number) => Buffer.from(`${number}`.padEnd(1000, 'x'));
  const statusOf = (...items: readonly Item[]) => node.attempts.attempt(items, false).status;
  // Each shard has memory of its own.
  let refusals = 0;
  for (let number = 0; refusals < 100; number++)
    if (statusOf(item('fixed', 'fill', 1, { subject: subject(number) })) === Status.OutOfMemory) refusals++;
  const fresh = item('fixed', 'none', 10, { subject: subject(0) });
  const refused = node.attempts.attempt([item('exact', 'calls', 10), fresh], false);
  expect(refused.status).toBe(Status.OutOfMemory);
  expect(node.decide([item('exact', 'calls', 10)], true).remaining).toBe(9);
});

describe('where usage is billed', () => {
  /** What was counted of each limit and subject, up to a number of counters. */
  class Bill implements UsageRecorder {
    readonly counted = new Map<string, number>();
    room = Number.POSITIVE_INFINITY;

    taken(policy: Policy, _window: number, subject: Uint8Array, _start: number, _length: number, amount: number) {
      return this.add(`${policy.name} ${Buffer.from(subject)}`, amount);
    }
    returned({ name }: Policy, { subject }: Allotment, amount: number) {
      this.add(`${name} ${Buffer.from(subject)}`, -amount);
    }
    admitted({ limit, startMs, endMs, subject }: LimitWindow, amount: number) {
      return this.add(`${limit} ${Buffer.from(subject)} ${startMs}-${endMs}`, amount);
    }
    withdrawn(window: LimitWindow, amount: number) {
      this.admitted(window, -amount);
    }

    private add(name: string, amount: number): boolean {
      if (!this.counted.has(name) && this.counted.size === this.room) return false;
      this.counted.set(name, (this.counted.get(name) ?? 0) + amount);
      return true;
    }
  }

  let bill: Bill;
  beforeEach(() => {
    bill = new Bill();
    node = new LimitNode({ usage: bill });
    node.define({ name: 'calls', limit: 10 });
  });
  const minute = `${START_MS}-${START_MS + 60_000}`;

  test('a fixed window counts what it admitted, by its start and end; a denied request and a look count nothing', () => {
    const hits = item('fixed', 'hits', 5);
    for (let time = 0; time < 2; time++) node.decide([{ ...hits, cost: 2 }]);
    expect(node.decide([{ ...hits, cost: 2 }]).allowed).toBe(false);
    expect(node.decide([item('fixed', 'tried', 9), { ...hits, cost: 2 }]).allowed).toBe(false);
    node.decide([hits], true);
    const month = { startMs: START_MS - 1_000, windowMs: 28 * 86_400_000 };
    node.decide([item('fixed', 'month', 5, month), item('exact', 'calls', 10), item('sliding', 'slide', 5)]);
    // In shadow, as far as its limit goes.
    for (let time = 0; time < 3; time++) node.decide([item('fixed', 'shadow', 2, { shadow: true })]);
    expect(Object.fromEntries(bill.counted)).toEqual({
      [`hits s ${minute}`]: 4,
      [`month s ${month.startMs}-${month.startMs + month.windowMs}`]: 1,
      'calls s': 1,
      [`shadow s ${minute}`]: 2,
    });
  });

  test('where its usage cannot be counted, nothing is charged', () => {
    const items = [item('exact', 'calls', 10), item('fixed', 'one', 5), item('fixed', 'two', 5)];
    // The local balance has tokens from here on.
    node.decide(items.slice(0, 1));
    for (const room of [0, 1, 2]) {
      bill.counted.clear();
      bill.room = room;
      expect(node.attempts.attempt(items, false).status).toBe(Status.OutOfMemory);
      expect([...bill.counted.values()].every((counted) => counted === 0)).toBe(true);
      const left = node.decide(items, true).items.map(({ remaining }) => remaining);
      expect(left).toEqual([9, 5, 5]);
    }
  });
});

test('decisions are those of a model that takes all or none', () => {
  const step = fc.record({
    items: fc.uniqueArray(fc.integer({ min: 0, max: 7 }), { minLength: 1, maxLength: 5 }),
    cost: fc.integer({ min: 0, max: 4 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      node = new LimitNode();
      const limits = Array.from({ length: 8 }, (_, index) => {
        const shadow = index >= 4;
        return limitOf(KINDS[index % KINDS.length], `limit-${index}`, 3 + index, { shadow });
      });
      const left = limits.map(({ limit }) => limit);
      for (const { items: chosen, cost } of steps) {
        const allowed = chosen.every((index) => limits[index].shadow || left[index] >= cost);
        const decision = node.decide(chosen.map((index) => ({ ...limits[index], cost })));
        expect(decision.allowed).toBe(allowed);
        if (allowed) for (const index of chosen) if (left[index] >= cost) left[index] -= cost;
        for (const [at, index] of chosen.entries()) expect(decision.items[at].remaining).toBe(left[index]);
      }
    }),
    { numRuns: 100 },
  );
});
