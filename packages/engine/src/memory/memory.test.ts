import { describe, expect, test } from 'vitest';
import { Engine } from '../keys/engine.js';
import { Status } from '../keys/status.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { makeNode, START_MS, send } from '../testing/nodes.js';
import { Random } from '../testing/random.js';
import { add, assign, expireAt, persist, read, remove } from '../testing/single-key.js';

const MEGABYTE = 1024 * 1024;
/** Refused this often in a row, a store is full for keys of that size in every shard. */
const FULL_AFTER = 500;

/** Long enough that a store is soon full of them. */
function keyOf(index: number): string {
  return `key:${index}`.padEnd(300, '.');
}

function makeEngine(megabytes: number, shardCount: number): Engine {
  return Engine.format({
    maxMemoryBytes: megabytes * MEGABYTE,
    shardCount,
    origin: new Uint8Array(32),
    nowMs: START_MS,
  });
}

/** Adds keys until there is no room for more; returns those that are there. */
function fill(engine: Engine, makeKey: (index: number) => string): string[] {
  const keys: string[] = [];
  for (let index = 0, refused = 0; refused < FULL_AFTER; index++) {
    const key = makeKey(index);
    const status = add(engine, key, 1n);
    if (status === Status.Ok) {
      keys.push(key);
      refused = 0;
    } else {
      expect(status).toBe(Status.OutOfMemory);
      refused++;
    }
  }
  return keys;
}

describe('when memory is full', () => {
  test('a new key is refused and nothing of it stays', () => {
    const engine = makeEngine(4, 2);
    const keys = fill(engine, keyOf);
    expect(engine.stats().usedBytes).toBeGreaterThan(MEGABYTE);
    const before = engine.stats();
    for (const key of ['new', 'x'.repeat(1000), 'y'.repeat(65536)]) {
      expect(add(engine, key, 1n)).toBe(Status.OutOfMemory);
      expect(assign(engine, key, -1n)).toBe(Status.OutOfMemory);
      expect(read(engine, key).exists).toBe(false);
    }
    expect(engine.stats()).toEqual(before);
    expect(engine.keyCount()).toBe(keys.length);
    checkConsistency(engine);
  });

  test('every key that is there goes on counting', () => {
    const engine = makeEngine(4, 2);
    const keys = fill(engine, keyOf);
    for (const key of keys) if (add(engine, key, 41n) !== Status.Ok) expect.fail(key);
    for (const key of keys) if (read(engine, key).value !== 42n) expect.fail(key);
    checkConsistency(engine);
  });

  test('keys that exist get their first decrement and their first expiry from the reserve', () => {
    const engine = makeEngine(4, 2);
    const keys = fill(engine, keyOf);
    for (const key of keys.slice(0, 200)) expect(add(engine, key, -3n)).toBe(Status.Ok);
    for (const key of keys.slice(100, 300)) expect(expireAt(engine, key, START_MS + 1000)).toBe(Status.Ok);
    for (const key of keys.slice(250, 300)) expect(persist(engine, key)).toBe(Status.Ok);
    for (const key of keys.slice(0, 50)) expect(assign(engine, key, -7n)).toBe(Status.Ok);
    expect(read(engine, keys[0]).value).toBe(-7n);
    expect(read(engine, keys[150])).toEqual({ exists: true, value: -2n, expiresAtMs: START_MS + 1000 });
    checkConsistency(engine);
  });

  test('a change that even the reserve cannot serve is refused and changes nothing; increments never are', () => {
    const engine = makeEngine(4, 2);
    const keys = fill(engine, keyOf);
    const refused = keys.filter((key) => add(engine, key, -1n) === Status.OutOfMemory);
    expect(refused.length).toBeGreaterThan(0);
    for (const key of refused) if (read(engine, key).value !== 1n) expect.fail(key);
    for (const key of refused.slice(0, 1000)) expect(expireAt(engine, key, START_MS + 1000)).toBe(Status.OutOfMemory);
    for (const key of refused.slice(0, 1000)) expect(assign(engine, key, -1n)).toBe(Status.OutOfMemory);
    for (const key of refused.slice(0, 1000))
      expect(read(engine, key)).toEqual({ exists: true, value: 1n, expiresAtMs: 0 });
    for (const key of keys) if (add(engine, key, 1n) !== Status.Ok) expect.fail(key);
    for (const key of refused) if (remove(engine, key) !== Status.Ok) expect.fail(key);
    checkConsistency(engine);
  });

  test('a peer goes on being merged: its held components are brought up to date, new keys wait', () => {
    const [from, to] = [makeNode(1), makeNode(2)];
    for (let index = 0; index < 100; index++) add(from.engine, `shared:${index}`, 1n);
    send(from, to);
    fill(to.engine, keyOf);
    for (let index = 0; index < 100; index++) add(from.engine, `shared:${index}`, index % 2 === 0 ? 10n : -10n);
    for (let index = 0; index < 10; index++) add(from.engine, `late:${index}`.padEnd(300, '.'), 1n);
    send(from, to);
    for (let index = 0; index < 100; index++)
      expect(read(to.engine, `shared:${index}`).value).toBe(index % 2 === 0 ? 11n : -9n);
    expect(to.engine.seen(0, 1)).toBeLessThan(from.engine.seen(0, 0));
    checkConsistency(to.engine);
    for (let index = 0; index < 2000; index++) remove(to.engine, keyOf(index));
    to.engine.acknowledge(0, to.engine.seen(0, 0));
    send(from, to);
    expect(read(to.engine, 'late:9'.padEnd(300, '.')).value).toBe(1n);
    expect(to.engine.seen(0, 1)).toBe(from.engine.seen(0, 0));
    checkConsistency(to.engine);
  });
});

test('the component of a peer stays when there is no memory for its next state', () => {
  const [from, to] = [makeNode(1), makeNode(2)];
  add(from.engine, 'shared', 5n);
  send(from, to);
  for (const key of fill(to.engine, keyOf)) add(to.engine, key, -1n);
  for (const key of fill(to.engine, (index) => `small:${index}`)) expireAt(to.engine, key, START_MS + 1000);
  add(from.engine, 'shared', -1n);
  send(from, to);
  expect(read(to.engine, 'shared').value).toBe(5n);
  checkConsistency(to.engine);
  for (let index = 0; index < 1000; index++) remove(to.engine, keyOf(index));
  to.engine.acknowledge(0, to.engine.seen(0, 0));
  send(from, to);
  expect(read(to.engine, 'shared').value).toBe(4n);
  checkConsistency(to.engine);
});

test('a key keeps an expiry that others set, or the change is refused where there is no memory for it', () => {
  const [from, to] = [makeNode(1), makeNode(2)];
  const keys = Array.from({ length: 600 }, (_, index) => `shared:${index}`);
  const expiresAtMs = START_MS + 60_000;
  for (const key of keys) add(from.engine, key, 5n);
  for (const key of keys) expireAt(from.engine, key, expiresAtMs);
  send(from, to);
  for (const key of fill(to.engine, keyOf)) expireAt(to.engine, key, START_MS + 1000);
  const statuses = new Set<Status>();
  for (const [index, key] of keys.entries()) {
    const changes = [add, (engine: Engine, name: string) => assign(engine, name, 1n, true), persist] as const;
    const status = changes[index % 3](to.engine, key, 1n);
    const expected = status === Status.Ok && index % 3 === 2 ? 0 : expiresAtMs;
    const value = status !== Status.Ok || index % 3 === 2 ? 5n : index % 3 === 0 ? 6n : 1n;
    expect(read(to.engine, key)).toEqual({ exists: true, value, expiresAtMs: expected });
    statuses.add(status);
  }
  expect(statuses.has(Status.OutOfMemory)).toBe(true);
  checkConsistency(to.engine);
});

describe('freed memory is used again', () => {
  test('by keys of the same size', () => {
    const engine = makeEngine(4, 2);
    const keys = fill(engine, keyOf);
    for (const key of keys) remove(engine, key);
    expect(engine.keyCount()).toBe(0);
    checkConsistency(engine);
    expect(fill(engine, (index) => `other:${index}`.padEnd(300, '.')).length).toBeGreaterThan(keys.length * 0.9);
    checkConsistency(engine);
  });

  test('by keys of any other size', () => {
    const engine = makeEngine(4, 2);
    for (const size of [60, 300, 1500, 5000, 30_000, 60]) {
      const fresh = fill(makeEngine(4, 2), (index) => String(index).padEnd(size, 'x')).length;
      const keys = fill(engine, (index) => String(index).padEnd(size, 'x'));
      // Pages of the table, which does not shrink, lie between the runs that the largest keys need.
      expect(keys.length).toBeGreaterThan(fresh * (size < 5000 ? 0.85 : 0.6));
      for (const key of keys) remove(engine, key);
      expect(engine.keyCount()).toBe(0);
    }
    checkConsistency(engine);
  });

  test('in a small store of many shards, after keys of every size have come and gone', () => {
    const engine = makeEngine(16, 64);
    const fresh = fill(makeEngine(16, 64), keyOf).length;
    for (let size = 10; size < 3700; size = Math.ceil(size * 1.05)) {
      const keys = Array.from({ length: 500 }, (_, index) => String(index).padEnd(size, 'x'));
      for (const key of keys) expect(add(engine, key, 1n)).toBe(Status.Ok);
      for (const key of keys) remove(engine, key);
    }
    expect(fill(engine, keyOf).length).toBeGreaterThan(fresh * 0.9);
    checkConsistency(engine);
  });

  test('a soak of keys that come with changing sizes and expire keeps the footprint flat', () => {
    const engine = makeEngine(16, 8);
    const random = new Random(1);
    const peaks: number[] = [];
    let nowMs = START_MS;
    for (let generation = 0; generation < 45; generation++) {
      const size = 10 + random.below(200) * (1 + (generation % 7));
      for (let index = 0; index < 1500; index++) {
        const key = `${generation}:${index}:${'x'.repeat(random.below(size))}`;
        expect(add(engine, key, random.chance(0.3) ? -1n : 1n)).toBe(Status.Ok);
        expireAt(engine, key, nowMs + 1 + random.below(3000));
      }
      nowMs += 1000;
      engine.advanceTo(nowMs);
      engine.expireSome(1_000_000);
      peaks.push(engine.stats().usedBytes);
    }
    const early = Math.max(...peaks.slice(0, 15));
    const late = Math.max(...peaks.slice(30));
    expect(late).toBeLessThan(early * 1.2);
    engine.advanceTo(nowMs + 10_000);
    engine.expireSome(1_000_000);
    expect(engine.stats()).toMatchObject({ keys: 0, keysWithExpiry: 0, removedKeysRetained: 0 });
    checkConsistency(engine);
  });

  test('at once, when all keys are removed', () => {
    for (const shared of [false, true]) {
      const engine = Engine.format({
        maxMemoryBytes: 4 * MEGABYTE,
        shardCount: 2,
        origin: new Uint8Array(32),
        nowMs: START_MS,
        shared,
      });
      const keys = fill(engine, keyOf);
      for (const key of keys.slice(0, 100)) expireAt(engine, key, START_MS + 1000);
      engine.removeAll();
      expect(engine.stats()).toMatchObject({ keys: 0, usedBytes: 0, keysWithExpiry: 0, removedKeysRetained: 0 });
      checkConsistency(engine);
      expect(fill(engine, keyOf).length).toBe(keys.length);
      engine.advanceTo(START_MS + 100_000);
      engine.expireSome(1_000_000);
      expect(engine.keyCount()).toBe(keys.length);
      checkConsistency(engine);
    }
  });
});
