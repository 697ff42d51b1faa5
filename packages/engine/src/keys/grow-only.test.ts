import { describe, expect, test } from 'vitest';
import { START_MS } from '../testing/nodes.js';
import { add, assign, expireAt, read, remove } from '../testing/single-key.js';
import { Engine } from './engine.js';
import { Status } from './status.js';

function makeEngine(growOnlyPrefixes: readonly string[]): Engine {
  return Engine.format({
    maxMemoryBytes: 4 * 1024 * 1024,
    shardCount: 2,
    origin: new Uint8Array(32),
    nowMs: START_MS,
    growOnlyPrefixes,
  });
}

describe('a namespace that only grows', () => {
  test('refuses what would shrink a key, and changes nothing', () => {
    const engine = makeEngine(['total:', 'größe/']);
    for (const key of ['total:visits', 'total:', 'größe/a']) {
      expect(add(engine, key, 5n)).toBe(Status.Ok);
      expect(add(engine, key, -1n)).toBe(Status.GrowOnly);
      expect(assign(engine, key, 7n)).toBe(Status.GrowOnly);
      expect(remove(engine, key)).toBe(Status.GrowOnly);
      expect(expireAt(engine, key, START_MS - 1)).toBe(Status.GrowOnly);
      expect(read(engine, key)).toEqual({ exists: true, value: 5n, expiresAtMs: 0 });
    }
    for (const key of ['total', 'Total:visits', 'a total:']) {
      expect(add(engine, key, -1n)).toBe(Status.Ok);
      expect(remove(engine, key)).toBe(Status.Ok);
    }
  });

  test('is the same in every database', () => {
    const engine = makeEngine(['total:']);
    const inDatabase = (key: string) => `\0QDd\x01${key}`;
    add(engine, inDatabase('total:a'), 5n);
    add(engine, inDatabase('other'), 5n);
    expect(remove(engine, inDatabase('total:a'))).toBe(Status.GrowOnly);
    expect(remove(engine, inDatabase('other'))).toBe(Status.Ok);
    expect(remove(engine, 'total:a')).toBe(Status.Ok);
  });

  test('stays when everything is removed', () => {
    const engine = makeEngine(['total:']);
    for (const key of ['total:a', 'b', 'total:c', 'd']) add(engine, key, 1n);
    engine.removeAll();
    expect(engine.keyCount()).toBe(2);
    expect(read(engine, 'total:a').value).toBe(1n);
  });

  test('is known to every thread', () => {
    const engine = makeEngine(['total:']);
    const other = Engine.attach(engine.buffer);
    add(engine, 'total:a', 1n);
    expect(remove(other, 'total:a')).toBe(Status.GrowOnly);
  });

  test('prefixes that do not fit are refused in words', () => {
    expect(() => makeEngine(Array.from({ length: 100 }, (_, index) => String(index).padEnd(100, 'x')))).toThrow(
      '4096 bytes',
    );
  });
});
