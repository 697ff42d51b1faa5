import { describe, expect, test } from 'vitest';
import { Engine } from '../keys/engine.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { START_MS } from '../testing/nodes.js';
import { Random } from '../testing/random.js';
import { add, expireAt, persist, read } from '../testing/single-key.js';

/** A tick of the wheel: an expired key may be there, hidden, for that much longer. */
const TICK_MS = 64;
const CENTURY_MS = 100 * 365.25 * 86_400_000;
const ALL = 1_000_000;

function makeEngine(graceMs = 0, shardCount = 2): Engine {
  return Engine.format({
    maxMemoryBytes: 8 * 1024 * 1024,
    shardCount,
    origin: new Uint8Array(32),
    nowMs: START_MS,
    expiryGraceMs: graceMs,
  });
}

/** From milliseconds to a century, as many in each order of magnitude. */
function someDelayMs(random: Random): number {
  return Math.max(1, Math.floor(CENTURY_MS ** random.next()));
}

describe('the timing wheel', () => {
  test.each([0, 10_000])(
    'drops keys neither early nor never, from milliseconds to a century, with a grace of %i ms',
    (graceMs) => {
      for (let seed = 1; seed <= 6; seed++) {
        const random = new Random(seed);
        const engine = makeEngine(graceMs);
        const deadlines = Array.from({ length: 400 }, () => START_MS + someDelayMs(random));
        for (const [index, deadline] of deadlines.entries()) {
          add(engine, `key:${index}`, 1n);
          expireAt(engine, `key:${index}`, deadline);
        }
        let nowMs = START_MS;
        while (nowMs < START_MS + CENTURY_MS + graceMs + TICK_MS) {
          nowMs += someDelayMs(random);
          engine.advanceTo(nowMs);
          engine.expireSome(ALL);
          const least = deadlines.filter((deadline) => deadline + graceMs > nowMs).length;
          const most = deadlines.filter((deadline) => deadline + graceMs + TICK_MS > nowMs).length;
          expect(engine.keyCount()).toBeGreaterThanOrEqual(least);
          expect(engine.keyCount()).toBeLessThanOrEqual(most);
          const sample = random.below(deadlines.length);
          expect(read(engine, `key:${sample}`).exists).toBe(deadlines[sample] > nowMs);
        }
        expect(engine.stats()).toMatchObject({ keys: 0, keysWithExpiry: 0, removedKeysRetained: 0 });
        expect(engine.stats().expiredKeysTotal).toBe(deadlines.length);
        checkConsistency(engine);
      }
    },
  );

  test('follows an expiry that is changed or taken back', () => {
    const engine = makeEngine();
    for (const key of ['sooner', 'later', 'never', 'as-was']) {
      add(engine, key, 1n);
      expireAt(engine, key, START_MS + 60_000);
    }
    expireAt(engine, 'sooner', START_MS + 1000);
    expireAt(engine, 'later', START_MS + 10_000_000);
    persist(engine, 'never');
    const left = (nowMs: number) => {
      engine.advanceTo(nowMs);
      engine.expireSome(ALL);
      checkConsistency(engine);
      return engine.keyCount();
    };
    expect(left(START_MS + 1000 + TICK_MS)).toBe(3);
    expect(left(START_MS + 60_000 - 1)).toBe(3);
    expect(left(START_MS + 60_000 + TICK_MS)).toBe(2);
    expect(left(START_MS + 10_000_000 + TICK_MS)).toBe(1);
    expect(read(engine, 'never')).toEqual({ exists: true, value: 1n, expiresAtMs: 0 });
  });

  test('does no more work in a turn than it is allowed, and the next turn goes on there', () => {
    const engine = makeEngine(0, 4);
    const count = 1000;
    for (let index = 0; index < count; index++) {
      add(engine, `key:${index}`, 1n);
      expireAt(engine, `key:${index}`, START_MS + 5_000 + (index % 3) * 300_000);
    }
    engine.advanceTo(START_MS + 1_000_000);
    let turns = 0;
    for (let before = count; before > 0; before = engine.keyCount()) {
      expect(engine.expireSome(10)).toBeLessThanOrEqual(10);
      expect(before - engine.keyCount()).toBeLessThanOrEqual(10);
      // A key is moved from level to level before it is dropped, and no level more than once.
      expect(++turns).toBeLessThan(count);
    }
    expect(engine.expireSome(10)).toBe(0);
    checkConsistency(engine);
  });

  test('is not disturbed by keys that come and get expiries in the middle of a turn', () => {
    const engine = makeEngine(0, 1);
    const random = new Random(3);
    const alive = new Map<string, number>();
    let nowMs = START_MS;
    for (let round = 0; round < 3000; round++) {
      const key = `key:${random.below(300)}`;
      const deadline = nowMs + 1 + random.below(20_000);
      add(engine, key, 1n);
      expireAt(engine, key, deadline);
      alive.set(key, deadline);
      nowMs += random.below(30);
      engine.advanceTo(nowMs);
      engine.expireSome(random.below(3));
      const other = `key:${random.below(300)}`;
      expect(read(engine, other).exists).toBe((alive.get(other) ?? 0) > nowMs);
    }
    checkConsistency(engine);
    engine.advanceTo(nowMs + 30_000);
    engine.expireSome(ALL);
    expect(engine.keyCount()).toBe(0);
    checkConsistency(engine);
  });

  test('costs nothing over a quiet century', () => {
    const engine = makeEngine(0, 1);
    add(engine, 'far', 1n);
    expireAt(engine, 'far', START_MS + CENTURY_MS);
    engine.advanceTo(START_MS + CENTURY_MS - 1);
    expect(engine.expireSome(ALL)).toBeLessThan(10);
    expect(engine.keyCount()).toBe(1);
    engine.advanceTo(START_MS + CENTURY_MS + TICK_MS);
    engine.expireSome(ALL);
    expect(engine.keyCount()).toBe(0);
  });
});
