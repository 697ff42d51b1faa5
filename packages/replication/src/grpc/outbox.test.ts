import { MAXIMUM_FRAME_BYTES } from '@quotadb/wire';
import { expect, test } from 'vitest';
import { MessageReader } from './message-reader.js';
import { GATHERED_BYTES, Outbox } from './outbox.js';

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
    taken.push(outbox.take());
    expect(outbox.append(message)).toBe(true);
  }
  taken.push(outbox.take());
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
  expect(outbox.take().length).toBe(100 * 105);
});

test('a message that no peer would take is not sent', () => {
  expect(() => new Outbox().append(new Uint8Array(MAXIMUM_FRAME_BYTES + 1))).toThrow(/too long/);
});
