import { describe, expect, test } from 'vitest';
import { OWN_ORIGIN } from '../memory/layout.js';
import { makeNode, partsOf, send } from '../testing/nodes.js';
import { add, read } from '../testing/single-key.js';
import { Batch } from './batch.js';
import { batchOfKeys, batchSince } from './walk.js';

const ONE_EACH = { components: 1, keyBytes: 1000 };

describe('a walk', () => {
  test('sends every component behind the watermark, oldest first, and ends in a true cut', () => {
    const { engine } = makeNode(1);
    for (const key of ['a', 'b', 'c', 'a']) add(engine, key, 1n);
    const batch = batchSince(engine, 0, OWN_ORIGIN, 0, new Batch());
    const keys = Array.from({ length: batch.count }, (_, index) =>
      Buffer.from(batch.keyBytes.subarray(batch.keyStart(index), batch.keyEnd[index])).toString(),
    );
    expect(keys).toEqual(['b', 'c', 'a']);
    expect([...batch.version.subarray(0, 3)]).toEqual([...batch.version.subarray(0, 3)].sort());
    expect(batch.to).toBe(engine.seen(0, OWN_ORIGIN));
    expect(batchSince(engine, 0, OWN_ORIGIN, batch.version[1], new Batch()).count).toBe(1);
  });

  test('stays within its limits, and its parts together are the whole', () => {
    const { engine } = makeNode(1);
    for (let index = 0; index < 20; index++) add(engine, `key:${index}`, 1n);
    const byCount = partsOf(engine, OWN_ORIGIN, 0, { components: 7, keyBytes: 1_000_000 });
    expect(byCount.map((part) => part.count)).toEqual([7, 7, 6]);
    const byBytes = partsOf(engine, OWN_ORIGIN, 0, { components: 1000, keyBytes: 10 });
    expect(byBytes.reduce((sum, part) => sum + part.count, 0)).toBe(20);
    expect(byBytes.every((part) => part.count <= 2)).toBe(true);
    expect(byBytes.filter((part) => part.to !== 0).length).toBe(1);
  });

  test('a component that changes while the walk goes on is in a later part', () => {
    const from = makeNode(1);
    const to = makeNode(2);
    for (const key of ['a', 'b', 'c']) add(from.engine, key, 1n);
    const first = batchSince(from.engine, 0, OWN_ORIGIN, 0, new Batch(), ONE_EACH);
    add(from.engine, 'a', 10n);
    const second = batchSince(from.engine, 0, OWN_ORIGIN, first.reached, new Batch(), undefined, 0);
    for (const part of [first, second]) to.merge.apply(part);
    expect(['a', 'b', 'c'].map((key) => read(to.engine, key).value)).toEqual([11n, 1n, 1n]);
    expect(to.engine.seen(0, 1)).toBe(from.engine.seen(0, OWN_ORIGIN));
  });

  test('of a relay ends with the watermark it has passed: a part without its walk is no cut to pass on', () => {
    const origin = makeNode(1);
    const relay = makeNode(2);
    const receiver = makeNode(3);
    for (const key of ['a', 'b']) add(origin.engine, key, 1n);
    send(origin, relay);
    for (const key of ['c', 'd', 'e']) add(origin.engine, key, 1n);
    const parts = partsOf(origin.engine, OWN_ORIGIN, relay.engine.seen(0, 1), ONE_EACH);
    for (const part of parts.slice(1)) relay.merge.apply(part);
    const first = batchSince(relay.engine, 0, 1, 0, new Batch(), { components: 3, keyBytes: 1000 });
    receiver.merge.apply(first);
    send(origin, relay);
    receiver.merge.apply(batchSince(relay.engine, 0, 1, first.reached, new Batch(), undefined, 0, first.passed));
    send(origin, receiver);
    expect(['a', 'b', 'c', 'd', 'e'].map((key) => read(receiver.engine, key).value)).toEqual([1n, 1n, 1n, 1n, 1n]);
  });

  test('of a relay does not end before it has sent the components that replaced those below its watermark', () => {
    const [origin, relay, receiver] = [makeNode(1), makeNode(2), makeNode(3)];
    for (const key of ['a', 'b']) add(origin.engine, key, 1n);
    send(origin, relay);
    for (const key of ['c', 'a']) add(origin.engine, key, 1n);
    const parts = partsOf(origin.engine, OWN_ORIGIN, relay.engine.seen(0, 1), ONE_EACH);
    for (const part of parts.slice(1)) relay.merge.apply(part);
    const [first, ...rest] = partsOf(relay.engine, 1, 0, ONE_EACH);
    receiver.merge.apply(first);
    expect(receiver.engine.seen(0, 1)).toBe(0);
    for (const part of rest) receiver.merge.apply(part);
    expect(receiver.engine.seen(0, 1)).toBe(relay.engine.seen(0, 1));
    expect(read(receiver.engine, 'a').value).toBe(2n);
  });
});

test('the components of some keys come oldest first, without keys that are not held', () => {
  const { engine } = makeNode(1);
  const bytes = (key: string) => Uint8Array.from(Buffer.from(key));
  for (const key of ['late', 'early', 'later']) add(engine, key, 1n);
  add(engine, 'late', 1n);
  const keys = ['later', 'late', 'never', 'early'].map(bytes);
  const batch = batchOfKeys(engine, 0, 0, keys, Number.POSITIVE_INFINITY, new Batch());
  const found = Array.from({ length: batch.count }, (_, index) =>
    Buffer.from(batch.keyBytes.slice(batch.keyStart(index), batch.keyEnd[index])).toString(),
  );
  expect(found).toEqual(['early', 'later', 'late']);
});
