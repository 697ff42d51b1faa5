import { describe, expect, test } from 'vitest';
import {
  areDivisions,
  type DivideContext,
  type Division,
  divide,
  findAwaited,
  type KnownServer,
  partOf,
} from './divisions.js';
import type { Policy } from './policy.js';

const SKEW_MS = 100;
const POLICY: Policy = {
  number: 7,
  name: 'calls',
  limit: 100,
  windowMs: 1000,
  allocator: 'us',
  shares: [],
  waitMs: 0,
  definedMs: 0,
  starters: [],
};

const server = (name: string, version = 1): KnownServer => ({ name, version, divides: true });
const away = (name: string): KnownServer => ({ name, version: undefined, divides: false });

function contextOf(servers: readonly KnownServer[], more: Partial<DivideContext> = {}): DivideContext {
  return { nowMs: 10_000, version: 1, lastNumber: 7, servers, removed: new Set(), starting: new Set(), ...more };
}

function partsOf(divisions: readonly Division[] | undefined, names: readonly string[], window: number, amount = 100) {
  const division = divisions?.find(({ region }) => region === 'us');
  return names.map((name) => partOf(division, { name, amount, policy: POLICY, window, skewBoundMs: SKEW_MS }));
}

test('a lone server has all tokens of its region, and nothing is written about it', () => {
  expect(divide(undefined, contextOf([server('us'), server('eu')]))).toBeUndefined();
  expect(partsOf(undefined, ['us', 'us/a'], 20)).toEqual([100, 0]);
});

test('the first members of a region divide its tokens at once: nobody has started with any', () => {
  const divisions = divide(undefined, contextOf([server('us/a'), away('us/b'), away('us/c')]));
  expect(divisions).toEqual([
    {
      region: 'us',
      steps: [{ members: ['us/a', 'us/b', 'us/c'], proposedMs: 10_000, agreedMs: 10_000, lastNumber: 7 }],
    },
  ]);
  expect(partsOf(divisions, ['us/a', 'us/b', 'us/c'], 20), 'no token is lost').toEqual([34, 33, 33]);
  expect(divide(divisions, contextOf([server('us/a')])), 'a member that is away stays one').toBe(divisions);
});

describe('a member that joins', () => {
  const before: readonly Division[] = [
    { region: 'us', steps: [{ members: ['us/a'], proposedMs: 0, agreedMs: 0, lastNumber: 7 }] },
  ];
  const both = [server('us/a'), server('us/b')];

  test('is proposed, and gains nothing before it is agreed, while the others give up', () => {
    const proposed = divide(before, contextOf(both));
    expect(proposed?.[0].steps.at(-1)).toEqual({ members: ['us/a', 'us/b'], proposedMs: 10_000 });
    expect(partsOf(proposed, ['us/a', 'us/b'], 10), 'a window that a server may have touched').toEqual([100, 0]);
    expect(partsOf(proposed, ['us/a', 'us/b'], 11), 'one that none can have').toEqual([50, 0]);
  });

  test('is not proposed while a server is away, because windows would be short of tokens meanwhile', () => {
    expect(divide(before, contextOf([...both, away('eu')]))).toBe(before);
  });

  test('waits for servers that are named: who is away, who holds older policies, and a member that is not known', () => {
    expect(findAwaited(before, contextOf(both))).toEqual([]);
    expect(findAwaited(before, contextOf([...both, away('eu')]))).toEqual([{ region: 'us', servers: ['eu'] }]);
    const proposed = divide(before, contextOf(both));
    const behind = contextOf([server('us/a', 2), server('us/b', 1)], { version: 2 });
    expect(findAwaited(proposed, behind)).toEqual([{ region: 'us', servers: ['us/b'] }]);
    const unknown = contextOf([server('us/a', 2)], { version: 2 });
    expect(findAwaited(proposed, unknown)).toEqual([{ region: 'us', servers: ['us/b'] }]);
  });

  test('is agreed when every server holds the proposal, and has its part of windows that begin later', () => {
    const proposed = divide(before, contextOf(both));
    const later = { nowMs: 20_000, version: 2 };
    const without = (behind: KnownServer) => divide(proposed, contextOf([server('us/a', 2), behind], later));
    expect(without(server('us/b', 1)), 'one has an older set').toBe(proposed);
    expect(without(away('us/b')), 'one has no link').toBe(proposed);
    expect(without({ ...server('us/b', 2), divides: false }), 'one is of an earlier release').toBe(proposed);
    const agreed = divide(proposed, contextOf([server('us/a', 2), server('us/b', 2)], later));
    expect(partsOf(agreed, ['us/a', 'us/b'], 10), 'before the proposal').toEqual([100, 0]);
    expect(partsOf(agreed, ['us/a', 'us/b'], 20), 'between the two').toEqual([50, 0]);
    expect(partsOf(agreed, ['us/a', 'us/b'], 21), 'after the agreement').toEqual([50, 50]);
    const newer = { name: 'us/b', amount: 100, policy: { ...POLICY, number: 8 }, window: 1, skewBoundMs: SKEW_MS };
    expect(partOf(agreed?.[0], newer), 'a policy that came later knows no other division').toBe(50);
  });

  test('joins a lone server, whose tokens are divided', () => {
    const proposed = divide(undefined, contextOf([server('us'), server('us/b')]));
    const agreed = divide(proposed, contextOf([server('us'), server('us/b')], { nowMs: 11_000 }));
    expect(partsOf(agreed, ['us', 'us/b'], 11)).toEqual([50, 0]);
    expect(partsOf(agreed, ['us', 'us/b'], 12)).toEqual([50, 50]);
  });

  test('waits for a lone server that policies give tokens to, until an operator says that it is gone', () => {
    const context = contextOf([server('us/a')], { starting: new Set(['us']) });
    expect(divide(undefined, context)).toBeUndefined();
    expect(divide(undefined, { ...context, removed: new Set(['us']) })?.[0].steps[0].members).toEqual(['us/a']);
  });
});

test('a member that an operator has removed leaves its part to the others', () => {
  const before: readonly Division[] = [
    { region: 'us', steps: [{ members: ['us/a', 'us/b'], proposedMs: 0, agreedMs: 0, lastNumber: 7 }] },
  ];
  const context = contextOf([server('us/a')], { removed: new Set(['us/b']) });
  const proposed = divide(before, context);
  const agreed = divide(proposed, context);
  expect(partsOf(proposed, ['us/a'], 11)).toEqual([50]);
  expect(partsOf(agreed, ['us/a'], 11)).toEqual([100]);
});

/** The invariant, by force: whatever versions servers have, their parts never come to more than the tokens. */
test('of any window, the parts by any mixture of versions that can meet come to no more than the tokens', () => {
  const names = ['us', 'us/a', 'us/b', 'us/c'];
  let agreements = 0;
  for (let history = 0; history < 200; history++) {
    let random = history * 2_654_435_761 + 1;
    const below = (bound: number) => {
      random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((random / 2 ** 32) * bound);
    };
    // Every server holds one of the versions; at an agreement all have held the proposal.
    const versions: (readonly Division[] | undefined)[] = [undefined];
    const held = new Map(names.map((name) => [name, 0]));
    const known = new Set(['us']);
    const highest = new Map<string, number>();
    let nowMs = 1000;
    for (let step = 0; step < 40; step++) {
      nowMs += below(700);
      known.add(names[below(names.length)]);
      for (const name of known) if (below(2) === 0) held.set(name, versions.length - 1);
      const servers = [...known].map((name) => server(name, held.get(name)));
      const next = divide(versions.at(-1), contextOf(servers, { nowMs, version: versions.length - 1 }));
      if (next !== versions.at(-1)) versions.push(next);
      // A server touches windows up to the bound on clocks ahead of its own clock, which differs by as much.
      for (const name of names) {
        const window = Math.floor((nowMs + SKEW_MS - below(2 * SKEW_MS)) / 1000) + below(2);
        if (window * 1000 > nowMs + 2 * SKEW_MS) continue;
        const [part] = partsOf(versions[held.get(name) ?? 0], [name], window);
        const key = `${window} ${name}`;
        highest.set(key, Math.max(highest.get(key) ?? 0, part));
      }
    }
    agreements += versions.at(-1)?.[0].steps.filter(({ agreedMs }) => agreedMs !== undefined).length ?? 0;
    for (let window = 0; window < 60; window++) {
      const sum = names.reduce((total, name) => total + (highest.get(`${window} ${name}`) ?? 0), 0);
      expect(sum, `history ${history}, window ${window}`).toBeLessThanOrEqual(100);
    }
  }
  expect(agreements).toBeGreaterThan(100);
});

test('divisions of a peer are checked: names, numbers, order', () => {
  const step = { members: ['us/a', 'us/b'], proposedMs: 1, agreedMs: 2, lastNumber: 3 };
  const divisions = (...steps: object[]) => [{ region: 'us', steps }] as unknown as readonly Division[];
  expect(areDivisions(divisions(step, { members: ['us/a'], proposedMs: 3 }))).toBe(true);
  for (const wrong of [
    divisions(),
    divisions({ ...step, members: [] }),
    divisions({ ...step, members: ['us/a', 'us/a'] }),
    divisions({ ...step, members: ['eu/a'] }),
    divisions({ ...step, members: ['us/A'] }),
    divisions({ ...step, agreedMs: Number.NaN }),
    divisions({ ...step, lastNumber: 1.5 }),
    divisions({ members: ['us/a'], proposedMs: 3 }, step),
    divisions(...Array.from({ length: 65 }, () => step)),
    [...divisions(step), ...divisions(step)],
  ])
    expect(areDivisions(wrong), JSON.stringify(wrong)).toBe(false);
});
