import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Engine } from '../keys/engine.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { runSchedule } from '../testing/delivery-schedule.js';
import { histories, play } from '../testing/history.js';
import { LAWS } from '../testing/laws.js';
import { makeNode, START_MS, send } from '../testing/nodes.js';
import { placeStores } from '../testing/placement.js';
import { history } from '../testing/restore-history.js';
import { add, expireAt, read, remove, scanAll } from '../testing/single-key.js';
import { MAX_STORE_BYTES } from './link.js';

const GIBIBYTE = 2 ** 30;
const ROOM_BYTES = 32 * 2 ** 20;

/** Address space that a machine with little memory may not give. */
function canReserve(bytes: number): boolean {
  try {
    return new ArrayBuffer(bytes).byteLength === bytes;
  } catch {
    return false;
  }
}

/**
 * Stores that begin to take pages just below a boundary, and cross it at once; all but a few pages stay untouched.
 * Links with a sign would be negative from the first boundary on, and a view of bytes on Node 20 ends before both.
 */
const PLACES = [
  { boundary: '8 GiB, where an index of a word leaves 31 bits', at: 8 * GIBIBYTE },
  { boundary: '16 GiB, the end of all addresses', at: MAX_STORE_BYTES - ROOM_BYTES + 2 ** 18 },
];

describe.skipIf(!canReserve(MAX_STORE_BYTES)).each(PLACES)('around $boundary', ({ at }) => {
  const place = { maxMemoryBytes: Math.min(at + ROOM_BYTES, MAX_STORE_BYTES), pagesFromByte: at - 2 ** 18 };

  test('keys of all sizes are made, found, changed, expired, scanned and removed', () => {
    const { engine } = makeNode(1, { ...place, shardCount: 4 });
    const keys = Array.from(
      { length: 3000 },
      (_, index) => `${index}:${'x'.repeat((index * 7) % (index % 50 === 0 ? 9000 : 60))}`,
    );
    for (const [index, key] of keys.entries()) {
      add(engine, key, index % 3 === 0 ? -5n : BigInt(index + 1));
      if (index % 4 === 0) expireAt(engine, key, START_MS + 1000 + index);
    }
    checkConsistency(engine);
    expect(new Set(scanAll(engine).map((key) => Buffer.from(key).toString()))).toEqual(new Set(keys));
    for (const [index, key] of keys.entries()) if (index % 5 === 1) remove(engine, key);
    engine.advanceTo(START_MS + 3000);
    engine.expireSome(1_000_000);
    for (const [index, key] of keys.entries()) {
      const isGone = index % 5 === 1 || (index % 4 === 0 && index <= 2000);
      const value = index % 3 === 0 ? -5n : BigInt(index + 1);
      if (read(engine, key).value !== (isGone ? 0n : value)) expect.fail(`${key.slice(0, 20)} at ${index}`);
    }
    checkConsistency(engine);
    engine.removeAll();
    expect(scanAll(engine)).toEqual([]);
    checkConsistency(engine);
  });

  test('replicas agree, in parts, through relays, with garbage collection and repair', () => {
    placeStores(place);
    const failures: string[] = [];
    for (let seed = 1; seed <= 4; seed++) failures.push(...runSchedule(seed, { expiry: seed % 2 === 0 }).failures);
    expect(failures).toEqual([]);
    for (const { check } of LAWS) {
      fc.assert(
        fc.property(histories, fc.integer(), (plan, seed) => check(play(plan), seed)),
        { numRuns: 1 },
      );
    }
  });

  test('a store is restored from its log and snapshot', () => {
    placeStores(place);
    for (let seed = 0; seed < 3; seed++) history(seed, { neighbour: seed % 2 === 0, snapshotInBetween: seed === 2 });
  });

  test('another thread attaches and finds what is there', () => {
    const from = makeNode(1, { ...place, shared: true });
    const to = makeNode(2, place);
    for (let index = 0; index < 500; index++) add(from.engine, `key:${index}`, 7n);
    expect(read(Engine.attach(from.engine.buffer), 'key:499').value).toBe(7n);
    send(from, to);
    expect(read(to.engine, 'key:123').value).toBe(7n);
    expect(to.engine.digestOf(0, 1)).toBe(from.engine.digestOf(0, 0));
  });
});

test('a store of more than 16 GiB, or of more than the system gives, is refused with a sentence', () => {
  const options = { origin: new Uint8Array(32), nowMs: START_MS };
  expect(() => Engine.format({ ...options, maxMemoryBytes: MAX_STORE_BYTES + 8192 })).toThrow(
    `a store has at most ${MAX_STORE_BYTES} bytes`,
  );
});
