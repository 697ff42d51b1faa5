import { describe, expect, test } from 'vitest';
import { Batch } from '../batches/batch.js';
import { batchSince } from '../batches/walk.js';
import type { Engine } from '../keys/engine.js';
import { Status } from '../keys/status.js';
import { OWN_ORIGIN } from '../memory/layout.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { exchange, makeNode, START_MS, send, type TestNode } from '../testing/nodes.js';
import { Random } from '../testing/random.js';
import { add, read, remove, withKey } from '../testing/single-key.js';

const KEY = 'cell';
const END_MS = START_MS + 60_000;

function addUnpublished({ engine }: TestNode, amount: number, key = KEY, expiresAtMs = END_MS): Status {
  return withKey(engine, key, () => engine.addUnpublished(0, amount, expiresAtMs));
}

function publish({ engine }: TestNode, key = KEY): void {
  withKey(engine, key, () => engine.publish());
}

function hasNoComponents({ engine }: TestNode, key = KEY): boolean {
  return withKey(engine, key, () => engine.hasNoComponents);
}

function value({ engine }: TestNode, key = KEY): number {
  return Number(read(engine, key).value);
}

/** Everything a peer or the disk could learn: what a walk brings, up to where, and the digest. */
function sentBy({ engine }: TestNode) {
  const batch = batchSince(engine, 0, OWN_ORIGIN, 0, new Batch());
  return { components: batch.count, to: batch.to, digest: engine.digestOf(0, OWN_ORIGIN), changes: engine.changes };
}

function advance(nodes: readonly TestNode[], toMs: number): void {
  for (const { engine } of nodes) {
    engine.advanceTo(toMs);
    engine.expireSome(1_000_000);
  }
}

describe('an unpublished count', () => {
  test('is read here like any other count, and expires', () => {
    const node = makeNode(1);
    addUnpublished(node, 3);
    addUnpublished(node, 4);
    expect(read(node.engine, KEY)).toEqual({ exists: true, value: 7n, expiresAtMs: END_MS });
    expect(node.engine.stats()).toMatchObject({ keys: 1, keysUnpublished: 1 });
    checkConsistency(node.engine);
    node.engine.advanceTo(END_MS);
    expect(read(node.engine, KEY)).toEqual({ exists: false, value: 0n, expiresAtMs: 0 });
    advance([node], END_MS + 1_000);
    expect(node.engine.stats()).toMatchObject({ keys: 0, keysUnpublished: 0, removedKeysRetained: 0 });
    checkConsistency(node.engine);
  });

  test('is no change for peers and disk: not in a walk, not in a digest, no version is used up', () => {
    const node = makeNode(1);
    add(node.engine, 'other', 1n);
    const before = sentBy(node);
    for (let time = 0; time < 100; time++) addUnpublished(node, 1);
    expect(sentBy(node)).toEqual(before);
    advance([node], END_MS + 1_000);
    expect(sentBy(node)).toEqual(before);
  });

  test('becomes an ordinary component, born now, when it is published', () => {
    const [here, there] = [makeNode(1), makeNode(2)];
    addUnpublished(here, 5);
    publish(here);
    checkConsistency(here.engine);
    expect(here.engine.stats().keysUnpublished).toBe(0);
    exchange([here, there]);
    expect(read(there.engine, KEY)).toEqual({ exists: true, value: 5n, expiresAtMs: END_MS });
    add(here.engine, KEY, 2n);
    exchange([here, there]);
    expect(value(there)).toBe(7);
    expect(here.engine.digestOf(0, OWN_ORIGIN)).toBe(there.engine.digestOf(0, 1));
  });

  test('is published by any ordinary change of the key', () => {
    const changes: [string, (engine: Engine) => Status, bigint, number][] = [
      ['add', (engine) => engine.add(0, 1), 6n, END_MS],
      ['expireAt', (engine) => engine.expireAt(END_MS + 5), 5n, END_MS + 5],
      ['persist', (engine) => engine.persist(), 5n, 0],
      ['assign', (engine) => engine.assign(0, 9, true), 9n, END_MS],
    ];
    for (const [name, change, expected, expiresAtMs] of changes) {
      const [here, there] = [makeNode(1), makeNode(2)];
      addUnpublished(here, 5);
      expect(withKey(here.engine, KEY, () => change(here.engine))).toBe(Status.Ok);
      checkConsistency(here.engine);
      exchange([here, there]);
      for (const { engine } of [here, there])
        expect([name, read(engine, KEY)]).toEqual([name, { exists: true, value: expected, expiresAtMs }]);
    }
  });

  test('is published as soon as another origin speaks of the key, also where nothing more is counted here', () => {
    const [one, two, three] = [makeNode(1), makeNode(2), makeNode(3)];
    addUnpublished(one, 5);
    addUnpublished(two, 7);
    add(three.engine, KEY, 100n);
    withKey(three.engine, KEY, () => three.engine.expireAt(END_MS));
    exchange([one, two, three]);
    expect([one, two, three].map((node) => value(node))).toEqual([112, 112, 112]);
    for (const node of [one, two, three]) {
      checkConsistency(node.engine);
      expect(hasNoComponents(node)).toBe(false);
      expect(read(node.engine, KEY).expiresAtMs).toBe(END_MS);
    }
  });

  test('is not published once its time is over, also when another region publishes the key', () => {
    const [here, there] = [makeNode(1, { expiryGraceMs: 10_000 }), makeNode(2, { expiryGraceMs: 10_000 })];
    addUnpublished(here, 5);
    add(there.engine, KEY, 1n);
    here.engine.advanceTo(END_MS);
    const before = sentBy(here);
    send(there, here);
    expect(sentBy(here)).toEqual(before);
    expect(value(here)).toBe(1);
    checkConsistency(here.engine);
  });

  test('goes with the key when that is removed, and no change is published', () => {
    const node = makeNode(1);
    addUnpublished(node, 5);
    const before = sentBy(node);
    remove(node.engine, KEY);
    expect(read(node.engine, KEY).exists).toBe(false);
    addUnpublished(node, 6);
    node.engine.removeAll();
    expect(read(node.engine, KEY).exists).toBe(false);
    expect(sentBy(node)).toEqual(before);
    expect(node.engine.stats()).toMatchObject({ keys: 0, keysUnpublished: 0, removedKeysRetained: 0 });
    checkConsistency(node.engine);
  });

  test('survives a reset elsewhere that has not seen it', () => {
    const [here, there] = [makeNode(1), makeNode(2)];
    addUnpublished(here, 5);
    add(there.engine, KEY, 10n);
    remove(there.engine, KEY);
    add(there.engine, KEY, 1n);
    exchange([here, there]);
    expect([value(here), value(there)]).toEqual([6, 6]);
  });

  test('where memory is full leaves nothing behind', () => {
    const node = makeNode(1);
    for (let key = 0; add(node.engine, `${'k'.repeat(1_000)}${key}`, 1n) === Status.Ok; key++);
    let refused = 0;
    for (let key = 0; key < 20_000; key++) if (addUnpublished(node, 1, `cell-${key}`) === Status.OutOfMemory) refused++;
    expect(refused).toBeGreaterThan(0);
    checkConsistency(node.engine);
    for (let key = 0; key < 20_000; key++) publish(node, `cell-${key}`);
    expect(node.engine.stats().keysUnpublished).toBe(0);
    checkConsistency(node.engine);
    advance([node], END_MS + 1_000);
    for (let key = 0; key < 20_000; key++) expect(read(node.engine, `cell-${key}`).exists).toBe(false);
  });

  test('counts, and can be published, for a shorter time than it is kept for once it is', () => {
    const [here, there] = [makeNode(1), makeNode(2)];
    const late = makeNode(3);
    for (const node of [here, late])
      withKey(node.engine, KEY, () => node.engine.addUnpublished(0, 5, START_MS + 1_000, START_MS + 4_000));
    publish(here);
    send(here, there);
    expect(read(there.engine, KEY).expiresAtMs).toBe(START_MS + 4_000);
    late.engine.advanceTo(START_MS + 1_000);
    const before = sentBy(late);
    send(here, late);
    expect(sentBy(late)).toEqual(before);
    expect(value(late)).toBe(5);
  });

  test('that can move its time, and starts anew when that is over', () => {
    const node = makeNode(1, { expiryGraceMs: 10_000 });
    addUnpublished(node, 5, KEY, START_MS + 100);
    addUnpublished(node, 1, KEY, START_MS + 5_000);
    checkConsistency(node.engine);
    node.engine.advanceTo(START_MS + 4_999);
    expect(value(node)).toBe(6);
    node.engine.advanceTo(START_MS + 5_000);
    addUnpublished(node, 2, KEY, START_MS + 9_000);
    expect(value(node)).toBe(2);
    checkConsistency(node.engine);
  });
});

test('a disk that receives everything brings back published counts, and no unpublished ones', () => {
  const node = makeNode(1);
  addUnpublished(node, 5);
  addUnpublished(node, 6, 'published');
  publish(node, 'published');
  const batch = batchSince(node.engine, 0, OWN_ORIGIN, 0, new Batch());
  expect(batch.count).toBe(1);
  expect(batch.to).toBe(node.engine.seen(0, OWN_ORIGIN));
});

test('whatever is unpublished, published and exchanged in whatever order, nodes agree once one has spoken', () => {
  for (let seed = 0; seed < 150; seed++) {
    const random = new Random(seed);
    const nodes = [makeNode(1), makeNode(2), makeNode(3)];
    const keys = ['a', 'b', 'c'];
    const counted = new Map(keys.map((key) => [key, 0]));
    const spoken = new Set<string>();
    let nowMs = START_MS;
    for (let step = 0; step < 60; step++) {
      const node = nodes[random.below(nodes.length)]!;
      const key = keys[random.below(keys.length)]!;
      const amount = 1 + random.below(9);
      const dice = random.below(10);
      if (dice < 5) {
        const isMade = hasNoComponents(node, key)
          ? addUnpublished(node, amount, key)
          : withKey(node.engine, key, () => node.engine.add(0, amount));
        expect(isMade).toBe(Status.Ok);
        counted.set(key, counted.get(key)! + amount);
      } else if (dice < 6) {
        publish(node, key);
        if (!hasNoComponents(node, key)) spoken.add(key);
      } else if (dice < 9) {
        send(node, nodes[random.below(nodes.length)]!);
      } else {
        nowMs += random.below(500);
        for (const { engine } of nodes) engine.advanceTo(nowMs);
      }
    }
    exchange(nodes);
    for (const node of nodes) checkConsistency(node.engine);
    for (const key of keys) {
      const values = nodes.map((node) => value(node, key));
      if (spoken.has(key)) expect([seed, key, values]).toEqual([seed, key, nodes.map(() => counted.get(key))]);
      // Where no node has published, each has its own count, and none is lost.
      else expect(values.reduce((sum, one) => sum + one, 0)).toBe(counted.get(key));
    }
    for (const one of nodes) {
      for (const other of nodes) {
        const index = other.engine.origins.find(one.engine.origins.idOf(OWN_ORIGIN));
        if (one !== other && index !== -1)
          expect(other.engine.digestOf(0, index)).toBe(one.engine.digestOf(0, OWN_ORIGIN));
      }
    }
  }
});
