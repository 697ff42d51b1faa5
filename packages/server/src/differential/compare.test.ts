import { ReplyReader } from '@quotadb/client/resp';
import { expect, test } from 'vitest';
import { type Frame, frameBuilder } from '../testing/index.js';
import { ReplyComparer } from './compare.js';
import type { Words } from './words.js';

function frame(text: string): Frame {
  const found: Frame[] = [];
  new ReplyReader(frameBuilder, (reply) => found.push(reply)).receive(Buffer.from(text, 'latin1'));
  expect(found.map(({ wire }) => wire)).toEqual([text]);
  return found[0];
}

function isSame(command: Words, redis: string, ours: string): boolean {
  return new ReplyComparer().isSame(command, frame(redis), frame(ours));
}

test('a difference in a single byte is seen', () => {
  expect(isSame(['GET', 'a'], '$1\r\n5\r\n', '$1\r\n5\r\n')).toBe(true);
  expect(isSame(['GET', 'a'], '$1\r\n5\r\n', '$1\r\n6\r\n')).toBe(false);
  expect(isSame(['GET', 'a'], '$1\r\n5\r\n', ':5\r\n')).toBe(false);
  expect(isSame(['INCR', 'a'], '-ERR syntax error\r\n', '-ERR Syntax error\r\n')).toBe(false);
});

test('times may differ a little, the absence of one may not', () => {
  expect(isSame(['TTL', 'a'], ':100000\r\n', ':99999\r\n')).toBe(true);
  expect(isSame(['TTL', 'a'], ':100000\r\n', ':90000\r\n')).toBe(false);
  expect(isSame(['PTTL', 'a'], ':5\r\n', ':-1\r\n')).toBe(false);
  expect(isSame(['PTTL', 'a'], ':-1\r\n', ':-2\r\n')).toBe(false);
});

test('keys may come in any order, but have to be the same', () => {
  const [one, other] = ['*2\r\n+a\r\n+b\r\n', '*2\r\n+b\r\n+a\r\n'];
  expect(isSame(['KEYS', '*'], one, other)).toBe(true);
  expect(isSame(['MGET', 'a', 'b'], one, other)).toBe(false);
  expect(isSame(['KEYS', '*'], one, '*2\r\n+b\r\n+b\r\n')).toBe(false);
  expect(isSame(['KEYS', '*'], '*0\r\n', '-ERR\r\n')).toBe(false);
  expect(isSame(['SCAN', '0'], `*2\r\n$1\r\n0\r\n${one}`, `*2\r\n$1\r\n0\r\n${other}`)).toBe(true);
  expect(isSame(['SCAN', '0'], `*2\r\n$1\r\n0\r\n${one}`, `*2\r\n$1\r\n7\r\n${other}`)).toBe(false);
});

test('a random key is a key', () => {
  expect(isSame(['RANDOMKEY'], '$1\r\na\r\n', '$1\r\nb\r\n')).toBe(true);
  expect(isSame(['RANDOMKEY'], '$1\r\na\r\n', '$-1\r\n')).toBe(false);
  expect(isSame(['RANDOMKEY'], '$-1\r\n', '$1\r\na\r\n')).toBe(false);
});

test('inside EXEC each reply is compared as its command asks', () => {
  const comparer = new ReplyComparer();
  const queued = frame('+QUEUED\r\n');
  comparer.isSame(['TTL', 'a'], queued, queued);
  comparer.isSame(['GET', 'a'], queued, queued);
  expect(comparer.isSame(['EXEC'], frame('*2\r\n:100\r\n:5\r\n'), frame('*2\r\n:99\r\n:5\r\n'))).toBe(true);
  comparer.isSame(['TTL', 'a'], queued, queued);
  comparer.isSame(['GET', 'a'], queued, queued);
  expect(comparer.isSame(['EXEC'], frame('*2\r\n:100\r\n:5\r\n'), frame('*2\r\n:100\r\n:6\r\n'))).toBe(false);
});
