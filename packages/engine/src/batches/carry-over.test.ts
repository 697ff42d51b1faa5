import { describe, expect, test } from 'vitest';
import type { Engine } from '../keys/engine.js';
import { ByteInput } from '../memory/byte-input.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { componentsOf } from '../testing/inspect.js';
import { exchange, makeNode, START_MS, send, type TestNode } from '../testing/nodes.js';
import { Random } from '../testing/random.js';
import { repairFrom } from '../testing/repair.js';
import { Disk, makeDurableNode, restored } from '../testing/restore-history.js';
import { add, assign, expireAt, persist, read, remove, withKey } from '../testing/single-key.js';
import { carryOver } from './carry-over.js';
import { Merge } from './merge.js';

const OLD = 1;
const NEW = 9;
const KEYS = ['a', 'b', 'c'];

/** A region whose directory was copied, its peer, and the copy, which has started out of reach. */
class Copied {
  readonly original = makeDurableNode(OLD);
  readonly peer = makeDurableNode(2);
  readonly disk = new Disk();
  nowMs = START_MS;
  copy = this.original.engine;
  base = this.original.engine;

  /** Both go on from here. */
  start(): void {
    send(this.original, this.peer);
    send(this.peer, this.original);
    this.disk.flush(this.original.engine);
    this.nowMs += 1000;
    this.copy = restored(OLD, this.disk, this.nowMs);
    this.base = restored(OLD, this.disk, this.nowMs);
    this.pass(0);
  }

  pass(milliseconds: number): void {
    this.nowMs += milliseconds;
    for (const engine of [this.original.engine, this.peer.engine, this.copy]) engine.advanceTo(this.nowMs);
  }

  /** The original is gone; its last changes are at the peer, and the copy joins. */
  join(): TestNode {
    send(this.original, this.peer);
    const joined = convert(this.base, this.copy);
    exchange([joined, this.peer]);
    // What the original has ended and its peer forgotten is found by comparing, as with any old copy.
    repairFrom(joined.engine, joined.merge, this.peer.engine);
    exchange([joined, this.peer]);
    return joined;
  }
}

function convert(base: Engine, current: Engine): TestNode {
  const { engine: target } = makeNode(NEW, { shardCount: 2, nowMs: START_MS });
  expect(carryOver({ base, current, target })).toBeGreaterThanOrEqual(0);
  checkConsistency(target);
  return { engine: target, merge: new Merge(target) };
}

function expectEverywhere(world: Copied, key: string, value: bigint): void {
  const joined = world.join();
  expect([joined.engine, world.peer.engine].map((engine) => read(engine, key).value)).toEqual([value, value]);
}

describe('what an original and its copy have both done since the copy was made counts once', () => {
  const cases: [
    what: string,
    original: (engine: Engine) => unknown,
    copy: (engine: Engine) => unknown,
    value: bigint,
  ][] = [
    ['increments', (engine) => add(engine, 'a', 1000n), (engine) => add(engine, 'a', 1n), 1006n],
    ['decrements', (engine) => add(engine, 'a', -3n), (engine) => add(engine, 'a', -1n), 1n],
    ['a key that only the copy has', () => {}, (engine) => add(engine, 'a', 7n), 12n],
    ['a DEL of the copy', (engine) => add(engine, 'a', 1000n), (engine) => remove(engine, 'a'), 1000n],
    ['a DEL of the original', (engine) => remove(engine, 'a'), (engine) => add(engine, 'a', 1n), 1n],
    ['a SET of the copy', (engine) => add(engine, 'a', 1000n), (engine) => assign(engine, 'a', 70n), 1070n],
    ['a SET of both', (engine) => assign(engine, 'a', 30n), (engine) => assign(engine, 'a', 70n), 100n],
    [
      'a DEL and new counts',
      (engine) => add(engine, 'a', 1n),
      (engine) => [remove(engine, 'a'), add(engine, 'a', 2n)],
      3n,
    ],
  ];
  test.each(cases)('%s', (_, original, copy, value) => {
    const world = new Copied();
    add(world.original.engine, 'a', 5n);
    world.start();
    original(world.original.engine);
    copy(world.copy);
    expectEverywhere(world, 'a', value);
  });
});

test('a reset by the copy cancels what it had seen of other regions', () => {
  const world = new Copied();
  add(world.peer.engine, 'a', 5n);
  world.start();
  add(world.peer.engine, 'a', 100n);
  remove(world.copy, 'a');
  expectEverywhere(world, 'a', 100n);
});

test('a key that the copy has deleted and, without peers, forgotten does not come back', () => {
  const world = new Copied();
  add(world.original.engine, 'a', 5n);
  world.start();
  for (let shard = 0; shard < 2; shard++) world.copy.acknowledge(shard, Number.POSITIVE_INFINITY);
  remove(world.copy, 'a');
  expect(componentsOf(world.copy, 'a')).toEqual([]);
  expectEverywhere(world, 'a', 0n);
});

test('an expiry that the copy has set ends what both have counted, and counts made after it stay', () => {
  const world = new Copied();
  add(world.original.engine, 'a', 5n);
  world.start();
  expireAt(world.copy, 'a', world.nowMs + 100);
  const joined = world.join();
  expect(read(world.peer.engine, 'a')).toMatchObject({ value: 5n, expiresAtMs: world.nowMs + 100 });
  world.pass(200);
  joined.engine.advanceTo(world.nowMs);
  for (const engine of [joined.engine, world.peer.engine]) expect(read(engine, 'a').exists).toBe(false);
});

test.each([
  ['EXPIRE', (engine: Engine, nowMs: number) => expireAt(engine, 'a', nowMs + 10_000)],
  ['PERSIST', (engine: Engine) => persist(engine, 'a')],
])('a key that the copy has made live longer by %s lives so long, with all counts', (_, lengthen) => {
  const world = new Copied();
  add(world.original.engine, 'a', 5n);
  expireAt(world.original.engine, 'a', world.nowMs + 2000);
  world.start();
  add(world.copy, 'a', 1n);
  lengthen(world.copy, world.nowMs);
  const joined = world.join();
  world.pass(5000);
  joined.engine.advanceTo(world.nowMs);
  for (const engine of [joined.engine, world.peer.engine]) expect(read(engine, 'a').value).toBe(6n);
});

test('a key that has expired stays so', () => {
  const world = new Copied();
  add(world.original.engine, 'a', 5n);
  expireAt(world.original.engine, 'a', world.nowMs + 2000);
  world.start();
  add(world.copy, 'a', 1n);
  world.pass(5000);
  expectEverywhere(world, 'a', 0n);
});

test('an expiry that ended with a reset does not end the counts after it', () => {
  const world = new Copied();
  add(world.original.engine, 'a', 5n);
  expireAt(world.original.engine, 'a', world.nowMs + 2000);
  world.start();
  remove(world.copy, 'a');
  add(world.copy, 'a', 1n);
  const joined = world.join();
  world.pass(5000);
  joined.engine.advanceTo(world.nowMs);
  for (const engine of [joined.engine, world.peer.engine]) expect(read(engine, 'a').value).toBe(1n);
});

test('what is of a quota is not carried: tokens belong to one incarnation', () => {
  const world = new Copied();
  const key = Uint8Array.of(0x00, 0x51, 0x44, 0x42, 0x6d, 1);
  world.start();
  const { copy } = world;
  copy.openAny(ByteInput.copyOf(key), 0, key.length);
  copy.add(0, 5);
  copy.close();
  const joined = world.join();
  expect(componentsOf(joined.engine, key)).toEqual([]);
});

test('what was converted once is not carried again: a crash before the end repeats all of it', () => {
  const world = new Copied();
  add(world.original.engine, 'a', 5n);
  world.start();
  add(world.copy, 'a', 1n);
  const first = convert(world.base, world.copy);
  const disk = new Disk();
  disk.flush(first.engine);
  const again = convert(world.base, restored(OLD, disk, world.nowMs));
  expect(componentsOf(again.engine, 'a')).toEqual(componentsOf(first.engine, 'a'));
});

test('random histories: every increment counts once, and none that a reset had in sight', () => {
  for (let seed = 0; seed < 120; seed++) randomHistory(seed);
});

/** The n-th increment of a key is 4^n: a value shows which increments count, and how often. */
class Increments {
  private readonly made = new Map<string, number>();
  private readonly reset = new Set<string>();

  next(key: string): bigint {
    const index = this.made.get(key) ?? 0;
    this.made.set(key, index + 1);
    return 4n ** BigInt(index);
  }

  /** A reset by a node that has this value in sight. */
  noteReset(key: string, value: bigint): void {
    for (let index = 0; value >> BigInt(2 * index) !== 0n; index++)
      if (((value >> BigInt(2 * index)) & 3n) === 1n) this.reset.add(`${key} ${index}`);
  }

  expected(key: string): bigint {
    let sum = 0n;
    for (let index = 0; index < (this.made.get(key) ?? 0); index++)
      if (!this.reset.has(`${key} ${index}`)) sum += 4n ** BigInt(index);
    return sum;
  }
}

function randomHistory(seed: number): void {
  const random = new Random(seed);
  const world = new Copied();
  const increments = new Increments();
  const change = (engine: Engine): void => {
    const key = random.pick(KEYS);
    const dice = random.next();
    if (dice < 0.7) add(engine, key, increments.next(key));
    else {
      increments.noteReset(key, read(engine, key).value);
      if (dice < 0.85) remove(engine, key);
      else withKey(engine, key, () => engine.assign(...halves(increments.next(key)), false));
    }
    world.pass(random.below(3));
  };
  const meet = (): void => {
    if (random.chance(0.4)) send(world.original, world.peer);
    if (random.chance(0.4)) send(world.peer, world.original);
  };
  for (let step = random.below(8); step > 0; step--) {
    change(random.pick([world.original, world.peer]).engine);
    meet();
  }
  world.start();
  for (let step = random.below(16); step > 0; step--) {
    change(random.pick([world.original.engine, world.peer.engine, world.copy]));
    meet();
  }
  const joined = world.join();
  for (const key of KEYS)
    for (const engine of [joined.engine, world.peer.engine])
      expect(read(engine, key).value.toString(4), `seed ${seed}, ${key}`).toBe(increments.expected(key).toString(4));
  checkConsistency(joined.engine);
}

function halves(value: bigint): [number, number] {
  return [Number(BigInt.asIntN(32, value >> 32n)), Number(BigInt.asIntN(32, value))];
}
