import { MAXIMUM_FRAME_BYTES } from '@quotadb/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MessageError, MessageReader } from './message-reader.js';
import { Outbox } from './outbox.js';

function withPrefix(message: Uint8Array): Uint8Array {
  const outbox = new Outbox();
  outbox.append(message);
  return outbox.take().bytes;
}

function readAll(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const messages: Uint8Array[] = [];
  const reader = new MessageReader((message) => messages.push(message));
  let from = 0;
  for (const to of [...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]) {
    reader.push(bytes.subarray(from, to));
    from = to;
  }
  expect(reader.isInsideMessage).toBe(false);
  return messages;
}

test('messages come whole, however they are split and joined on the way', () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 });
  fc.assert(
    fc.property(messages, fc.array(fc.nat(), { maxLength: 40 }), (sent, cuts) => {
      expect(readAll(Buffer.concat(sent.map(withPrefix)), cuts).map((message) => [...message])).toEqual(
        sent.map((message) => [...message]),
      );
    }),
  );
});

test('a message of the greatest length comes whole, in chunks of any size', () => {
  const message = new Uint8Array(MAXIMUM_FRAME_BYTES).map((_, at) => at % 251);
  const bytes = withPrefix(message);
  for (const size of [bytes.length, 16384, 65536 * 3 + 1]) {
    const cuts: number[] = [];
    for (let at = size; at < bytes.length; at += size) cuts.push(at);
    const [read] = readAll(bytes, cuts);
    expect(Buffer.compare(read, message)).toBe(0);
  }
});

test('a length that is too long is refused when it is read, and nothing is held for it', () => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(MAXIMUM_FRAME_BYTES + 1, 1);
  expect(() => new MessageReader(() => {}).push(prefix)).toThrow(MessageError);
  prefix.writeUInt32BE(0xffffffff, 1);
  expect(() => new MessageReader(() => {}).push(prefix)).toThrow(/4294967295 bytes: at most 4194304/);
});

test('a compressed message is refused', () => {
  expect(() => new MessageReader(() => {}).push(Uint8Array.of(1, 0, 0, 0, 0))).toThrow(/compression is not supported/);
});

test('a reader that was stopped inside a chunk gives out nothing more of it', () => {
  const messages: Uint8Array[] = [];
  const reader = new MessageReader((message) => {
    messages.push(message);
    reader.stop();
  });
  reader.push(Buffer.concat([Uint8Array.of(1), Uint8Array.of(2)].map(withPrefix)));
  expect(messages).toEqual([Buffer.of(1)]);
});
