import fastCheck from 'fast-check';
import { expect, test } from 'vitest';
import { ReplyCounter } from './reply-counter.js';

const samples: readonly (readonly [string, string, number])[] = [
  ['integers', ':1\r\n:-20\r\n:9223372036854775807\r\n', 3],
  ['simple strings', '+OK\r\n+QUEUED\r\n', 2],
  ['bulk strings', '$3\r\n123\r\n$0\r\n\r\n$-1\r\n', 3],
  ['bulk strings that look like replies', '$9\r\n:1\r\n$-1\r\n\r\n+OK\r\n', 2],
  ['an array', '*3\r\n$1\r\n1\r\n$-1\r\n:5\r\n', 1],
  ['empty and missing arrays', '*0\r\n*-1\r\n', 2],
  ['nested arrays', '*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n+OK\r\n:1\r\n', 2],
  ['a transaction', '+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:5\r\n:1\r\n', 4],
];

test.each(samples)('counts %s, wherever the stream is cut', (_, text, expected) => {
  const bytes = Buffer.from(text);
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const counter = new ReplyCounter();
      const parts = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      const counted = parts.reduce((sum, part) => sum + counter.count(part, part.length), 0);
      expect(counted, `cut at ${first} and ${second}`).toBe(expected);
    }
  }
});

test('a reply counts when its last byte is here, not before', () => {
  for (const [, text] of samples) {
    const bytes = Buffer.from(text);
    const counter = new ReplyCounter();
    const withoutLast = counter.count(bytes, bytes.length - 1);
    expect(counter.count(bytes.subarray(-1), 1)).toBe(1);
    expect(withoutLast + 1).toBe(samples.find((sample) => sample[1] === text)![2]);
  }
});

test('random streams in random pieces are counted exactly', () => {
  const value = fastCheck.letrec((tie) => ({
    value: fastCheck.oneof(
      { maxDepth: 3 },
      fastCheck.integer().map((number) => `:${number}\r\n`),
      fastCheck.string({ maxLength: 20 }).map((text) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`),
      fastCheck.constantFrom('$-1\r\n', '*-1\r\n', '+OK\r\n'),
      fastCheck.array(tie('value'), { maxLength: 4 }).map((values) => `*${values.length}\r\n${values.join('')}`),
    ),
  })).value as fastCheck.Arbitrary<string>;
  fastCheck.assert(
    fastCheck.property(fastCheck.array(value), fastCheck.array(fastCheck.nat(40)), (replies, sizes) => {
      const counter = new ReplyCounter();
      let rest = Buffer.from(replies.join(''));
      let counted = 0;
      for (const size of [...sizes, rest.length]) {
        const part = rest.subarray(0, size);
        rest = rest.subarray(part.length);
        counted += counter.count(part, part.length);
      }
      counted += counter.count(rest, rest.length);
      expect(counted).toBe(replies.length);
    }),
  );
});

test('errors are counted, also inside arrays, and the text of the first is kept', () => {
  const counter = new ReplyCounter();
  const bytes = Buffer.from('-OOM no more memory\r\n*2\r\n:1\r\n-ERR other\r\n');
  expect(counter.count(bytes, bytes.length)).toBe(2);
  expect(counter.errors).toBe(2);
  expect(counter.firstError).toBe('OOM no more memory');
});

test('bytes that are no RESP2 reply are refused', () => {
  expect(() => new ReplyCounter().count(Buffer.from('HTTP/1.1'), 8)).toThrow('no RESP2 reply');
});

test('bytes behind the given length are not looked at', () => {
  const counter = new ReplyCounter();
  expect(counter.count(Buffer.from(':1\r\n:2\r\n'), 4)).toBe(1);
});
