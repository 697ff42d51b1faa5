import { Batch } from '@quotadb/engine';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeFrame, encodeFrame } from './frame-codec.js';
import { type Frame, FrameKind } from './frames.js';
import { arbitraryFrame } from './testing/arbitrary-frames.js';
import { fromBatch, type PlainComponent, toBatch } from './testing/components.js';
import { frameType, plainOf, readByProtobufjs, writeByProtobufjs } from './testing/plain-message.js';

/** Frames hold what was put in, and a batch is compared by what it says, not by the room it has. */
function comparable(frame: Frame): unknown {
  return frame.kind === FrameKind.batch ? fromBatch(frame.batch) : frame;
}

/** What protobufjs calls the fields that are at their default. */
const defaults = (bytes: Uint8Array) =>
  frameType.toObject(frameType.decode(bytes), { longs: String, bytes: Array, defaults: true });

test('what we write, protobufjs reads as replication.proto says', () => {
  fc.assert(
    fc.property(arbitraryFrame, (frame) => {
      const bytes = encodeFrame(frame);
      const [[name, expected]] = Object.entries(plainOf(frame));
      expect(defaults(bytes)[name]).toEqual(expected);
      expect(Object.keys(readByProtobufjs(bytes))).toEqual([name]);
    }),
  );
});

test('what protobufjs writes, we read as replication.proto says', () => {
  fc.assert(
    fc.property(arbitraryFrame, (frame) => {
      expect(comparable(decodeFrame(writeByProtobufjs(plainOf(frame))))).toEqual(comparable(frame));
    }),
  );
});

test('a frame comes back as it was, also into a batch that held another one', () => {
  const used = new Batch();
  fc.assert(
    fc.property(arbitraryFrame, (frame) => {
      const bytes = encodeFrame(frame);
      expect(comparable(decodeFrame(bytes, used))).toEqual(comparable(frame));
      expect(comparable(decodeFrame(bytes))).toEqual(comparable(frame));
    }),
  );
});

test('columns that come one entry at a time, as protobuf allows, are the same columns', () => {
  const source = frameType.root.lookupType('quotadb.replication.v1.Batch');
  expect(source.fields.versionDeltas.packed).toBe(true);
  const frame: Frame = { kind: FrameKind.batch, batch: toBatch(fullBatch(3)) };
  const packed = plainOf(frame).batch as Record<string, unknown>;
  const fields = Object.values(source.fields).filter((field) => field.repeated && field.type !== 'bytes');
  try {
    for (const field of fields) Object.defineProperty(field, 'packed', { value: false, configurable: true });
    source.setup();
    const unpacked = writeByProtobufjs({ batch: packed });
    expect(unpacked.length).toBeGreaterThan(encodeFrame(frame).length);
    expect(comparable(decodeFrame(unpacked))).toEqual(comparable(frame));
  } finally {
    for (const field of fields) Object.defineProperty(field, 'packed', { value: true, configurable: true });
    source.setup();
  }
});

test('the fullest batch a walk makes, with everything in it, is the same on both sides', () => {
  const frame: Frame = { kind: FrameKind.batch, batch: toBatch(fullBatch(4096)) };
  const bytes = encodeFrame(frame);
  expect(readByProtobufjs(bytes)).toEqual(plainOf(frame));
  expect(comparable(decodeFrame(bytes))).toEqual(comparable(frame));
});

function fullBatch(count: number) {
  const components: PlainComponent[] = [];
  for (let index = 0; index < count; index++) {
    components.push({
      key: `customer:${index}:requests`,
      version: 4e14 + index * 8192,
      born: 4e14 - index,
      present: index % 3 !== 0,
      positive: BigInt.asUintN(64, BigInt(index) * 0x123456789abcdefn),
      negative: BigInt(index % 2) * (2n ** 64n - BigInt(index)),
      expiresAtMs: index % 5 === 0 ? 0 : 1.8e12 + index,
      decided: 1 + index,
      floorMs: index % 7 === 0 ? 1.7e12 : 0,
      cancels: [{ origin: index % 4, born: index, positive: BigInt(index), negative: 2n ** 63n }],
    });
  }
  return { shard: 63, origin: 9, walk: 7, start: 1, from: 1, reached: 4e14 + count * 8192, to: 5e14, components };
}
