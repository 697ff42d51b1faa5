import { ByteInput } from '@quotadb/engine';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Backlog } from './backlog.js';

test('appended bytes come out in order, after any consumption in between', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.uint8Array({ maxLength: 600 }), fc.nat({ max: 700 }))), (steps) => {
      const backlog = new Backlog();
      let expected = Buffer.alloc(0);
      for (const [bytes, used] of steps) {
        backlog.append(bytes);
        expected = Buffer.concat([expected, bytes]);
        expect(backlog.input.bytes.length).toBeGreaterThanOrEqual(backlog.end + ByteInput.SLACK_BYTES);
        const taken = Math.min(used, backlog.length);
        backlog.consumeTo(backlog.start + taken);
        expected = expected.subarray(taken);
        expect(Buffer.from(backlog.input.bytes.subarray(backlog.start, backlog.end)).equals(expected)).toBe(true);
      }
    }),
  );
});

test('a large buffer is given back as soon as it is empty', () => {
  const backlog = new Backlog();
  backlog.append(new Uint8Array(1024 * 1024));
  backlog.consumeTo(backlog.end);
  expect(backlog.length).toBe(0);
  expect(backlog.input.bytes.length).toBeLessThanOrEqual(Backlog.KEPT_BYTES);
});

test('a long command that arrives in pieces is not copied over and over', () => {
  const backlog = new Backlog();
  const buffers = new Set<ByteInput>();
  for (let piece = 0; piece < 1000; piece++) {
    backlog.append(new Uint8Array(1000));
    buffers.add(backlog.input);
  }
  expect(buffers.size).toBeLessThan(15);
});
