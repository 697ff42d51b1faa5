import { describe, expect, test } from 'vitest';
import { checkConsistency } from '../testing/check-consistency.js';
import { componentsOf } from '../testing/inspect.js';
import { exchange, makeNode, START_MS, send, sendOrigin, type TestNode } from '../testing/nodes.js';
import { add, assign, expireAt, persist, read, remove } from '../testing/single-key.js';

const GRACE_MS = 60_000;
const KEY = 'visits';

function makeNodes(count: number): TestNode[] {
  return Array.from({ length: count }, (_, index) => makeNode(index + 1, { expiryGraceMs: GRACE_MS }));
}

function advance(nodes: readonly TestNode[], toMs: number): void {
  for (const { engine } of nodes) {
    engine.advanceTo(toMs);
    engine.expireSome(1000);
  }
}

function values(nodes: readonly TestNode[]): bigint[] {
  return nodes.map(({ engine }) => read(engine, KEY).value);
}

describe('expiry between nodes', () => {
  test('an expiry that ends foreign generations is seen when it passes, also where its own does not count', () => {
    const [here, early, plain] = makeNodes(3);
    add(early.engine, KEY, 1n);
    expireAt(early.engine, KEY, START_MS + 2000);
    add(plain.engine, KEY, 10n);
    advance([here, early, plain], START_MS + 500);
    add(here.engine, KEY, 100n);
    expireAt(here.engine, KEY, START_MS + 1000);
    advance([here, early, plain], START_MS + 1500);
    send(here, plain); // which outlives the expiry that arrives too late
    send(plain, here);
    send(early, here);
    expect(values([here])).toEqual([10n]);
    for (const { engine } of [here, plain, early]) engine.advanceTo(START_MS + 2500);
    const { value } = read(here.engine, KEY);
    add(here.engine, KEY, 1000n);
    expect(values([here])).toEqual([value + 1000n]);
    checkConsistency(here.engine);
  });

  test('a node that slept through an expiry hears that the generation is over', () => {
    const [here, there] = makeNodes(2);
    add(here.engine, KEY, 5n);
    send(here, there);
    expireAt(here.engine, KEY, START_MS + 1000);
    advance([here, there], START_MS + 10 * GRACE_MS);
    exchange([here, there]);
    expect(values([here, there])).toEqual([0n, 0n]);
    expect(componentsOf(there.engine, KEY)).toEqual([]);
  });

  test('what a slower clock still counted into an expired generation does not reach the next generation', () => {
    const [fast, slow] = makeNodes(2);
    add(fast.engine, KEY, 1n);
    expireAt(fast.engine, KEY, START_MS + 1000);
    send(fast, slow);
    add(slow.engine, KEY, 10n);
    send(slow, fast);
    fast.engine.advanceTo(START_MS + 1010);
    slow.engine.advanceTo(START_MS + 960);
    add(fast.engine, KEY, 100n);
    expect(read(fast.engine, KEY).value).toBe(100n);
    send(fast, slow);
    add(slow.engine, KEY, 1000n);
    send(slow, fast);
    send(fast, slow);
    advance([fast, slow], START_MS + 2000);
    exchange([fast, slow]);
    expect(values([fast, slow])).toEqual([100n, 100n]);
    advance([fast, slow], START_MS + 10 * GRACE_MS);
    exchange([fast, slow]);
    expect(values([fast, slow])).toEqual([100n, 100n]);
  });

  test('a generation whose owner never received an expiry goes on, and all replicas agree', () => {
    const [decider, apart, witness] = makeNodes(3);
    add(decider.engine, KEY, 1n);
    add(apart.engine, KEY, 10n);
    send(apart, witness);
    expireAt(decider.engine, KEY, START_MS + 1000);
    send(decider, witness);
    advance([decider, apart, witness], START_MS + 10 * GRACE_MS);
    exchange([decider, apart, witness]);
    expect(values([decider, apart, witness])).toEqual([10n, 10n, 10n]);
    expect(new Set([decider, apart, witness].map(({ engine }) => read(engine, KEY).exists))).toEqual(new Set([true]));
  });

  test('an expiry ends the generation of an origin that is no more, for good', () => {
    const [here, there, dead] = makeNodes(3);
    add(dead.engine, KEY, 10n);
    send(dead, here);
    send(dead, there);
    add(here.engine, KEY, 1n);
    expireAt(here.engine, KEY, START_MS + 1000);
    const living = [here, there];
    exchange(living);
    expect(values(living)).toEqual([11n, 11n]);
    advance(living, START_MS + 5000);
    expect(values(living)).toEqual([0n, 0n]);
    for (let turn = 1; turn < 5; turn++) {
      advance(living, START_MS + turn * 10 * GRACE_MS);
      exchange(living);
      expect(values(living)).toEqual([0n, 0n]);
    }
    add(there.engine, KEY, 3n);
    exchange(living);
    expect(values(living)).toEqual([3n, 3n]);
  });

  test('a relay that has a floor and is then gone does not hide a generation that outlives it', () => {
    const [owner, relay, late] = makeNodes(3);
    add(owner.engine, KEY, 10n);
    add(owner.engine, 'other', 1n);
    send(owner, relay);
    add(relay.engine, KEY, 1n);
    expireAt(relay.engine, KEY, START_MS + 1000);
    for (const { engine } of [owner, relay, late]) engine.advanceTo(START_MS + 2000);
    add(relay.engine, KEY, 100n);
    // The relay sends the owner's component, and is gone before it can send its own expiry setting.
    sendOrigin(relay, late, 1);
    exchange([owner, late]);
    expect(values([owner, late])).toEqual([10n, 10n]);
  });

  test('an increment never makes less of a key, when of several expiries that passed the last one was its own', () => {
    const [here, there, other] = makeNodes(3);
    add(other.engine, KEY, 10n);
    add(there.engine, KEY, 1n);
    expireAt(there.engine, KEY, START_MS + 2000);
    add(here.engine, KEY, 1n);
    here.engine.advanceTo(START_MS + 1);
    expireAt(here.engine, KEY, START_MS + 1000);
    other.engine.advanceTo(START_MS + 1500);
    send(here, other);
    for (const { engine } of [here, there, other]) engine.advanceTo(START_MS + 3000);
    send(there, here);
    send(other, here);
    const before = read(here.engine, KEY).value;
    add(here.engine, KEY, 100n);
    expect(read(here.engine, KEY).value).toBe(before + 100n);
    exchange([here, there, other]);
    expect(values([here, there, other])).toEqual([110n, 110n, 110n]);
  });

  test('a reset goes on holding when the generation it was part of has expired', () => {
    const [resetter, owner, witness] = makeNodes(3);
    add(owner.engine, KEY, 10n);
    send(owner, resetter);
    send(owner, witness);
    remove(resetter.engine, KEY);
    add(resetter.engine, KEY, 1n);
    expireAt(resetter.engine, KEY, START_MS + 1000);
    send(resetter, witness);
    expect(values([witness])).toEqual([1n]);
    advance([witness], START_MS + 10 * GRACE_MS);
    // The resetter and the owner are gone by now: no node will send it again.
    expect(values([witness])).toEqual([0n]);
    checkConsistency(witness.engine);
  });

  test('an expiry set in sight of another one wins over it, also on a node whose clock is behind', () => {
    const [fast, slow] = makeNodes(2);
    fast.engine.advanceTo(START_MS + 30_000);
    add(fast.engine, KEY, 1n);
    expireAt(fast.engine, KEY, START_MS + 500_000);
    send(fast, slow);
    expireAt(slow.engine, KEY, START_MS + 100_000);
    exchange([fast, slow]);
    expect([fast, slow].map(({ engine }) => read(engine, KEY).expiresAtMs)).toEqual([
      START_MS + 100_000,
      START_MS + 100_000,
    ]);
    persist(slow.engine, KEY);
    exchange([fast, slow]);
    expect([fast, slow].map(({ engine }) => read(engine, KEY).expiresAtMs)).toEqual([0, 0]);
  });

  test('a value assigned without an expiry has none, also where others took over the old one unheard', () => {
    const [here, there] = makeNodes(2);
    add(here.engine, KEY, 1n);
    expireAt(here.engine, KEY, START_MS + 1000);
    send(here, there);
    add(there.engine, KEY, 10n);
    assign(here.engine, KEY, 100n);
    exchange([here, there]);
    for (const { engine } of [here, there])
      expect(read(engine, KEY)).toEqual({ exists: true, value: 110n, expiresAtMs: 0 });
  });

  test('keys that come and go under an expiry leave nothing behind', () => {
    const nodes = makeNodes(3);
    for (let turn = 1; turn <= 10; turn++) {
      for (const { engine } of nodes) {
        add(engine, KEY, 1n);
        expireAt(engine, KEY, engine.nowMs + 1000);
      }
      exchange(nodes);
      expect(values(nodes)).toEqual([3n, 3n, 3n]);
      advance(nodes, START_MS + turn * 5000);
    }
    for (let turn = 1; turn <= 3; turn++) {
      advance(nodes, START_MS + turn * 10 * GRACE_MS);
      exchange(nodes);
    }
    for (const { engine } of nodes) {
      checkConsistency(engine);
      expect(engine.stats()).toMatchObject({ keys: 0, removedKeysRetained: 0, keysWithExpiry: 0 });
    }
  });

  test('a generation that outlives a late expiry stays the same generation: a reset that saw it holds', () => {
    const [decider, late, resetter] = makeNodes(3);
    add(late.engine, KEY, 10n);
    send(late, resetter);
    remove(resetter.engine, KEY);
    add(decider.engine, KEY, 1n);
    expireAt(decider.engine, KEY, START_MS + 1000);
    for (const { engine } of [decider, late, resetter]) engine.advanceTo(START_MS + 2000);
    add(late.engine, KEY, 100n);
    send(decider, late);
    expect(values([late])).toEqual([110n]);
    exchange([decider, late, resetter]);
    expect(values([decider, late, resetter])).toEqual([100n, 100n, 100n]);
  });

  test('a reset holds when the generation it saw a part of is extended beyond the time its resetter heard of', () => {
    const [owner, resetter] = makeNodes(2);
    add(owner.engine, KEY, 10n);
    expireAt(owner.engine, KEY, START_MS + 1000);
    send(owner, resetter);
    remove(resetter.engine, KEY);
    add(owner.engine, KEY, 100n);
    persist(owner.engine, KEY);
    advance([owner, resetter], START_MS + 10 * GRACE_MS);
    exchange([owner, resetter]);
    expect(values([owner, resetter])).toEqual([100n, 100n]);
  });

  test('a reset of a generation that its owner has dropped by then is dropped', () => {
    const [owner, resetter] = makeNodes(2);
    add(owner.engine, KEY, 10n);
    expireAt(owner.engine, KEY, START_MS + 1000);
    exchange([owner, resetter]);
    advance([owner], START_MS + 10 * GRACE_MS);
    expect(componentsOf(owner.engine, KEY)).toEqual([]);
    remove(resetter.engine, KEY);
    for (let turn = 1; turn < 4; turn++) {
      advance([owner, resetter], START_MS + turn * 10 * GRACE_MS);
      exchange([owner, resetter]);
    }
    for (const { engine } of [owner, resetter])
      expect(engine.stats()).toMatchObject({ keys: 0, removedKeysRetained: 0 });
  });

  test('a reset of a generation that then expired is dropped', () => {
    const [owner, resetter] = makeNodes(2);
    add(owner.engine, KEY, 10n);
    expireAt(owner.engine, KEY, START_MS + 1000);
    send(owner, resetter);
    remove(resetter.engine, KEY);
    add(owner.engine, KEY, 100n);
    exchange([owner, resetter]);
    expect(values([owner, resetter])).toEqual([100n, 100n]);
    for (let turn = 1; turn < 4; turn++) {
      advance([owner, resetter], START_MS + turn * 10 * GRACE_MS);
      exchange([owner, resetter]);
    }
    for (const { engine } of [owner, resetter])
      expect(engine.stats()).toMatchObject({ keys: 0, removedKeysRetained: 0 });
  });
});
