import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dataOf, EventSplitter, joined, MAXIMUM_EVENT_BYTES, type StreamedEvent } from './event-splitter.js';

const bytes = (text: string) => new TextEncoder().encode(text);
const text = ({ bytes: given }: StreamedEvent) => new TextDecoder().decode(given);

/** The events of a stream that arrives in pieces of these lengths. */
function split(stream: Uint8Array, lengths: readonly number[]): StreamedEvent[] {
  const splitter = new EventSplitter();
  const events: StreamedEvent[] = [];
  let at = 0;
  for (const length of [...lengths, stream.length]) {
    events.push(...splitter.push(stream.subarray(at, at + length)));
    at = Math.min(at + length, stream.length);
  }
  const rest = splitter.end();
  return rest === undefined ? events : [...events, rest];
}

test('events are the same however their bytes arrive, and no byte is lost', () => {
  const event = fc.constantFrom(
    'data: {"a":1}\n\n',
    'data: [DONE]\n\n',
    ': wait\n\n',
    'data: ä\r\n\r\n',
    'id: 1\ndata: x\n\n',
  );
  fc.assert(
    fc.property(fc.array(event), fc.array(fc.integer({ min: 0, max: 9 })), (events, lengths) => {
      expect(split(bytes(events.join('')), lengths).map(text)).toEqual(events);
    }),
  );
});

test('an event that broke off is passed on as it is, and is not whole', () => {
  const events = split(bytes('data: 1\n\ndata: {"us'), []);
  expect(events.map(({ isWhole }) => isWhole)).toEqual([true, false]);
  expect(events.map(text)).toEqual(['data: 1\n\n', 'data: {"us']);
});

test('an event beyond the bound is passed on in pieces, unread, and the next one is whole again', () => {
  const long = bytes(`data: ${'x'.repeat(MAXIMUM_EVENT_BYTES)}`);
  const splitter = new EventSplitter();
  const events = [...splitter.push(long), ...splitter.push(bytes('yz\n\ndata: 2\n\n'))];
  expect(events.map(({ isWhole }) => isWhole)).toEqual([false, false, true]);
  const parts = events.map(({ bytes: part }) => part);
  expect(
    joined(
      parts,
      parts.reduce((sum, part) => sum + part.length, 0),
    ).length,
  ).toBe(long.length + 13);
});

test('the data of an event is its JSON, over several lines too; everything else is none', () => {
  expect(dataOf(bytes('event: x\ndata: {"a":\r\ndata: 1}\n\n'))).toEqual({ a: 1 });
  expect(dataOf(bytes('data: [DONE]\n\n'))).toBeUndefined();
  expect(dataOf(bytes(': comment\n\n'))).toBeUndefined();
});
