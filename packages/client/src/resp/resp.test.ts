import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ReplyError } from '../errors.js';
import { encodeCommand } from './encode.js';
import { type Reply, ReplyParser } from './reply-parser.js';

function parse(bytes: Buffer, cuts: readonly number[] = []): { replies: Reply[]; pushes: Reply[][] } {
  const replies: Reply[] = [];
  const pushes: Reply[][] = [];
  const parser = new ReplyParser(
    (reply) => replies.push(reply),
    (message) => pushes.push(message),
  );
  let from = 0;
  for (const cut of [...cuts.map((value) => value % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    parser.receive(bytes.subarray(from, cut));
    from = cut;
  }
  return { replies, pushes };
}

function text(encoded: ReturnType<typeof encodeCommand>): string {
  return typeof encoded === 'string'
    ? encoded
    : encoded.map((piece) => Buffer.from(piece as string).toString()).join('');
}

/** A reply and its bytes. */
const simple = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => ({
    value: value >= -(2n ** 53n) + 1n && value <= 2n ** 53n - 1n ? Number(value) : value,
    bytes: `:${value}\r\n`,
  })),
  fc.string({ unit: 'grapheme' }).map((value) => ({ value, bytes: `$${Buffer.byteLength(value)}\r\n${value}\r\n` })),
  fc.constantFrom(
    { value: 'OK', bytes: '+OK\r\n' },
    { value: null, bytes: '$-1\r\n' },
    { value: null, bytes: '*-1\r\n' },
    { value: null, bytes: '_\r\n' },
    { value: true, bytes: '#t\r\n' },
    { value: 1.5, bytes: ',1.5\r\n' },
    { value: Number.NEGATIVE_INFINITY, bytes: ',-inf\r\n' },
    { value: 12345678901234567890n, bytes: '(12345678901234567890\r\n' },
    { value: 'some text', bytes: '=13\r\ntxt:some text\r\n' },
    { value: [], bytes: '*0\r\n' },
  ),
);
const { reply } = fc.letrec((tie) => ({
  reply: fc.oneof(
    { depthSize: 'small' },
    simple,
    fc.array(tie('reply') as typeof simple, { maxLength: 4 }).map((items) => ({
      value: items.map((item) => item.value),
      bytes: `*${items.length}\r\n${items.map((item) => item.bytes).join('')}`,
    })),
    fc.array(tie('reply') as typeof simple, { maxLength: 3 }).map((items) => ({
      value: new Map(items.map((item, index) => [`key ${index}`, item.value])),
      bytes: `%${items.length}\r\n${items.map((item, index) => `+key ${index}\r\n${item.bytes}`).join('')}`,
    })),
  ),
})) as { reply: fc.Arbitrary<{ value: Reply; bytes: string }> };

describe('replies', () => {
  test('are what they stand for, in pieces of any size', () => {
    fc.assert(
      fc.property(fc.array(reply, { maxLength: 5 }), fc.array(fc.nat(), { maxLength: 20 }), (items, cuts) => {
        const bytes = Buffer.from(items.map((item) => item.bytes).join(''));
        expect(parse(bytes, cuts).replies).toEqual(items.map((item) => item.value));
      }),
      { numRuns: 500 },
    );
  });

  test('a byte at a time', () => {
    const bytes = Buffer.from('*3\r\n:1\r\n$5\r\nhello\r\n*1\r\n-ERR no\r\n:9223372036854775807\r\n');
    const { replies } = parse(bytes, Array.from(bytes.keys()));
    expect(replies).toEqual([[1, 'hello', [new ReplyError('ERR no')]], 9223372036854775807n]);
  });

  test.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740991', -9007199254740991],
    ['-9223372036854775808', -9223372036854775808n],
    ['999999999999999', 999999999999999],
    ['0', 0],
  ])('no digit of %s is lost', (digits, value) => {
    expect(parse(Buffer.from(`:${digits}\r\n`)).replies).toEqual([value]);
  });

  test('an error is known by its first word', () => {
    const [error] = parse(Buffer.from('-OOM command not allowed\r\n')).replies as [ReplyError];
    expect(error).toBeInstanceOf(ReplyError);
    expect(error.code).toBe('OOM');
  });

  test('push messages are no replies', () => {
    const { replies, pushes } = parse(Buffer.from('>2\r\n+invalidate\r\n*1\r\n+key\r\n:1\r\n'));
    expect(replies).toEqual([1]);
    expect(pushes).toEqual([['invalidate', ['key']]]);
  });

  test.each(['hello\r\n', ':1x\r\n', '$99999999999999999999\r\n', '*1\r\n'.repeat(40)])('%j is refused', (bytes) => {
    expect(() => parse(Buffer.from(bytes))).toThrow();
  });
});

describe('commands', () => {
  test('are arrays of bulk strings, counted in bytes', () => {
    expect(text(encodeCommand(['INCRBY', 'käse', 5, 2n ** 62n]))).toBe(
      '*4\r\n$6\r\nINCRBY\r\n$5\r\nkäse\r\n$1\r\n5\r\n$19\r\n4611686018427387904\r\n',
    );
  });

  test('bytes go as they are', () => {
    const encoded = encodeCommand(['GET', Uint8Array.of(0, 255, 13, 10)]);
    expect(Buffer.concat((encoded as (string | Uint8Array)[]).map((piece) => Buffer.from(piece as string)))).toEqual(
      Buffer.from('*2\r\n$3\r\nGET\r\n$4\r\n\x00\xff\r\n\r\n', 'latin1'),
    );
  });

  test.each([1.5, Number.NaN, 2 ** 53])('the number %s is refused', (value) => {
    expect(() => encodeCommand(['INCRBY', 'key', value])).toThrow(RangeError);
  });
});
