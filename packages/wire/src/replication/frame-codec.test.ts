import { Batch } from '@quotadb/engine';
import { describe, expect, test } from 'vitest';
import { decodeFrame, encodeBatch, encodeFrame } from './frame-codec.js';
import { type Frame, FrameError, FrameKind, MAXIMUM_FRAME_BYTES } from './frames.js';
import { fromBatch, originOf, type PlainBatch, type PlainComponent, toBatch } from './testing/components.js';
import { type Plain, plainOf, writeByProtobufjs } from './testing/plain-message.js';

const component: PlainComponent = {
  key: 'visits',
  version: 1000,
  born: 900,
  present: true,
  positive: 5n,
  negative: 2n,
  expiresAtMs: 1.8e12,
  decided: 950,
  floorMs: 3,
  cancels: [{ origin: 4, born: 8, positive: 1n, negative: 0n }],
};
const plain: PlainBatch = {
  shard: 3,
  origin: 1,
  walk: 1,
  start: 10,
  from: 10,
  reached: 1001,
  to: 1002,
  components: [component, { ...component, key: 'hits', version: 1001 }],
};
const frame: Frame = { kind: FrameKind.batch, batch: toBatch(plain) };

/** The batch above with some fields of replication.proto changed. */
function withFields(fields: Plain): Uint8Array {
  return writeByProtobufjs({ batch: { ...(plainOf(frame).batch as Plain), ...fields } });
}

describe('encoding', () => {
  test('a batch alone is the same as a frame with a batch', () => {
    expect(encodeBatch(toBatch(plain))).toEqual(encodeFrame(frame));
  });

  test('what was encoded stays as it is while others are encoded', () => {
    const bytes = encodeFrame(frame);
    const copy = Uint8Array.from(bytes);
    for (let times = 0; times < 1000; times++)
      encodeFrame({ kind: FrameKind.refusal, code: 'x'.repeat(1000), message: 'y'.repeat(1000) });
    expect(bytes).toEqual(copy);
  });

  test('a hot key costs a few bytes however often it changed', () => {
    const hot = { ...component, negative: 0n, decided: 0, expiresAtMs: 0, floorMs: 0, cancels: [] };
    const size = (positive: bigint) => encodeBatch(toBatch({ ...plain, components: [{ ...hot, positive }] })).length;
    expect(size(1_000_000n)).toBe(size(1n) + 2);
  });

  const origin = originOf(1);
  const seen = {
    kind: FrameKind.seen,
    origin,
    ageMs: 0,
    isWhole: true,
    afterToken: 0,
    isKept: false,
    boot: 0,
    bootAgeMs: 0,
  } as const;
  const inventory = { kind: FrameKind.inventory, origin, shard: 1, version: 1, wantsAnswer: true } as const;
  test.each<[string, Frame]>([
    ['a version that is no whole number', { ...seen, shards: [1], versions: [1.5] }],
    ['a version that is negative', { ...seen, shards: [1], versions: [-1] }],
    ['a version past 2^53', { ...seen, shards: [1], versions: [2 ** 53] }],
    ['a shard past 16 bits', { ...seen, shards: [65536], versions: [1] }],
    ['columns of unequal length', { ...seen, shards: [1, 2], versions: [1] }],
    ['an age that is no number', { ...seen, ageMs: Number.NaN, shards: [], versions: [] }],
    ['a short origin', { ...seen, origin: new Uint8Array(31), shards: [], versions: [] }],
    [
      'a digest with a sign',
      {
        kind: FrameKind.digests,
        origin,
        shards: [1],
        versions: [1],
        digests: ['-00000000000000f'],
        question: 0,
        isAnswer: false,
      },
    ],
    ['three ranges', { kind: FrameKind.ranges, origin, shard: 1, version: 1, digests: new Int32Array(3) }],
    ['a range that is not there', { ...inventory, rangeCount: 4, range: 4, keys: [], versions: [] }],
    ['a key that is too long', { ...inventory, rangeCount: 4, range: 1, keys: [new Uint8Array(65537)], versions: [1] }],
    [
      'versions that descend',
      { kind: FrameKind.batch, batch: toBatch({ ...plain, components: plain.components.toReversed() }) },
    ],
    [
      'a generation born after its last change',
      { kind: FrameKind.batch, batch: toBatch({ ...plain, components: [{ ...component, born: 1001 }] }) },
    ],
    ['a text that is too long', { kind: FrameKind.refusal, code: 'x', message: 'x'.repeat(65537) }],
    [
      'a frame that is too long',
      {
        kind: FrameKind.inventory,
        origin,
        shard: 1,
        version: 1,
        rangeCount: 1,
        range: 0,
        wantsAnswer: false,
        keys: Array(65).fill(new Uint8Array(65536)),
        versions: Array(65).fill(1),
      },
    ],
  ])('%s is refused', (_, bad) => {
    expect(() => encodeFrame(bad)).toThrow(FrameError);
  });
});

describe('decoding', () => {
  test('nothing in a frame refers to the bytes it came from', () => {
    const bytes = encodeFrame(frame);
    const decoded = decodeFrame(bytes);
    bytes.fill(0xff);
    expect(decoded.kind === FrameKind.batch && fromBatch(decoded.batch)).toEqual(plain);
  });

  test('the origin in a batch that is used again is not written over: it may be in use elsewhere', () => {
    const batch = toBatch(plain);
    const before = batch.origin;
    decodeFrame(encodeBatch(toBatch({ ...plain, origin: 7 })), batch);
    expect(before).toEqual(originOf(1));
    expect(batch.origin).toEqual(originOf(7));
  });

  test('a field that a later version added is skipped', () => {
    const extra = [
      [0x82, 1, 2, 1, 2], // 16, bytes
      [0x80, 1, 0xff, 1], // 16, varint
      [0x81, 1, 1, 2, 3, 4, 5, 6, 7, 8], // 16, fixed64
      [0x85, 1, 1, 2, 3, 4], // 16, fixed32
    ].flat();
    const ping = [...encodeFrame({ kind: FrameKind.ping, token: 5 }).subarray(2)];
    const longer = Uint8Array.from([0x32, ping.length + extra.length, ...extra, ...ping, ...extra]);
    longer[1] = longer.length - 2;
    expect(decodeFrame(longer)).toEqual({ kind: FrameKind.ping, token: 5 });
    expect(decodeFrame(Uint8Array.from([...extra, 0x32, ping.length, ...ping]))).toEqual({
      kind: FrameKind.ping,
      token: 5,
    });
  });

  test.each<[string, Uint8Array, RegExp]>([
    ['no bytes at all', new Uint8Array(0), /unknown kind/],
    ['an unknown kind', Uint8Array.from([0x82, 1, 0]), /unknown kind/],
    ['two frames in one', Uint8Array.from([0x32, 2, 8, 1, 0x32, 2, 8, 1]), /two messages/],
    ['a length that does not fit', Uint8Array.from([0x32, 200, 8, 1]), /ends too early|are there/],
    ['field 0', Uint8Array.from([0x32, 2, 0, 1]), /no field 0/],
    ['a group', Uint8Array.from([0x32, 2, 0x7b, 0x7c]), /not in use/],
    ['another wire type', Uint8Array.from([0x32, 5, 0x0d, 1, 2, 3, 4]), /wire type 5 instead of 0/],
    ['a number of 11 bytes', Uint8Array.from([0x32, 12, 8, ...Array(10).fill(0x80), 0]), /too long/],
    ['a number of 65 bits', Uint8Array.from([0x22, 11, 0x60, ...Array(9).fill(0xff), 2]), /too long/],
    ['a number past 2^53', Uint8Array.from([0x32, 9, 8, ...Array(7).fill(0x80), 0x10]), /past 2\^53/],
    ['a frame that is too long', new Uint8Array(MAXIMUM_FRAME_BYTES + 1), /too long/],
    ['text that is not UTF-8', Uint8Array.from([0x12, 3, 0x0a, 1, 0xff]), /UTF-8/],
    ['a time that is no number', Uint8Array.from([0x3a, 9, 0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f]), /finite/],
    ['a batch without an origin', withFields({ origin: [] }), /no origin/],
    ['a batch with a long origin', withFields({ origin: Array(33).fill(1) }), /32 bytes, not 33/],
    ['a shard past 16 bits', withFields({ shard: 65536 }), /the shard is 65536/],
    ['fewer versions than keys', withFields({ versionDeltas: ['1'] }), /1 versions: it should be 2/],
    ['fewer ages than keys', withFields({ ages: [] }), /0 ages/],
    ['more amounts than keys', withFields({ positives: ['1', '2', '3'] }), /3 P/],
    ['lengths for more bytes than there are', withFields({ keyLengths: [6, 5] }), /lengths for 11/],
    ['lengths for fewer bytes than there are', withFields({ keyLengths: [6, 3] }), /lengths for 9/],
    ['a key that is too long', withFields({ keyLengths: [65537, 0], keys: Array(65537).fill(1) }), /65537 bytes/],
    ['a place past the end', withFields({ absentAt: [2] }), /no component 2/],
    ['places without values', withFields({ negativeAt: [0, 1], negatives: ['1'] }), /1 N: it should be 2/],
    ['expiries without their versions', withFields({ decided: ['1'] }), /1 versions of expiries/],
    ['a generation older than version 0', withFields({ ages: ['1001', '0'] }), /older than version 0/],
    ['versions that add up past 2^53', withFields({ versionDeltas: ['9007199254740991', '1'] }), /past 2\^53/],
    ['a cancel of an origin that is not listed', withFields({ cancelOrigin: [1, 0] }), /not listed/],
    ['a cancelled origin of one byte', withFields({ cancelledOrigins: [[1]] }), /32 bytes, not 1/],
  ])('%s is refused', (_, bytes, message) => {
    const into = new Batch();
    expect(() => decodeFrame(bytes, into)).toThrow(FrameError);
    expect(() => decodeFrame(bytes)).toThrow(message);
    expect(into.count).toBe(0);
  });
});
