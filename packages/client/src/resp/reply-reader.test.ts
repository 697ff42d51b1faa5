import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ReplyError } from '../contract/errors.js';
import { ProtocolError, ReplyReader, ReplyType } from './reply-reader.js';
import { type Reply, valueBuilder } from './values.js';

interface Read {
  readonly replies: Reply[];
  readonly pushes: Reply[];
}

function readPieces(pieces: readonly Buffer[], maxReplyBytes?: number): Read {
  const read: Read = { replies: [], pushes: [] };
  const reader = new ReplyReader(
    valueBuilder,
    (reply, type) => (type === ReplyType.Push ? read.pushes : read.replies).push(reply),
    maxReplyBytes,
  );
  // One buffer for all pieces, as a socket with `onread` has it: the reader must keep no view of it.
  const shared = Buffer.alloc(Math.max(...pieces.map((piece) => piece.length)));
  for (const piece of pieces) {
    piece.copy(shared.fill(0x31));
    reader.receive(shared.subarray(0, piece.length));
  }
  return read;
}

function read(text: string, cuts: readonly number[] = []): Read {
  const bytes = Buffer.from(text);
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return readPieces(ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end)));
}

interface Sample {
  readonly value: Reply;
  readonly bytes: string;
}

const simple: fc.Arbitrary<Sample> = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => ({
    value: value >= -(2n ** 53n) + 1n && value <= 2n ** 53n - 1n ? Number(value) : value,
    bytes: `:${value}\r\n`,
  })),
  fc.string({ unit: 'grapheme' }).map((value) => ({ value, bytes: `$${Buffer.byteLength(value)}\r\n${value}\r\n` })),
  fc.constantFrom<Sample>(
    { value: 'OK', bytes: '+OK\r\n' },
    { value: '', bytes: '+\r\n' },
    { value: new ReplyError('ERR no'), bytes: '-ERR no\r\n' },
    { value: new ReplyError('ERR a\r\nb'), bytes: '!8\r\nERR a\r\nb\r\n' },
    { value: null, bytes: '$-1\r\n' },
    { value: null, bytes: '*-1\r\n' },
    { value: null, bytes: '_\r\n' },
    { value: true, bytes: '#t\r\n' },
    { value: false, bytes: '#f\r\n' },
    { value: 1.5, bytes: ',1.5\r\n' },
    { value: Number.NEGATIVE_INFINITY, bytes: ',-inf\r\n' },
    { value: 12345678901234567890n, bytes: '(12345678901234567890\r\n' },
    { value: 'some text', bytes: '=13\r\ntxt:some text\r\n' },
    { value: 1, bytes: '|1\r\n+ttl\r\n:3600\r\n:1\r\n' },
  ),
);
const { reply } = fc.letrec<{ reply: Sample }>((tie) => ({
  reply: fc.oneof(
    { depthSize: 'small' },
    simple,
    fc.tuple(fc.constantFrom('*', '~'), fc.array(tie('reply'), { maxLength: 4 })).map(([type, items]) => ({
      value: items.map((item) => item.value),
      bytes: `${type}${items.length}\r\n${items.map((item) => item.bytes).join('')}`,
    })),
    fc.array(tie('reply'), { maxLength: 3 }).map((items) => ({
      value: new Map(items.map((item, index) => [`key ${index}`, item.value])),
      bytes: `%${items.length}\r\n${items.map((item, index) => `+key ${index}\r\n${item.bytes}`).join('')}`,
    })),
  ),
}));

describe('replies', () => {
  test('are read in order, in pieces of any size', () => {
    fc.assert(
      fc.property(fc.array(reply, { maxLength: 5 }), fc.array(fc.nat(), { maxLength: 20 }), (items, cuts) => {
        expect(read(items.map((item) => item.bytes).join(''), cuts).replies).toEqual(items.map((item) => item.value));
      }),
      { numRuns: 500 },
    );
  });

  test('are the same wherever the stream is split', () => {
    fc.assert(
      fc.property(reply, ({ value, bytes }) => {
        const length = Buffer.byteLength(bytes);
        for (let cut = 0; cut <= length; cut++) expect(read(bytes, [cut]).replies).toEqual([value]);
        expect(
          read(
            bytes,
            Array.from({ length }, (_, cut) => cut),
          ).replies,
        ).toEqual([value]);
      }),
      { numRuns: 50 },
    );
  });

  test('come when their last byte does, not before', () => {
    fc.assert(
      fc.property(reply, ({ value, bytes }) => {
        const replies: Reply[] = [];
        const reader = new ReplyReader(valueBuilder, (whole) => replies.push(whole));
        const all = Buffer.from(bytes);
        reader.receive(all.subarray(0, -1));
        expect(replies).toEqual([]);
        reader.receive(all.subarray(-1));
        expect(replies).toEqual([value]);
      }),
    );
  });

  test('a long string in many pieces is put together once it is whole', () => {
    const text = 'x'.repeat(5_000_000);
    const bytes = Buffer.from(`$${text.length}\r\n${text}\r\n:1\r\n`);
    const pieces = Array.from({ length: Math.ceil(bytes.length / 1000) }, (_, index) =>
      bytes.subarray(index * 1000, (index + 1) * 1000),
    );
    expect(readPieces(pieces).replies).toEqual([text, 1]);
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
    expect(read(`:${digits}\r\n`).replies).toEqual([value]);
  });

  test('an error is known by its first word', () => {
    const [error] = read('-OOM command not allowed\r\n').replies as [ReplyError];
    expect(error).toBeInstanceOf(ReplyError);
    expect(error.code).toBe('OOM');
  });

  test('push messages come apart from replies', () => {
    expect(read('>2\r\n+invalidate\r\n*1\r\n+key\r\n:1\r\n')).toEqual({
      replies: [1],
      pushes: [['invalidate', ['key']]],
    });
  });
});

describe('bytes that are no reply', () => {
  test.each([
    'HTTP/1.1 400 Bad Request\r\n',
    '\r\n\r\n',
    ':1x\r\n',
    '(12e3\r\n',
    '+OK\rx',
    '$3\r\nabcd\r\n',
    '$\r\n',
    '$-2\r\n',
    '$03\r\n',
    '$+3\r\n',
    '$?\r\n',
    '*1.5\r\n',
    '$99999999999999999999\r\n',
  ])('%j is refused', (bytes) => {
    expect(() => read(bytes)).toThrow(ProtocolError);
  });

  test('any bytes are read or refused, and nothing else happens', () => {
    const type = fc.constantFrom(...'+-:,(#_$=!*~>%|x');
    const line = fc.tuple(
      type,
      fc.constantFrom('', '-1', '0', '1', '2', '300', 't'),
      fc.constantFrom('\r\n', '\r', ''),
    );
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(), { maxLength: 5 }), (lines, cuts) => {
        try {
          read(lines.map((parts) => parts.join('')).join(''), cuts);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe('bounds', () => {
  test.each(['*', '~', '>', '|'])('replies nested by %s are bounded', (type) => {
    expect(() => read(`${type}1\r\n`.repeat(32))).not.toThrow();
    expect(() => read(`${type}1\r\n`.repeat(33))).toThrow(/32 deep/);
  });

  test('a line without an end is bounded', () => {
    expect(() => read(`+${'x'.repeat(64 * 1024)}`)).toThrow(/bound of 65536 bytes/);
  });

  test.each([`$${2 ** 29}\r\n`, `*${2 ** 28}\r\n`, `%${2 ** 27}\r\n`])('%j is refused before its content', (header) => {
    expect(() => read(header)).toThrow(/bound of 536870912 bytes/);
  });

  test('a reply counts whole: all of its strings together', () => {
    const strings = (count: number) => Buffer.from(`*${count}\r\n${'$5\r\nhello\r\n'.repeat(count)}`);
    expect(readPieces([strings(9), strings(9)], 110).replies).toHaveLength(2);
    expect(() => readPieces([strings(10)], 110)).toThrow(/bound of 110 bytes/);
  });
});
