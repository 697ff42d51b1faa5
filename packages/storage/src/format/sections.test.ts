import { Batch } from '@quotadb/engine';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { writeBatch } from '../testing/write-batch.js';
import { ByteReader, ByteWriter } from './bytes.js';
import { readBatchHeader, readComponents, readDropped, Section, writeDropped } from './sections.js';

const version = fc.integer({ min: 1, max: 2 ** 52 });
const amount = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const origin = fc.uint8Array({ minLength: 32, maxLength: 32 });
const component = fc.record({
  key: fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    // Keys that begin alike, and keys that are the beginning of others.
    fc.array(fc.constantFrom(7, 8), { maxLength: 20 }).map((bytes) => Uint8Array.from(bytes)),
  ),
  step: fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 2 ** 44 })),
  age: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 ** 44 })),
  present: fc.boolean(),
  positive: fc.oneof(fc.bigInt({ min: 0n, max: 300n }), amount),
  negative: fc.oneof(fc.constant(0n), amount),
  decided: fc.oneof(fc.constant(0), version),
  floorMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2 ** 45 })),
  cancels: fc.array(fc.record({ origin, born: version, positive: amount, negative: amount }), { maxLength: 3 }),
});

test('a batch comes out of its bytes as it went in', () => {
  fc.assert(
    fc.property(fc.array(component, { maxLength: 100 }), fc.boolean(), origin, (components, isOwn, from) => {
      const batch = new Batch();
      batch.origin = from;
      batch.shardIndex = 513;
      batch.to = 2 ** 52 + 1;
      let last = 2 ** 44;
      for (const { key, step, age, present, positive, negative, decided, floorMs, cancels } of components) {
        batch.reserve(key.length);
        const index = batch.count;
        batch.keyBytes.set(key, batch.keyStart(index));
        batch.keyEnd[index] = batch.keyStart(index) + key.length;
        last += step;
        batch.version[index] = last;
        batch.born[index] = last - age;
        batch.present[index] = present ? 1 : 0;
        batch.positiveHigh[index] = Number(BigInt.asIntN(32, positive >> 32n));
        batch.positiveLow[index] = Number(BigInt.asIntN(32, positive));
        batch.negativeHigh[index] = Number(BigInt.asIntN(32, negative >> 32n));
        batch.negativeLow[index] = Number(BigInt.asIntN(32, negative));
        batch.decided[index] = decided;
        batch.expiresAtMs[index] = decided === 0 ? 0 : decided + 1;
        batch.floorMs[index] = floorMs;
        batch.cancels.push(...cancels);
        batch.cancelEnd[index] = batch.cancels.length;
        batch.count++;
      }
      const writer = new ByteWriter(16);
      writeBatch(writer, batch, isOwn);
      const reader = new ByteReader(writer.bytes.subarray(0, writer.length));
      expect(reader.byte()).toBe(isOwn ? Section.own : Section.other);
      const read = new Batch();
      readBatchHeader(reader, read, isOwn, from);
      readComponents(reader, read);
      expect(reader.isAtEnd).toBe(true);
      expect(columnsOf(read)).toEqual(columnsOf(batch));
    }),
  );
});

function columnsOf(batch: Batch): object {
  const { count, shardIndex, to, cancels } = batch;
  return {
    count,
    shardIndex,
    to,
    cancels,
    origin: Array.from(batch.origin),
    keys: Array.from(batch.keyBytes.subarray(0, batch.bytes)),
    columns: [
      batch.keyEnd,
      batch.version,
      batch.born,
      batch.present,
      batch.positiveHigh,
      batch.positiveLow,
      batch.negativeHigh,
      batch.negativeLow,
      batch.expiresAtMs,
      batch.decided,
      batch.floorMs,
      batch.cancelEnd,
    ].map((column) => Array.from(column.subarray(0, count))),
  };
}

test('so does a note of what was let go', () => {
  const dropped = { origin: new Uint8Array(32).fill(7), version: 2 ** 52 + 3, key: Uint8Array.of(1, 2, 3) };
  const writer = new ByteWriter(16);
  writeDropped(writer, dropped);
  const reader = new ByteReader(writer.bytes.subarray(0, writer.length));
  expect(reader.byte()).toBe(Section.dropped);
  expect(readDropped(reader)).toEqual(dropped);
});
