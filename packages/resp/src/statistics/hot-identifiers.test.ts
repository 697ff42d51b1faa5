import { describe, expect, test } from 'vitest';
import { HotIdentifiers, mergeHottest } from './hot-identifiers.js';

/** Numbers that look random and are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function make() {
  let nowMs = 0;
  const random = seeded(7);
  const hot = new HotIdentifiers(() => nowMs, random);
  const note = (identifier: string, isAllowed = true) => {
    const bytes = Buffer.from(identifier);
    hot.note(0, bytes, 0, bytes.length, isAllowed);
  };
  return { hot, note, random, passMs: (milliseconds: number) => (nowMs += milliseconds) };
}

describe('the hottest identifiers', () => {
  test('are exact while there are few decisions, denials included', () => {
    const { hot, note } = make();
    for (let call = 0; call < 100; call++) note('acme', call % 4 !== 0);
    for (let call = 0; call < 10; call++) note('globex');
    expect(hot.list()).toEqual([
      { scope: 0, identifier: 'acme', allowedPerSecond: 75, deniedPerSecond: 25 },
      { scope: 0, identifier: 'globex', allowedPerSecond: 10, deniedPerSecond: 0 },
    ]);
  });

  test('are found among a hundred thousand others, at about the rate they have, in a list that does not grow', () => {
    const { hot, note, random, passMs } = make();
    for (let call = 0; call < 400_000; call++) {
      const draw = random();
      note(draw < 0.2 ? 'first' : draw < 0.3 ? 'second' : `other-${Math.floor(random() * 100_000)}`);
      if (call % 50 === 0) passMs(1);
    }
    const list = hot.list();
    expect(list.length).toBeLessThanOrEqual(2 * HotIdentifiers.CAPACITY);
    expect(list.slice(0, 2).map(({ identifier }) => identifier)).toEqual(['first', 'second']);
    // 50,000 decisions a second.
    expect(list[0].allowedPerSecond).toBeGreaterThan(8000);
    expect(list[0].allowedPerSecond).toBeLessThan(12_000);
    // An identifier is not hot because it replaced a hot one.
    expect(list[2].allowedPerSecond).toBeLessThan(1000);
  });

  test('are all seen where a client goes through its keys in order', () => {
    const { hot, note } = make();
    for (let call = 0; call < 320_000; call++) note(`key-${call % 16}`);
    const rates = hot.list().map(({ allowedPerSecond }) => allowedPerSecond);
    expect(rates).toHaveLength(16);
    expect(Math.max(...rates)).toBeLessThan(2 * Math.min(...rates));
  });

  test('cool down, and a server that has become quiet is exact again', () => {
    const { hot, note, passMs } = make();
    for (let call = 0; call < 100_000; call++) note('busy');
    passMs(HotIdentifiers.WINDOW_MS - 1);
    note('busy');
    passMs(HotIdentifiers.WINDOW_MS / 2);
    expect(hot.list()[0].allowedPerSecond).toBeGreaterThan(4000);
    expect(hot.list()[0].allowedPerSecond).toBeLessThan(6000);
    passMs(HotIdentifiers.WINDOW_MS * 2);
    expect(hot.list()).toEqual([]);
    for (let call = 0; call < 100; call++) note('next');
    // The decisions until the next sample may be skipped: at most one step of the busy time.
    for (let call = 0; call < 2000; call++) note('next');
    expect(hot.list()[0].allowedPerSecond).toBeGreaterThan(1900);
  });

  test('an identifier without end takes no more memory than another', () => {
    const { hot, note } = make();
    note('x'.repeat(1_000_000));
    expect(hot.list()[0].identifier.length).toBeLessThanOrEqual(256);
  });

  test('of several lanes are added up', () => {
    const one = { scope: 0, identifier: 'a', allowedPerSecond: 1, deniedPerSecond: 2 };
    const other = { scope: 0, identifier: 'b', allowedPerSecond: 2, deniedPerSecond: 0 };
    expect(mergeHottest([[one, other], [one]], 1)).toEqual([{ ...one, allowedPerSecond: 2, deniedPerSecond: 4 }]);
  });
});
