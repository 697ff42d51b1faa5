import { expect, test } from 'vitest';
import { encodeBursts, KEY, KEY_BYTES, keyText, MAX_KEYS, SAME_KEY, writeKeys } from './request.js';

function sequenceOf(...keys: number[]): () => number {
  return () => keys.shift()!;
}

test('keys of every number are 42 bytes long', () => {
  expect(KEY_BYTES).toBe(42);
  for (const key of [0, 9, 1_000_000, MAX_KEYS - 1]) expect(keyText(key)).toHaveLength(KEY_BYTES);
});

test('a burst is as many requests as the pipeline is deep, in RESP, with the keys that were drawn', () => {
  const [burst] = encodeBursts([[['INCR', KEY]]], 2);
  writeKeys(burst!, sequenceOf(7, 12_345_678));
  expect(burst!.bytes.toString()).toBe(
    `*2\r\n$4\r\nINCR\r\n$42\r\n${keyText(7)}\r\n*2\r\n$4\r\nINCR\r\n$42\r\n${keyText(12_345_678)}\r\n`,
  );
  expect(burst!.operations).toBe(2);
  expect(burst!.replies).toBe(2);
});

test.each([0, 1, 9_999, 10_000, 10_001, 999_999, MAX_KEYS - 1])('key %d is written over any key before it', (key) => {
  const [burst] = encodeBursts([[['GET', KEY]]], 1);
  writeKeys(burst!, sequenceOf(98_765_432));
  writeKeys(burst!, sequenceOf(key));
  expect(burst!.bytes.toString()).toBe(`*2\r\n$3\r\nGET\r\n$42\r\n${keyText(key)}\r\n`);
});

test('a transaction is one operation of several commands on the same key', () => {
  const [burst] = encodeBursts([[['MULTI'], ['INCR', KEY], ['EXPIRE', SAME_KEY, '60', 'NX'], ['EXEC']]], 2);
  writeKeys(burst!, sequenceOf(1, 2));
  expect(burst!.operations).toBe(2);
  expect(burst!.replies).toBe(8);
  const keys = burst!.bytes.toString().match(/bench:counter:\S+/g);
  expect(keys).toEqual([keyText(1), keyText(1), keyText(2), keyText(2)]);
});

test('a command of several keys draws each of them', () => {
  const [burst] = encodeBursts([[['MGET', KEY, KEY, KEY]]], 1);
  writeKeys(burst!, sequenceOf(3, 4, 5));
  expect(burst!.bytes.toString().match(/bench:counter:\S+/g)).toEqual([keyText(3), keyText(4), keyText(5)]);
});

test.each([1, 2, 5, 16, 64])('a pattern goes on unbroken over bursts of %d', (pipeline) => {
  const pattern = [[['INCR', KEY]], [['INCR', KEY]], [['GET', KEY]], [['INCR', KEY]], [['INCR', KEY]]];
  const bursts = encodeBursts(pattern, pipeline);
  const sent = bursts.flatMap((burst) => burst.bytes.toString().match(/INCR|GET/g)!);
  expect(sent.length % pattern.length).toBe(0);
  expect(sent).toEqual(sent.map((_, index) => pattern[index % pattern.length]![0]![0]));
});
