import { limitOf, type Policy } from '@quotadb/quota';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkCatalogue } from '../catalogue/read.js';
import type { Catalogue, LimitEntry } from '../catalogue/schema.js';
import { definitionsOf } from './definitions.js';
import { applyChange } from './reader.js';
import { Resolution } from './resolution.js';
import { unstamp } from './stamp.js';

const NOW_MS = Date.UTC(2026, 5, 15, 12);
const MINUTE_MS = 60_000;

function load(given: unknown, before?: Catalogue, nowMs = NOW_MS): Catalogue {
  return applyChange({ replace: given as Catalogue }, before, nowMs);
}

function itemsOf(catalogue: Catalogue, name: string, subject: string, nowMs = NOW_MS) {
  const resolution = new Resolution(catalogue);
  return resolution.itemsOf(resolution.find(name)!, Buffer.from(subject), 1, nowMs);
}

function limitsOf(catalogue: Catalogue, name: string, subject: string, nowMs = NOW_MS): number[] {
  return itemsOf(catalogue, name, subject, nowMs).map(({ limit }) => limit);
}

const api = { name: 'api', kind: 'fixed', limit: 10, window: '1m' } as const;

describe('what a name and a subject are checked against', () => {
  test('is the limit, and every parent for the subject without its last part', () => {
    const catalogue = load({
      limits: [
        { ...api, name: 'user', parent: 'org' },
        { ...api, name: 'org', limit: 100, parent: 'all' },
        { ...api, name: 'all', limit: 1000 },
      ],
    });
    const found = (subject: string) =>
      itemsOf(catalogue, 'user', subject).map((item) => [item.name, Buffer.from(item.subject).toString(), item.limit]);
    expect(found('acme/ann')).toEqual([
      ['user', 'acme/ann', 10],
      ['org', 'acme', 100],
      ['all', '', 1000],
    ]);
    expect(found('acme').map(([, subject]) => subject)).toEqual(['acme', '', '']);
  });

  test('is every limit of a domain, and a parent that several of them share only once', () => {
    const catalogue = load({
      limits: [
        { ...api, name: 'a', domain: 'gateway', parent: 'org' },
        { ...api, name: 'b', domain: 'gateway', parent: 'org', kind: 'sliding' },
        { ...api, name: 'org' },
        { name: 'jobs', kind: 'concurrency', domain: 'gateway', limit: 1, hold: '1s' },
      ],
    });
    expect(itemsOf(catalogue, 'gateway', 'x/y').map(({ name }) => name)).toEqual(['a', 'org', 'b', 'jobs']);
  });

  test('leaves out limits that are disabled, not yet begun or over, but not their parents', () => {
    const catalogue = load({
      limits: [
        { ...api, name: 'off', enabled: false, parent: 'org' },
        { ...api, name: 'org' },
        { ...api, name: 'later', starts: '2026-06-15T12:00:01Z' },
        { ...api, name: 'over', ends: '2026-06-15T12:00:00Z' },
      ],
    });
    expect(itemsOf(catalogue, 'off', 'a/b').map(({ name }) => name)).toEqual(['org']);
    expect(itemsOf(catalogue, 'later', 'a')).toEqual([]);
    expect(itemsOf(catalogue, 'later', 'a', NOW_MS + 1000)).toHaveLength(1);
    expect(itemsOf(catalogue, 'over', 'a')).toEqual([]);
    expect(itemsOf(catalogue, 'over', 'a', NOW_MS - 1)).toHaveLength(1);
  });

  test('has windows of the calendar with their start and length', () => {
    const window = { window: 'month', timeZone: 'Europe/Berlin' };
    const [item] = itemsOf(load({ limits: [{ ...api, ...window }] }), 'api', 'a', Date.UTC(2026, 2, 15));
    // March in Berlin has a day of 23 hours.
    expect(item).toMatchObject({ startMs: Date.UTC(2026, 1, 28, 23), windowMs: 31 * 86_400_000 - 3_600_000 });
  });

  test('is unlimited or nothing also in a bucket with a burst', () => {
    const overrides = [
      { subject: 'free', limit: 'unlimited' as const },
      { subject: 'shut', limit: 0 },
    ];
    const catalogue = load({ limits: [{ ...api, kind: 'bucket', limit: 100, burst: 5, overrides }] });
    const found = ['free', 'shut', 'ann'].map((subject) => limitsOf(catalogue, 'api', subject)[0]);
    expect(found).toEqual([Number.POSITIVE_INFINITY, 0, 5]);
  });

  test('has the capacity of a bucket as its limit, and the limit as what comes back', () => {
    const catalogue = load({ limits: [{ ...api, kind: 'bucket', limit: 100, burst: 5 }] });
    expect(itemsOf(catalogue, 'api', 'a')[0]).toMatchObject({ limit: 5, refill: 100, windowMs: MINUTE_MS });
  });
});

describe('overrides', () => {
  const plans = { free: { subjects: ['f-*', 'both'] }, pro: { subjects: ['acme', 'both', 'team-*'] } };
  const overrides = [
    { plan: 'pro', limit: 50 },
    { subject: 'team-a*', limit: 70 },
    { subject: 'team-*', limit: 60 },
    { subject: 'team-ann', limit: 99 },
    { subject: 'root', limit: 'unlimited' },
  ];

  test.each([
    ['nobody', 10],
    ['acme', 50],
    ['both', 10],
    ['team-x', 60],
    ['team-abc', 70],
    ['team-ann', 99],
    ['team-anna', 70],
    ['team-', 60],
    ['root', Number.POSITIVE_INFINITY],
    ['', 10],
  ])('of %s come to %s: the most exact one holds', (subject, limit) => {
    expect(limitsOf(load({ plans, limits: [{ ...api, overrides }] }), 'api', subject)).toEqual([limit]);
  });

  test('are those of a model that applies the rules one by one, for limits and for quotas alike', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 3 });
    const selector = fc
      .tuple(word, fc.boolean())
      .map(([text, isPattern]) => (isPattern || text === '' ? `${text}*` : text));
    const amount = fc.oneof(fc.integer({ min: 0, max: 50 }), fc.constant('unlimited' as const));
    const document = fc.record({
      plans: fc.array(fc.array(selector, { maxLength: 4 }), { maxLength: 3 }),
      named: fc.uniqueArray(fc.tuple(selector, amount), { maxLength: 4, selector: ([subject]) => subject }),
      ofPlans: fc.array(fc.option(amount), { maxLength: 3 }),
      limit: amount,
      subject: word,
    });
    fc.assert(
      fc.property(document, ({ plans: lists, named, ofPlans, limit, subject }) => {
        const plans = Object.fromEntries(lists.map((subjects, index) => [`p${index}`, { subjects }]));
        const byPlan = ofPlans.flatMap((amount, index) =>
          amount === null || index >= lists.length ? [] : [{ plan: `p${index}`, limit: amount }],
        );
        const entry = {
          ...api,
          kind: 'exact',
          limit,
          overrides: [...byPlan, ...named.map(([one, amount]) => ({ subject: one, limit: amount }))],
        };
        const catalogue = load({ plans, limits: [entry] });
        const expected = modelOf({ lists, named, byPlan, limit }, subject);
        expect(limitsOf(catalogue, 'api', subject)).toEqual([expected]);
        const [definition] = definitionsOf(catalogue);
        const policy = { ...definition, number: 1 } as Policy;
        expect(Math.min(limitOf(policy, Buffer.from(subject), 0), 2 ** 50)).toBe(Math.min(expected, 2 ** 50));
      }),
      { numRuns: 1000 },
    );
  });

  test('that begin with the next window hold from then on, and no earlier', () => {
    const before = load({ limits: [{ ...api, overrides: [{ subject: 'acme', limit: 20 }] }] });
    const after = load(
      { limits: [{ ...api, overrides: [{ subject: 'acme', limit: 30, from: 'next-window' }] }] },
      before,
    );
    expect(limitsOf(after, 'api', 'acme')).toEqual([20]);
    expect(limitsOf(after, 'api', 'acme', NOW_MS + MINUTE_MS)).toEqual([30]);
    // NOW_MS is the start of a window: the change came a moment later.
    const later = load(
      { limits: [{ ...api, overrides: [{ subject: 'acme', limit: 30, from: 'next-window' }] }] },
      before,
      NOW_MS + 1,
    );
    expect(limitsOf(later, 'api', 'acme', NOW_MS + 2)).toEqual([20]);
    // Loaded again it is not put off, and its author sees what they wrote.
    const again = load(unstamp(later), later, NOW_MS + MINUTE_MS + 1);
    expect(limitsOf(again, 'api', 'acme', NOW_MS + MINUTE_MS + 2)).toEqual([30]);
    expect(unstamp(again).limits[0].overrides).toEqual([{ subject: 'acme', limit: 30, from: 'next-window' }]);
    expect(checkCatalogue(JSON.parse(JSON.stringify(again)))).toEqual(again);
  });
});

test('a subject whose own override begins with the next window has the limit of its plan until then', () => {
  const plans = { pro: { subjects: ['acme'] } };
  const overrides = [
    { plan: 'pro', limit: 50 },
    { subject: 'acme', limit: 90, from: 'next-window' },
  ];
  const loaded = load({ plans, limits: [{ ...api, overrides }] });
  expect(limitsOf(loaded, 'api', 'acme')).toEqual([50]);
  expect(limitsOf(loaded, 'api', 'acme', NOW_MS + MINUTE_MS)).toEqual([90]);
  // The plan comes after the override.
  const first = load({ plans, limits: [{ ...api, overrides: overrides.slice(1) }] });
  expect(limitsOf(first, 'api', 'acme')).toEqual([10]);
  const then = load({ plans, limits: [{ ...api, overrides }] }, first, NOW_MS + 1);
  expect(limitsOf(then, 'api', 'acme', NOW_MS + 2)).toEqual([50]);
  expect(limitsOf(then, 'api', 'acme', NOW_MS + MINUTE_MS)).toEqual([90]);
  // A pattern that outdoes the plan is as an override of the subject.
  const pattern = [overrides[0], { subject: '*', limit: 90, from: 'next-window' }];
  const ofAll = load({ plans, limits: [{ ...api, overrides: pattern }] });
  expect(limitsOf(ofAll, 'api', 'acme')).toEqual([50]);
  expect(limitsOf(ofAll, 'api', 'anyone')).toEqual([10]);
  for (const subject of ['acme', 'anyone']) expect(limitsOf(ofAll, 'api', subject, NOW_MS + MINUTE_MS)).toEqual([90]);
  const [definition] = definitionsOf(load({ plans, limits: [{ ...api, kind: 'exact', overrides }] }));
  const policy = { ...definition, number: 1 } as Policy;
  const startOf = (ms: number) => limitOf(policy, Buffer.from('acme'), Math.floor(ms / MINUTE_MS));
  expect([startOf(NOW_MS), startOf(NOW_MS + MINUTE_MS)]).toEqual([50, 90]);
});

interface Model {
  readonly lists: readonly (readonly string[])[];
  readonly named: readonly (readonly [string, number | 'unlimited'])[];
  readonly byPlan: readonly { readonly plan: string; readonly limit: number | 'unlimited' }[];
  readonly limit: LimitEntry['limit'];
}

function modelOf({ lists, named, byPlan, limit }: Model, subject: string): number {
  const matches = (selector: string) =>
    selector.endsWith('*') ? subject.startsWith(selector.slice(0, -1)) : selector === subject;
  const exact = named.find(([one]) => one === subject);
  const patterns = named.filter(([one]) => one.endsWith('*') && matches(one));
  patterns.sort(([one], [other]) => other.length - one.length);
  const plan = lists.findIndex((subjects) => subjects.some(matches));
  const ofPlan = byPlan.find((override) => override.plan === `p${plan}`);
  const found = exact?.[1] ?? patterns[0]?.[1] ?? ofPlan?.limit ?? limit;
  return found === 'unlimited' ? Number.POSITIVE_INFINITY : found;
}

describe('a change of the catalogue', () => {
  test('adds a limit, replaces one, or drops one, and leaves the others as they are', () => {
    const first = applyChange({ set: api }, undefined, NOW_MS);
    const second = applyChange({ set: { ...api, name: 'other' } }, first, NOW_MS);
    const third = applyChange({ set: { ...api, limit: 11 } }, second, NOW_MS);
    expect(third.limits.map(({ name, limit }) => [name, limit])).toEqual([
      ['api', 11],
      ['other', 10],
    ]);
    expect(applyChange({ drop: 'api' }, third, NOW_MS).limits.map(({ name }) => name)).toEqual(['other']);
    expect(() => applyChange({ drop: 'nobody' }, third, NOW_MS)).toThrow("there is no limit 'nobody'");
  });

  test('that would leave a limit without its parent is refused', () => {
    const catalogue = load({
      limits: [
        { ...api, parent: 'org' },
        { ...api, name: 'org' },
      ],
    });
    expect(() => applyChange({ drop: 'org' }, catalogue, NOW_MS)).toThrow("limits[0].parent: there is no limit 'org'");
    for (const nonsense of [1, 'x', {}, { set: null }, { set: {} }, { replace: 1 }])
      expect(() => applyChange(nonsense as never, catalogue, NOW_MS)).toThrow();
  });

  test('makes quotas of the limits that need them, and of no others', () => {
    const catalogue = load({
      limits: [
        { ...api, kind: 'exact', window: 'day', timeZone: 'Asia/Tokyo', whenUnreachable: { wait: '2s', admit: 0.2 } },
        { ...api, name: 'slide', kind: 'sliding' },
        { name: 'jobs', kind: 'concurrency', limit: 3, hold: '30s', whenUnreachable: 'deny', shares: { eu: 0.5 } },
      ],
    });
    expect(definitionsOf(catalogue)).toEqual([
      {
        name: 'api',
        limit: 10,
        windowMs: 86_400_000,
        calendar: { unit: 'day', timeZone: 'Asia/Tokyo', anchorDay: 1 },
        allocator: undefined,
        shares: [],
        waitMs: 2000,
        admitFraction: 0.2,
      },
      {
        name: 'jobs',
        limit: 3,
        windowMs: 0,
        leaseMs: 30_000,
        allocator: undefined,
        shares: [{ region: 'eu', fraction: 0.5 }],
        waitMs: 0,
      },
    ]);
  });
});
