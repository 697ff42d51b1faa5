import { catalogueReader } from '@quotadb/limits';
import { digestOfShared, PolicyBook } from '@quotadb/quota';
import { describe, expect, test } from 'vitest';
import { SharedChanges } from './shared-changes.js';

const NOW_MS = 1_800_000_000_000;

/** The home of a group, with a clock that differs from the others'. */
class Home {
  readonly book: PolicyBook;
  readonly shared: SharedChanges;
  private readonly skewMs: number;
  private readonly time: { nowMs: number };

  constructor(region: string, skewMs: number, time: { nowMs: number }) {
    this.skewMs = skewMs;
    this.time = time;
    const names = { home: region, region, incarnation: `${region}1`, isNewIncarnation: true };
    const rest = { hasDisk: true, nowMs: NOW_MS, skewBoundMs: 1000, isAlone: true, save: () => {} };
    this.book = new PolicyBook({ ...names, ...rest, catalogue: catalogueReader });
    this.shared = new SharedChanges({
      book: this.book,
      nowMs: () => this.nowMs(),
      define: (definition) =>
        void this.book.define({ ...definition, allocator: definition.allocator ?? region }, this.nowMs()),
      replaceCatalogue: (change) => this.book.replaceCatalogue(change, this.nowMs()),
    });
  }

  define(name: string, limit: number, windowMs: number): void {
    const definition = { name, limit, windowMs, allocator: undefined, shares: [], waitMs: 0 };
    const before = this.book.named(name);
    if (before !== undefined && before.windowMs !== windowMs) this.drop(name);
    this.book.define({ ...definition, allocator: this.book.homeRegion }, this.nowMs());
    this.shared.note({ kind: 'define', definition });
  }

  drop(name: string): void {
    this.book.drop(name, this.nowMs());
    this.shared.note({ kind: 'drop', name });
  }

  load(limit: number): void {
    const change = { replace: { limits: [{ name: 'api', kind: 'fixed', limit, window: '1h' }] } };
    this.book.replaceCatalogue(change, this.nowMs());
    this.shared.note({ kind: 'catalogue', change });
  }

  /** As it travels. */
  get sent(): unknown {
    return JSON.parse(JSON.stringify(this.book.shared));
  }

  get inForce(): unknown {
    const policies = this.book.list().map(({ name, limit, windowMs }) => ({ name, limit, windowMs }));
    policies.sort((one, other) => (one.name < other.name ? -1 : 1));
    return { policies, catalogue: this.book.shared.catalogue?.document };
  }

  private nowMs(): number {
    return this.time.nowMs + this.skewMs;
  }
}

function randoms(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe('policies of groups', () => {
  test('come to be the same whatever was changed where and merged when, and the newest of each holds', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = randoms(seed);
      const time = { nowMs: NOW_MS };
      const homes = [new Home('eu', 0, time), new Home('us', 700, time), new Home('ap', -700, time)];
      for (let step = 0; step < 30; step++) {
        time.nowMs += random(500);
        const home = homes[random(3)] as Home;
        const name = `quota${random(3)}`;
        const kind = random(6);
        if (kind === 0) home.drop(name);
        else if (kind === 1) home.load(1 + random(9));
        else if (kind < 4) home.define(name, random(9), 60_000 * (1 + random(2)));
        else home.shared.merge((homes[random(3)] as Home).sent);
      }
      for (const home of [...homes, ...homes])
        for (const other of homes) expect(home.shared.merge(other.sent)).toEqual({ refused: [] });
      const digests = homes.map(({ book }) => digestOfShared(book.shared));
      expect([seed, new Set(digests).size]).toEqual([seed, 1]);
      for (const home of homes) expect([seed, home.inForce]).toEqual([seed, (homes[0] as Home).inForce]);
    }
  });

  test('a later change outdoes an earlier one, though the clock of its group is behind', () => {
    const time = { nowMs: NOW_MS };
    const [ahead, behind] = [new Home('eu', 60_000, time), new Home('us', 0, time)];
    ahead.define('calls', 1, 60_000);
    behind.shared.merge(ahead.sent);
    behind.define('calls', 2, 60_000);
    expect(ahead.shared.merge(behind.sent)).toEqual({ refused: [] });
    expect(ahead.book.named('calls')?.limit).toBe(2);
  });

  test('merging what is known writes nothing', () => {
    const time = { nowMs: NOW_MS };
    const [one, other] = [new Home('eu', 0, time), new Home('us', 0, time)];
    one.define('calls', 1, 60_000);
    one.load(3);
    other.shared.merge(one.sent);
    const { version } = other.book;
    time.nowMs += 1000;
    other.shared.merge(one.sent);
    one.shared.merge(other.sent);
    expect(other.book.version).toBe(version);
  });

  test('a policy that cannot be made goes on as it was', () => {
    const time = { nowMs: NOW_MS };
    const home = new Home('eu', 0, time);
    home.define('calls', 1, 60_000);
    const before = home.book.named('calls');
    time.nowMs += 1000;
    const definition = { ...before, windowMs: -5, allocator: undefined };
    const { refused } = home.shared.merge({ policies: [{ name: 'calls', stamp: time.nowMs, definition }] });
    expect(refused).toEqual([expect.stringContaining('calls: a window has')]);
    expect(home.book.named('calls')).toEqual(before);
  });
});
