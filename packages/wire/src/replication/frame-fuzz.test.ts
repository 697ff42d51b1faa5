import { Batch } from '@quotadb/engine';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAXIMUM_COMPONENTS } from './bounds.js';
import { decodeFrame, encodeFrame } from './frame-codec.js';
import { FrameError, FrameKind } from './frames.js';
import { arbitraryFrame } from './testing/arbitrary-frames.js';

const into = new Batch();

/** A frame, or a FrameError; anything else is a mistake. */
function tryToDecode(bytes: Uint8Array): boolean {
  try {
    const frame = decodeFrame(bytes, into);
    if (frame.kind === FrameKind.batch) expect(into.keyStart(into.count)).toBeLessThanOrEqual(bytes.length);
    return true;
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    return false;
  }
}

test('a frame that was cut off anywhere is refused', () => {
  fc.assert(
    fc.property(arbitraryFrame, fc.maxSafeNat(), (frame, at) => {
      const bytes = encodeFrame(frame);
      expect(tryToDecode(bytes.subarray(0, at % bytes.length))).toBe(false);
    }),
  );
});

test('a damaged frame is a frame or a FrameError', () => {
  const damage = fc.array(fc.tuple(fc.maxSafeNat(), fc.nat(3), fc.nat(255)), { minLength: 1, maxLength: 4 });
  const damaged = fc.tuple(arbitraryFrame, damage).map(([frame, changes]) => {
    const bytes = [...encodeFrame(frame).subarray(0, 3000)];
    for (const [place, what, value] of changes) {
      // Lengths and tags stand at the beginning: most of the damage goes there.
      const at = place % 2 === 0 ? place % Math.min(bytes.length, 64) : place % bytes.length;
      if (what === 0) bytes[at] = value;
      else if (what === 1) bytes[at] ^= 1 << (value % 8);
      else if (what === 2) bytes.splice(at, 1 + (value % 4));
      else bytes.splice(at, 0, value, value);
      if (bytes.length === 0) bytes.push(value);
    }
    return Uint8Array.from(bytes);
  });
  fc.assert(
    fc.property(damaged, (bytes) => void tryToDecode(bytes)),
    { numRuns: 3000 },
  );
});

test('random bytes are a frame or a FrameError', () => {
  const anything = fc.uint8Array({ maxLength: 200 });
  const inside = fc.tuple(fc.constantFrom(...Object.values(FrameKind)), anything).map(([kind, bytes]) => {
    return Uint8Array.from([
      (kind << 3) | 2,
      ...(bytes.length > 127 ? [(bytes.length & 127) | 128, 1] : [bytes.length]),
      ...bytes,
    ]);
  });
  fc.assert(
    fc.property(fc.oneof(anything, inside), (bytes) => void tryToDecode(bytes)),
    { numRuns: 10_000 },
  );
});

test('a frame full of the shortest entries takes a bounded amount of memory', () => {
  const bound = 32 * 2 ** 20;
  for (const kind of Object.values(FrameKind)) {
    for (let field = 1; field <= 26; field++) {
      for (const bytes of [oneLongField(kind, field), manyEmptyFields(kind, field)]) {
        const before = process.memoryUsage();
        tryToDecode(bytes);
        const after = process.memoryUsage();
        expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(bound);
      }
    }
  }
  expect(into.version.length).toBeLessThanOrEqual(MAXIMUM_COMPONENTS);
});

const FULL = 256 * 1024;

/** A column of zeros, a byte each. */
function oneLongField(kind: FrameKind, field: number): Uint8Array {
  const body = new Uint8Array(FULL);
  return around(kind, Buffer.concat([tag(field), length(body.length), body]));
}

function manyEmptyFields(kind: FrameKind, field: number): Uint8Array {
  const empty = Buffer.concat([tag(field), Uint8Array.of(0)]);
  return around(kind, Buffer.alloc(FULL - (FULL % empty.length), empty));
}

function around(kind: FrameKind, body: Uint8Array): Uint8Array {
  return Buffer.concat([tag(kind), length(body.length), body]);
}

function tag(field: number): Uint8Array {
  return field < 16 ? Uint8Array.of((field << 3) | 2) : Uint8Array.of(((field << 3) & 127) | 2 | 128, field >> 4);
}

function length(bytes: number): Uint8Array {
  return Uint8Array.of((bytes & 127) | 128, ((bytes >> 7) & 127) | 128, ((bytes >> 14) & 127) | 128, bytes >> 21);
}
