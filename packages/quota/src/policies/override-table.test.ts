import fc from 'fast-check';
import { expect, test } from 'vitest';
import { limitOf } from './override-table.js';
import type { Extra, Override, Policy } from './policy.js';

const WINDOW_MS = 1000;

function policyOf(overrides?: readonly Override[], extras?: readonly Extra[]): Policy {
  return {
    name: 'calls',
    number: 1,
    limit: 10,
    windowMs: WINDOW_MS,
    allocator: 'a',
    shares: [],
    waitMs: 0,
    definedMs: 0,
    starters: [],
    overrides,
    extras,
  };
}

function limit(policy: Policy, subject: string, window = 0): number {
  return limitOf(policy, Buffer.from(subject), window);
}

test('the most exact override is the limit: the subject, then the longer pattern, then the policy', () => {
  const policy = policyOf([
    { subject: 'team-*', limit: 20 },
    { subject: 'team-a*', limit: 30 },
    { subject: 'team-acme', limit: 40 },
    { subject: 'müller', limit: 50 },
  ]);
  expect(limit(policy, 'team-acme')).toBe(40);
  expect(limit(policy, 'team-acmes')).toBe(30);
  expect(limit(policy, 'team-b')).toBe(20);
  expect(limit(policy, 'team-')).toBe(20);
  expect(limit(policy, 'team')).toBe(10);
  expect(limit(policy, 'müller')).toBe(50);
  expect(limit(policyOf([{ subject: '*', limit: 3 }]), '')).toBe(3);
});

test('an override that begins later is the limit of windows that start from then on, and of no other', () => {
  const policy = policyOf([
    { subject: 'acme', limit: 5, fromMs: 2 * WINDOW_MS },
    { subject: 'acme', limit: 50 },
    { subject: 'bot-*', limit: 1, fromMs: 2 * WINDOW_MS - 1 },
    { subject: 'bot-*', limit: 2, fromMs: 3 * WINDOW_MS },
  ]);
  expect([0, 1, 2, 3].map((window) => limit(policy, 'acme', window))).toEqual([50, 50, 5, 5]);
  expect([0, 1, 2, 3].map((window) => limit(policy, 'bot-1', window))).toEqual([10, 10, 1, 2]);
});

test('extra tokens are those of their subject and window, beside whichever limit it has', () => {
  const extra = { subject: 'acme', window: 1, givenMs: 0 };
  const extras = [
    { ...extra, amount: 5 },
    { ...extra, amount: 7 },
    { ...extra, window: 2, amount: 1 },
  ];
  const policy = policyOf([{ subject: 'a*', limit: 20 }], extras);
  expect([0, 1, 2].map((window) => limit(policy, 'acme', window))).toEqual([20, 32, 21]);
  expect(limit(policy, 'acm', 1)).toBe(20);
  expect(limit(policyOf(undefined, extras), 'acme', 1)).toBe(22);
});

/** The same, found by looking at every override. */
function modelLimit(overrides: readonly Override[], subject: string, window: number): number {
  const holds = overrides.filter(({ fromMs = Number.NEGATIVE_INFINITY }) => fromMs <= window * WINDOW_MS);
  const matches = holds.filter((override) =>
    override.subject.endsWith('*') ? subject.startsWith(override.subject.slice(0, -1)) : override.subject === subject,
  );
  const rank = ({ subject: name }: Override) => (name.endsWith('*') ? name.length : 1000);
  const [best] = matches.sort((one, other) => rank(other) - rank(one) || (other.fromMs ?? -1) - (one.fromMs ?? -1));
  return best?.limit ?? 10;
}

test('whatever the overrides and wherever the subject lies, the limit is the one that a plain search finds', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 4 });
  const override = fc.record({
    subject: fc.oneof(
      name.filter((text) => text !== ''),
      name.map((text) => `${text}*`),
    ),
    limit: fc.integer({ min: 0, max: 99 }),
    fromMs: fc.option(fc.integer({ min: 0, max: 3000 }), { nil: undefined }),
  });
  const list = fc.uniqueArray(override, { selector: ({ subject, fromMs }) => `${fromMs} ${subject}`, maxLength: 12 });
  fc.assert(
    fc.property(list, name, fc.integer({ min: 0, max: 3 }), (overrides, subject, window) => {
      const policy = policyOf(overrides);
      const bytes = Buffer.from(`xx${subject}yy`);
      expect(limitOf(policy, bytes, window, 2, subject.length)).toBe(modelLimit(overrides, subject, window));
    }),
    { numRuns: 500 },
  );
});
