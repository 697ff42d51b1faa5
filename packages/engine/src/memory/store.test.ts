import { describe, expect, test } from 'vitest';
import { Engine } from '../keys/engine.js';
import { checkConsistency } from '../testing/check-consistency.js';
import { START_MS } from '../testing/nodes.js';
import { add, expireAt, read, remove, scanAll } from '../testing/single-key.js';

const MEGABYTE = 1024 * 1024;

function format(megabytes: number, shardCount: number): Engine {
  return Engine.format({
    maxMemoryBytes: megabytes * MEGABYTE,
    shardCount,
    shared: true,
    origin: new Uint8Array(32),
    nowMs: START_MS,
  });
}

describe('a store', () => {
  test('that is too small for its shards is refused in words', () => {
    expect(() => format(4, 1024)).toThrow(/1024 shards takes at least \d+ bytes/);
    expect(() => format(4, 256)).toThrow(RangeError);
  });

  test.each([1, 2, 64, 1024])('of %i shards works at the least size there is for it', (shardCount) => {
    const engine = format(shardCount === 1024 ? 64 : 4, shardCount);
    for (let index = 0; index < 500; index++) add(engine, `key:${index}`, 1n);
    expect(engine.keyCount()).toBe(500);
    expect(scanAll(engine).length).toBe(500);
    checkConsistency(engine);
  });

  test('takes only a power of two as the number of shards', () => {
    for (const shardCount of [0, 3, -1, 2048]) expect(() => format(64, shardCount)).toThrow('power of 2');
  });

  test('is the same store for every thread that attaches to its buffer', () => {
    const engine = format(4, 2);
    add(engine, 'a', 1n);
    const other = Engine.attach(engine.buffer);
    add(other, 'a', 2n);
    expireAt(other, 'a', START_MS + 1000);
    expect(read(engine, 'a')).toEqual({ exists: true, value: 3n, expiresAtMs: START_MS + 1000 });
    expect(other.nowMs).toBe(START_MS);
    remove(engine, 'a');
    expect(read(other, 'a').exists).toBe(false);
  });

  test('is not made of a buffer that holds something else', () => {
    expect(() => Engine.attach(new SharedArrayBuffer(MEGABYTE))).toThrow('the buffer holds a store');
  });
});
