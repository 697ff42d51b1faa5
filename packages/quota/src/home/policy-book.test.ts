import { expect, test } from 'vitest';
import type { Definition } from '../policies/policy.js';
import { checkPolicySet, type PolicySet } from '../policies/policy-set.js';
import type { PolicyBookOptions, SavedBook } from './book-options.js';
import { PolicyBook } from './policy-book.js';

const NOW_MS = Date.UTC(2026, 5, 1);
const WINDOW_MS = 3_600_000;
const SKEW_BOUND_MS = 2000;
const CALLS: Definition = {
  name: 'calls',
  limit: 10,
  windowMs: WINDOW_MS,
  allocator: 'b',
  shares: [],
  waitMs: 0,
};
const THIS_WINDOW = NOW_MS / WINDOW_MS;

function open(region: string, incarnation: string, given: Partial<PolicyBookOptions> = {}): PolicyBook {
  return new PolicyBook({
    home: 'a',
    region,
    incarnation,
    isNewIncarnation: true,
    hasDisk: false,
    nowMs: NOW_MS,
    skewBoundMs: SKEW_BOUND_MS,
    isAlone: false,
    save: () => {},
    ...given,
  });
}

function homeBook(): PolicyBook {
  const book = open('a', 'a1');
  book.begin();
  return book;
}

test('a life that the home saw when it defined a policy begins with it, and no other life does', () => {
  const home = homeBook();
  const empty = home.set as PolicySet;
  const policy = home.define(CALLS, NOW_MS, () => ({ incarnation: 'b1', hasDisk: false }));
  const first = open('b', 'b1');
  first.adopt(home.set as PolicySet, NOW_MS);
  expect(first.tenure.mayStart(policy, THIS_WINDOW)).toBe(true);
  // It lost its memory, hears an older set from a region that was cut off, and the policy after that.
  const second = open('b', 'b2');
  expect(second.adopt({ ...empty, version: 2 }, NOW_MS)).toBe(true);
  expect(second.adopt(home.set as PolicySet, NOW_MS)).toBe(true);
  expect(second.tenure.mayStart(policy, THIS_WINDOW)).toBe(false);
  expect(second.tenure.mayStart(policy, THIS_WINDOW + 1)).toBe(true);
});

test('while another server runs under its name a region begins with nothing, and then with the next window', () => {
  const home = homeBook();
  const policy = home.define(CALLS, NOW_MS, () => ({ incarnation: 'b1', hasDisk: false }));
  let saved: SavedBook | undefined;
  const save = (book: SavedBook) => {
    saved = book;
  };
  const book = open('b', 'b1', { save });
  book.adopt(home.set as PolicySet, NOW_MS);
  expect(book.tenure.mayStart(policy, THIS_WINDOW)).toBe(true);
  book.suspend();
  expect(book.tenure.mayStart(policy, THIS_WINDOW)).toBe(false);
  expect(book.tenure.mayStart(policy, THIS_WINDOW + 100)).toBe(false);
  // A restart before the other is gone, and before a peer has said so again.
  const restarted = open('b', 'b1', { nowMs: NOW_MS + 10, saved: saved as unknown as SavedBook });
  expect(restarted.tenure.mayStart(policy, THIS_WINDOW)).toBe(false);
  book.resume(NOW_MS + 10);
  expect(book.tenure.mayStart(policy, THIS_WINDOW)).toBe(false);
  expect(book.tenure.mayStart(policy, THIS_WINDOW + 1)).toBe(true);
  const later = open('b', 'b1', { nowMs: NOW_MS + 20, saved: saved as unknown as SavedBook });
  expect(later.tenure.mayStart(policy, THIS_WINDOW)).toBe(false);
  expect(later.tenure.mayStart(policy, THIS_WINDOW + 1)).toBe(true);
});

test('a region that was not there when a policy was defined begins with its next window', () => {
  const home = homeBook();
  const policy = home.define(CALLS, NOW_MS, () => undefined);
  const book = open('b', 'b1', { nowMs: NOW_MS + 1 });
  book.adopt(home.set as PolicySet, NOW_MS);
  expect(book.tenure.mayStart(policy, THIS_WINDOW)).toBe(false);
  expect(book.tenure.mayStart(policy, THIS_WINDOW + 1)).toBe(true);
});

test('a life whose file is gone does not begin with what it may have begun with before', () => {
  const home = homeBook();
  const state = () => ({ incarnation: 'b1', hasDisk: true });
  const policy = home.define(CALLS, NOW_MS, state);
  const forgetful = open('b', 'b1', { isNewIncarnation: false, hasDisk: true, nowMs: NOW_MS + 10 });
  forgetful.adopt(home.set as PolicySet, NOW_MS);
  expect(forgetful.tenure.mayStart(policy, THIS_WINDOW)).toBe(false);
  const later = home.define({ ...CALLS, name: 'later' }, NOW_MS + 10 + SKEW_BOUND_MS, state);
  expect(forgetful.tenure.mayStart(later, THIS_WINDOW)).toBe(true);
});

test('what is saved comes back, also when this life began and whom it granted to', () => {
  let saved: SavedBook | undefined;
  const save = (book: SavedBook) => {
    saved = JSON.parse(JSON.stringify(book)) as SavedBook;
  };
  const first = open('a', 'a1', { hasDisk: true, isAlone: true, save });
  const policy = first.define({ ...CALLS, allocator: 'a' }, NOW_MS);
  first.grantees.note(new Uint8Array(32).fill(7), NOW_MS, NOW_MS);
  const again = open('a', 'a1', {
    isNewIncarnation: false,
    hasDisk: true,
    saved: saved as SavedBook,
    save,
    nowMs: NOW_MS + 99,
  });
  expect(again.named('calls')).toEqual(policy);
  expect(again.tenure.mayStart(policy, THIS_WINDOW)).toBe(true);
  expect([...again.grantees.all()]).toEqual([new Uint8Array(32).fill(7)]);
  const newLife = open('a', 'a2', { hasDisk: true, saved: saved as SavedBook, save, nowMs: NOW_MS + 99 });
  expect(newLife.tenure.mayStart(policy, THIS_WINDOW)).toBe(false);
  expect([...newLife.grantees.all()]).toEqual([]);
});

test('what cannot be written down has not happened', () => {
  let isFull = false;
  const book = open('a', 'a1', {
    hasDisk: true,
    isAlone: true,
    save: () => {
      if (isFull) throw new Error('no space left');
    },
  });
  isFull = true;
  expect(() => book.define({ ...CALLS, allocator: 'a' }, NOW_MS)).toThrow(/no space/);
  expect(book.named('calls')).toBeUndefined();
  expect(() => book.grantees.note(new Uint8Array(32), NOW_MS, NOW_MS)).toThrow(/no space/);
  expect(book.grantees.all()).toEqual([]);
});

test('only the limit and the waiting of a policy can be changed, and saying the same again changes nothing', () => {
  const book = homeBook();
  const first = book.define(CALLS, NOW_MS);
  const version = book.version;
  expect(book.define(CALLS, NOW_MS + 5)).toBe(first);
  expect(book.version).toBe(version);
  const raised = book.define({ ...CALLS, limit: 20 }, NOW_MS + 5);
  expect(raised).toEqual({ ...first, limit: 20 });
  expect(() => book.define({ ...CALLS, windowMs: 5 }, NOW_MS)).toThrow(/window of a policy cannot be changed/);
  expect(() => book.define({ ...CALLS, allocator: 'a' }, NOW_MS)).toThrow(/allocator of a policy cannot be changed/);
  expect(() => book.define({ ...CALLS, shares: [{ region: 'a', fraction: 0.5 }] }, NOW_MS)).toThrow(
    /shares of a policy/,
  );
});

test('a limit without a window needs a disk where it begins', () => {
  const book = homeBook();
  const forever = { ...CALLS, windowMs: 0 };
  expect(() => book.define(forever, NOW_MS, () => undefined)).toThrow(/region b must be connected/);
  expect(() => book.define(forever, NOW_MS, () => ({ incarnation: 'b1', hasDisk: false }))).toThrow(
    /needs a disk in region b/,
  );
  expect(book.define(forever, NOW_MS, () => ({ incarnation: 'b1', hasDisk: true })).windowMs).toBe(0);
});

test('a home without a memory defines nothing before it has heard from a peer', () => {
  const book = open('a', 'a2');
  expect(() => book.define(CALLS, NOW_MS)).toThrow(/has not heard from a peer/);
  expect(() => open('b', 'b1').define(CALLS, NOW_MS)).toThrow(/defined in region a, their home/);
});

test('what is no set of policies is not taken for one', () => {
  const book = homeBook();
  book.define(CALLS, NOW_MS);
  const set = JSON.parse(JSON.stringify(book.set)) as PolicySet;
  expect(checkPolicySet(set)).toEqual(set);
  for (const wrong of [null, 5, {}, { ...set, version: 'x' }, { ...set, policies: [...set.policies, ...set.policies] }])
    expect(() => checkPolicySet(wrong)).toThrow();
  expect(() => checkPolicySet({ ...set, policies: [{ ...set.policies[0], limit: -1 }] })).toThrow(/a limit is/);
  expect(() => checkPolicySet({ ...set, policies: [{ ...set.policies[0], starters: [{}] }] })).toThrow(/not whole/);
});

test('a home whose version is far ahead of the clock makes no changes until an operator decides', () => {
  const ahead = open('a', 'a1', {
    saved: {
      set: { home: 'a', version: Number.MAX_SAFE_INTEGER, lastNumber: 7, policies: [] },
      incarnation: 'a1',
      beganMs: 0,
      startsFromMs: 0,
      grantees: [],
      forgottenUpToMs: 0,
    },
  });
  expect(() => ahead.define(CALLS, NOW_MS)).toThrow(/QUOTA.HOME KEEP/);
  ahead.settle(ahead.set as PolicySet, NOW_MS, [{ home: 'a', version: NOW_MS + 5, lastNumber: 9, policies: [] }]);
  expect(ahead.set).toMatchObject({ version: NOW_MS + 6, lastNumber: 9 });
  expect(ahead.isOwn).toBe(true);
  expect(ahead.define(CALLS, NOW_MS).limit).toBe(10);
});

test('dated anew, a book has no dates of a clock that was ahead', () => {
  const aheadMs = NOW_MS + 11 * 365 * 24 * 3_600_000;
  const book = open('a', 'a1', { nowMs: NOW_MS - 1 });
  book.begin();
  book.define({ ...CALLS, name: 'before', allocator: 'a' }, NOW_MS - 1);
  book.define({ ...CALLS, allocator: 'a' }, aheadMs);
  book.define({ ...CALLS, name: 'dropped' }, aheadMs);
  book.drop('dropped', aheadMs);
  book.dateAnew(NOW_MS);
  const [before, calls] = book.list();
  expect([calls.definedMs, book.set?.dropped?.[0].droppedMs, book.version]).toEqual([NOW_MS, NOW_MS, NOW_MS]);
  // The counters of windows that were over by that clock have expired: what was given out in this one is not known.
  expect(book.tenure.mayStart(before, THIS_WINDOW)).toBe(false);
  expect(book.tenure.mayStart(before, THIS_WINDOW + 1)).toBe(true);
  expect(book.tenure.mayStart(calls, THIS_WINDOW)).toBe(true);
});

test('an incarnation is inherited from once, of a quota without a window, by a home with a disk', () => {
  const [one, other] = ['1', '2'].map((digit) => digit.repeat(64));
  const book = open('a', other, { hasDisk: true });
  book.begin();
  book.define({ ...CALLS, allocator: 'a' }, NOW_MS);
  book.define({ ...CALLS, name: 'seats', windowMs: 0, allocator: 'a' }, NOW_MS);
  const lost = [{ from: one, grantees: [other], seen: [1] }];
  book.remint('seats', lost, NOW_MS);
  expect(book.named('seats')?.inheritances).toEqual([{ from: one, to: other, grantees: [other], seen: [1] }]);
  expect(() => book.remint('seats', lost, NOW_MS)).toThrow(/was re-minted before/);
  expect(() => book.remint('calls', lost, NOW_MS)).toThrow(/begins anew with its next window/);
  expect(() => homeBook().remint('seats', lost, NOW_MS)).toThrow(/needs a disk in region a/);
  const set = book.set as PolicySet;
  const doubled = set.policies.map((policy) => ({
    ...policy,
    inheritances: [...(policy.inheritances ?? []), ...(policy.inheritances ?? [])],
  }));
  expect(checkPolicySet(set)).toBe(set);
  expect(() => checkPolicySet({ ...set, policies: doubled })).toThrow(/is not whole/);
});

test('a set that came while the disk failed is taken over when it works again, though nobody sends it anew', () => {
  const home = homeBook();
  home.define(CALLS, NOW_MS, () => ({ incarnation: 'b1', hasDisk: true }));
  let isFailing = false;
  const save = () => {
    if (isFailing) throw new Error('EIO');
  };
  const book = open('b', 'b1', { save });
  isFailing = true;
  expect(() => book.adopt(home.set as PolicySet, NOW_MS)).toThrow('EIO');
  expect(book.retry(NOW_MS + 2000)).toBe(false);
  isFailing = false;
  expect(book.retry(NOW_MS + 2001)).toBe(false);
  expect(book.list()).toEqual([]);
  expect(book.retry(NOW_MS + 4000)).toBe(true);
  expect(book.list()).toEqual(home.list());
  expect(book.retry(NOW_MS + 6000)).toBe(false);
});
