import { describe, expect, test } from 'vitest';
import { Applied, Merge } from '../batches/merge.js';
import { Engine } from '../keys/engine.js';
import { makeNode, partsOf, START_MS } from '../testing/nodes.js';
import { add } from '../testing/single-key.js';
import { MAX_ORIGINS, OWN_ORIGIN } from './layout.js';

function idOf(number: number): Uint8Array {
  const id = new Uint8Array(32);
  new DataView(id.buffer).setUint32(0, number);
  return id;
}

function makeEngine(): Engine {
  return Engine.format({
    maxMemoryBytes: 4 * 1024 * 1024,
    shared: true,
    shardCount: 1,
    origin: idOf(0),
    nowMs: START_MS,
  });
}

describe('origins', () => {
  test('get the same index from every thread', () => {
    const engine = makeEngine();
    const other = Engine.attach(engine.buffer);
    expect(engine.origins.intern(idOf(7))).toBe(1);
    expect(other.origins.intern(idOf(8))).toBe(2);
    expect(engine.origins.find(idOf(8))).toBe(2);
    expect(other.origins.find(idOf(7))).toBe(1);
    expect(engine.origins.find(idOf(0))).toBe(OWN_ORIGIN);
    expect(engine.origins.find(idOf(9))).toBe(-1);
    expect(engine.origins.idOf(2)).toEqual(idOf(8));
  });

  test('that are too many are refused, and so are batches of them', () => {
    const engine = makeEngine();
    for (let number = 1; number < MAX_ORIGINS; number++) expect(engine.origins.intern(idOf(number))).toBe(number);
    expect(engine.origins.intern(idOf(MAX_ORIGINS))).toBe(-1);
    expect(engine.origins.intern(idOf(3))).toBe(3);
    const stranger = makeNode(77);
    add(stranger.engine, 'a', 1n);
    const [batch] = partsOf(stranger.engine, OWN_ORIGIN, 0);
    expect(new Merge(engine).apply(batch)).toBe(Applied.OutOfMemory);
  });

  test('have names of one length', () => {
    expect(() => makeEngine().origins.intern(new Uint8Array(31))).toThrow('32 bytes');
  });
});
