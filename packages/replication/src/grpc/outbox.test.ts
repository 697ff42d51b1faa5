import { MAXIMUM_FRAME_BYTES } from '@quotadb/wire';
import { expect, test } from 'vitest';
import { MessageReader } from './message-reader.js';
import { GATHERED_BYTES, Outbox, type Piece } from './outbox.js';

test('the messages taken are those appended, in order, of any length', () => {
  const lengths = [
    0,
    1,
    5,
    GATHERED_BYTES - 5,
    3,
    GATHERED_BYTES,
    7 * GATHERED_BYTES,
    20_000,
    20_000,
    20_000,
    20_000,
    1,
  ];
  const messages = lengths.map((length, index) => new Uint8Array(length).fill(index + 1));
  const outbox = new Outbox();
  const taken: Buffer[] = [];
  for (const message of messages) {
    if (outbox.append(message)) continue;
    taken.push(outbox.take().bytes);
    expect(outbox.append(message)).toBe(true);
  }
  taken.push(outbox.take().bytes);
  expect(outbox.length).toBe(0);
  const read: Uint8Array[] = [];
  const reader = new MessageReader((message) => read.push(message.slice()));
  // Only now: what was taken must not have been written over since.
  for (const bytes of taken) reader.push(bytes);
  expect(read.map(({ length }) => length)).toEqual(lengths);
  expect(read.every((message, index) => Buffer.compare(message, messages[index]!) === 0)).toBe(true);
});

test('small messages go together', () => {
  const outbox = new Outbox();
  for (let index = 0; index < 100; index++) expect(outbox.append(new Uint8Array(100))).toBe(true);
  expect(outbox.take().bytes.length).toBe(100 * 105);
});

test('bytes are written over when all of their buffer was given back, and not before', () => {
  const outbox = new Outbox();
  const send = (value: number) => {
    expect(outbox.append(new Uint8Array(GATHERED_BYTES - 5).fill(value))).toBe(true);
    return outbox.take();
  };
  const buffersOf = (pieces: readonly Piece[]) => new Set(pieces.map(({ bytes }) => bytes.buffer));
  const sent = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(send);
  expect(buffersOf(sent).size).toBe(3);
  for (const piece of sent.slice(1, 4)) outbox.giveBack(piece);
  const later = [10, 11, 12, 13].map(send);
  expect([...sent, ...later].map(({ bytes }) => bytes[5])).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  outbox.giveBack(sent[0]!);
  const last = [14, 15, 16, 17].map(send);
  expect(buffersOf([...sent, ...later, ...last]).size).toBe(4);
  expect(sent.slice(4).map(({ bytes }) => bytes[5])).toEqual([5, 6, 7, 8, 9]);
});

test('what waits to be taken is kept when the last piece comes back', () => {
  const outbox = new Outbox();
  outbox.append(new Uint8Array(10).fill(1));
  const piece = outbox.take();
  outbox.append(new Uint8Array(10).fill(2));
  outbox.giveBack(piece);
  outbox.append(new Uint8Array(10).fill(3));
  const { bytes } = outbox.take();
  expect([bytes[5], bytes[20]]).toEqual([2, 3]);
  expect(piece.bytes[5]).toBe(1);
});

test('a message that no peer would take is not sent', () => {
  expect(() => new Outbox().append(new Uint8Array(MAXIMUM_FRAME_BYTES + 1))).toThrow(/too long/);
});
