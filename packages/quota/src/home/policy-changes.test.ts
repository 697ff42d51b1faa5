import { expect, test } from 'vitest';
import type { PartialDefinition } from '../policies/definition-words.js';
import { checkPolicySet, PolicyError, type PolicySet } from '../policies/policy-set.js';
import type { CatalogueReader, PolicyBookOptions, SavedBook } from './book-options.js';
import { PolicyBook } from './policy-book.js';

const NOW_MS = Date.UTC(2026, 5, 1);
const HOUR_MS = 3_600_000;

/** A catalogue here is a list of definitions. */
const reader: CatalogueReader = {
  check: (given) => {
    if (!Array.isArray(given)) throw new PolicyError('this is no list of limits');
  },
  apply: (change) => change,
  definitionsOf: (given) => given as PartialDefinition[],
  written: (given) => given,
};

function open(given: Partial<PolicyBookOptions> = {}): PolicyBook {
  return new PolicyBook({
    home: 'a',
    region: 'a',
    incarnation: 'a1',
    isNewIncarnation: true,
    hasDisk: false,
    nowMs: NOW_MS,
    skewBoundMs: 2000,
    isAlone: true,
    save: () => {},
    catalogue: reader,
    ...given,
  });
}

function limit(name: string, given: Partial<PartialDefinition> = {}): PartialDefinition {
  return { name, limit: 10, windowMs: HOUR_MS, allocator: undefined, shares: [], waitMs: 0, ...given };
}

const named = (book: PolicyBook) => book.list().map(({ name }) => name);

test('a catalogue and its policies change in one version, and those of the last one that are gone are dropped', () => {
  const versions: number[] = [];
  const book = open({ save: ({ set }: SavedBook) => void versions.push(set?.version ?? 0) });
  book.define({ ...limit('own'), allocator: 'a' }, NOW_MS);
  versions.length = 0;
  book.replaceCatalogue([limit('one'), limit('two')], NOW_MS + 1);
  expect(versions.length).toBe(1);
  expect(named(book)).toEqual(['own', 'one', 'two']);
  expect(book.named('one')).toMatchObject({ allocator: 'a', isCatalogued: true });
  const { number } = book.named('two') ?? {};
  book.replaceCatalogue([limit('two', { limit: 20 }), limit('three')], NOW_MS + 2);
  expect(versions.length).toBe(2);
  expect(named(book)).toEqual(['own', 'two', 'three']);
  expect(book.named('two')).toMatchObject({ number, limit: 20 });
  expect(book.catalogue).toEqual([limit('two', { limit: 20 }), limit('three')]);
  book.replaceCatalogue(null, NOW_MS + 3);
  expect(named(book)).toEqual(['own']);
  expect(book.set).not.toHaveProperty('catalogue');
});

test('nothing changes where any part of a catalogue is refused', () => {
  const book = open();
  book.define({ ...limit('own'), allocator: 'a' }, NOW_MS);
  book.replaceCatalogue([limit('one')], NOW_MS + 1);
  const before = book.set;
  const refused: [unknown, RegExp][] = [
    ['nonsense', /no list of limits/],
    [[limit('two'), limit('own')], /'own' that is not of the catalogue/],
    [[limit('two'), limit('two')], /two limits of one name/],
    [[limit('two'), limit('three', { limit: -1 })], /a limit is a whole number/],
    [[limit('two', { allocator: 'mars' })], /region 'mars' of 'two' is not known: the regions are a, b/],
    [[limit('two', { overrides: [{ subject: 'x'.repeat(2000), limit: 1 }] })], /1 to 1024 bytes/],
    [[{ ...limit('two'), comment: 'x'.repeat(2 ** 20) }], /at most 1048576 bytes/],
  ];
  for (const [catalogue, why] of refused)
    expect(() =>
      book.replaceCatalogue(catalogue, NOW_MS + 2, () => undefined, { knownRegions: new Set(['a', 'b']) }),
    ).toThrow(why);
  expect(book.set).toBe(before);
});

test('policies of a catalogue are changed and dropped with it alone', () => {
  const book = open();
  book.replaceCatalogue([limit('one')], NOW_MS);
  expect(() => book.define({ ...limit('one', { limit: 5 }), allocator: 'a' }, NOW_MS)).toThrow(/is of the catalogue/);
  expect(() => book.drop('one', NOW_MS)).toThrow(/is of the catalogue/);
  expect(book.named('one')?.limit).toBe(10);
});

test('a limit of a catalogue with another window begins with its next one, also where it is put back', () => {
  const book = open();
  book.replaceCatalogue([limit('one')], NOW_MS);
  const first = book.named('one');
  const day = { unit: 'day', timeZone: 'Europe/Berlin', anchorDay: 1 } as const;
  book.replaceCatalogue([limit('one', { windowMs: 24 * HOUR_MS, calendar: day })], NOW_MS + 1000);
  const second = book.named('one');
  expect(second?.number).not.toBe(first?.number);
  expect(second).toMatchObject({ calendar: day, startsFromMs: NOW_MS + 1000 });
  book.replaceCatalogue([limit('one')], NOW_MS + 2000);
  expect(book.named('one')?.number).not.toBe(second?.number);
  expect(book.named('one')?.startsFromMs).toBe(NOW_MS + 2000);
});

test('a set with a catalogue is read again, by a region that knows none too, and its size has a bound', () => {
  const book = open();
  book.replaceCatalogue([limit('one', { overrides: [{ subject: 'acme', limit: 5, fromMs: NOW_MS }] })], NOW_MS);
  const text = JSON.stringify(book.set);
  const other = open({ region: 'b', incarnation: 'b1', isAlone: false, catalogue: undefined });
  expect(other.adopt(checkPolicySet(JSON.parse(text)), NOW_MS)).toBe(true);
  expect(JSON.stringify(other.set)).toBe(text);
  const set = JSON.parse(text) as PolicySet;
  expect(() => checkPolicySet({ ...set, catalogue: 'x'.repeat(2 ** 20) })).toThrow(/at most 1048576 bytes/);
  const overrides = Array.from({ length: 10_001 }, (_, index) => ({ subject: `${index}`, limit: 1 }));
  const many = set.policies.map((policy) => ({ ...policy, overrides }));
  expect(() => checkPolicySet({ ...set, policies: many })).toThrow(/at most 10000 overrides/);
  for (const damaged of [
    { extras: [{ subject: 'x', window: 0.5, amount: 1, givenMs: 0 }] },
    { extras: [{ subject: 'x', window: 1, amount: -1, givenMs: 0 }] },
    { isCatalogued: 'yes' },
  ])
    expect(() => checkPolicySet({ ...set, policies: set.policies.map((one) => ({ ...one, ...damaged })) })).toThrow(
      /is not whole/,
    );
});

test('sets from before catalogues, overrides and calendars are read as they were', () => {
  const old = {
    home: 'a',
    version: 5,
    lastNumber: 7,
    policies: [
      {
        number: 7,
        name: 'calls',
        limit: 10,
        windowMs: 60_000,
        allocator: 'a',
        shares: [],
        waitMs: 1000,
        definedMs: 4,
        starters: [{ region: 'a', incarnation: 'a1' }],
      },
    ],
  };
  expect(checkPolicySet(structuredClone(old))).toEqual(old);
});

test('a quota with tokens for a region that nobody knows is refused, unless it has it already', () => {
  const book = open();
  const knownRegions = new Set(['b', 'a']);
  const unknown = { ...limit('one', { shares: [{ region: 'mars', fraction: 0.7 }] }), allocator: 'a' };
  expect(() => book.define(unknown, NOW_MS, () => undefined, { knownRegions })).toThrow(
    "region 'mars' of 'one' is not known: the regions are a, b",
  );
  book.define(unknown, NOW_MS);
  expect(book.define({ ...unknown, limit: 5 }, NOW_MS, () => undefined, { knownRegions }).limit).toBe(5);
});
