import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ReplyWriter } from './reply-writer.js';

function written(protocol: 2 | 3, write: (reply: ReplyWriter) => void): string {
  const reply = new ReplyWriter();
  reply.protocol = protocol;
  write(reply);
  return text(reply);
}

function text(reply: ReplyWriter): string {
  return Buffer.from(reply.bytes.subarray(0, reply.length)).toString('utf8');
}

const high = (value: bigint) => Number(BigInt.asIntN(32, value >> 32n));
const low = (value: bigint) => Number(BigInt.asIntN(32, value));

describe('replies', () => {
  const forms: [name: string, write: (reply: ReplyWriter) => void, resp2: string, resp3: string][] = [
    ['ok', (reply) => reply.ok(), '+OK\r\n', '+OK\r\n'],
    ['simple', (reply) => reply.simple('PONG'), '+PONG\r\n', '+PONG\r\n'],
    ['error', (reply) => reply.error('ERR syntax error'), '-ERR syntax error\r\n', '-ERR syntax error\r\n'],
    ['integer', (reply) => reply.integer(-12), ':-12\r\n', ':-12\r\n'],
    [
      'array of integers',
      (reply) => reply.integerArray(Float64Array.of(0, 7, 2 ** 31 - 1, 2 ** 31, -1, -(2 ** 40), 2 ** 53)),
      '*7\r\n:0\r\n:7\r\n:2147483647\r\n:2147483648\r\n:-1\r\n:-1099511627776\r\n:9007199254740992\r\n',
      '*7\r\n:0\r\n:7\r\n:2147483647\r\n:2147483648\r\n:-1\r\n:-1099511627776\r\n:9007199254740992\r\n',
    ],
    ['bulk', (reply) => reply.bulk(Buffer.from('xhitsx'), 1, 4), '$4\r\nhits\r\n', '$4\r\nhits\r\n'],
    ['empty bulk', (reply) => reply.bulk(Buffer.from('x'), 1, 0), '$0\r\n\r\n', '$0\r\n\r\n'],
    ['bulk text', (reply) => reply.bulkText('hits'), '$4\r\nhits\r\n', '$4\r\nhits\r\n'],
    ['bulk text beyond ASCII', (reply) => reply.bulkText('é€😀'), '$9\r\né€😀\r\n', '$9\r\né€😀\r\n'],
    ['nil', (reply) => reply.nil(), '$-1\r\n', '_\r\n'],
    ['nil array', (reply) => reply.nilArray(), '*-1\r\n', '_\r\n'],
    ['array', (reply) => reply.array(10), '*10\r\n', '*10\r\n'],
    ['map', (reply) => reply.map(3), '*6\r\n', '%3\r\n'],
    ['set', (reply) => reply.set(3), '*3\r\n', '~3\r\n'],
    ['push', (reply) => reply.push(3), '*3\r\n', '>3\r\n'],
    ['true', (reply) => reply.boolean(true), ':1\r\n', '#t\r\n'],
    ['false', (reply) => reply.boolean(false), ':0\r\n', '#f\r\n'],
    ['double', (reply) => reply.double(2.625), '$5\r\n2.625\r\n', ',2.625\r\n'],
    ['whole double', (reply) => reply.double(10), '$2\r\n10\r\n', ',10\r\n'],
    ['negative zero', (reply) => reply.double(-0), '$2\r\n-0\r\n', ',-0\r\n'],
    ['infinity', (reply) => reply.double(Infinity), '$3\r\ninf\r\n', ',inf\r\n'],
    ['negative infinity', (reply) => reply.double(-Infinity), '$4\r\n-inf\r\n', ',-inf\r\n'],
    ['not a number', (reply) => reply.double(Number.NaN), '$3\r\nnan\r\n', ',nan\r\n'],
    [
      'big number',
      (reply) => reply.bigNumber(-(2n ** 70n)),
      '$23\r\n-1180591620717411303424\r\n',
      '(-1180591620717411303424\r\n',
    ],
    ['verbatim', (reply) => reply.verbatim('# Server'), '$8\r\n# Server\r\n', '=12\r\ntxt:# Server\r\n'],
    ['verbatim beyond ASCII', (reply) => reply.verbatim('é'), '$2\r\né\r\n', '=6\r\ntxt:é\r\n'],
    ['raw', (reply) => reply.raw(Buffer.from('+AS IS\r\n')), '+AS IS\r\n', '+AS IS\r\n'],
  ];

  test.each(forms)('%s has its form in both protocols', (_name, write, resp2, resp3) => {
    expect(written(2, write)).toBe(resp2);
    expect(written(3, write)).toBe(resp3);
  });

  test.each([
    0,
    1,
    -1,
    9,
    10,
    99,
    100,
    65535,
    2147483647,
    2147483648,
    -2147483648,
    -2147483649,
    4294967295,
    4294967296,
    -4294967296,
    Number.MAX_SAFE_INTEGER,
    Number.MIN_SAFE_INTEGER,
  ])('the safe integer %s is written as it is', (value) => {
    expect(written(2, (reply) => reply.integer(value))).toBe(`:${value}\r\n`);
  });

  test('any 64-bit integer is written exactly, as an integer and as a bulk', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.nat(63), (value, shift) => {
        const smaller = value >> BigInt(shift);
        const digits = smaller.toString();
        const both = written(2, (reply) => {
          reply.integer64(high(smaller), low(smaller));
          reply.bulkInteger64(high(smaller), low(smaller));
        });
        expect(both).toBe(`:${digits}\r\n$${digits.length}\r\n${digits}\r\n`);
      }),
      { numRuns: 2000 },
    );
  });

  test('the ends of the 64-bit range fit a buffer that is all but full', () => {
    const expected = ':-9223372036854775808\r\n$20\r\n-9223372036854775808\r\n:9223372036854775807\r\n';
    for (let size = 1; size < 80; size++) {
      const reply = new ReplyWriter(size);
      reply.integer64(-0x8000_0000, 0);
      reply.bulkInteger64(-0x8000_0000, 0);
      reply.integer64(0x7fff_ffff, -1);
      expect(text(reply)).toBe(expected);
    }
  });

  test('line breaks in a message cannot forge another reply', () => {
    expect(written(2, (reply) => reply.error("ERR unknown command '\r\n+OK\r\n', é\n"))).toBe(
      "-ERR unknown command '  +OK  ', é \r\n",
    );
    expect(written(2, (reply) => reply.simple('a\rb\nc'))).toBe('+a b c\r\n');
  });

  test('error replies are counted, also those taken back', () => {
    const reply = new ReplyWriter();
    reply.error('ERR one');
    reply.ok();
    const length = reply.length;
    reply.error('ERR two');
    reply.truncate(length);
    reply.reset();
    expect(reply.errors).toBe(2);
  });

  test('truncating takes back what was written since', () => {
    const reply = new ReplyWriter();
    reply.ok();
    const length = reply.length;
    reply.bulkText('gone');
    reply.truncate(length);
    reply.integer(7);
    expect(text(reply)).toBe('+OK\r\n:7\r\n');
    expect(() => reply.truncate(reply.length + 1)).toThrow(RangeError);
  });

  test('bulks are binary-safe, whatever the room left', () => {
    const any = fc.uint8Array({ maxLength: 300 });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 8 }), fc.integer({ min: 1, max: 64 }), (values, initialBytes) => {
        const reply = new ReplyWriter(initialBytes);
        for (const value of values) reply.bulk(value, 0, value.length);
        const expected = values.flatMap((value) => [Buffer.from(`$${value.length}\r\n`), value, Buffer.from('\r\n')]);
        expect(Buffer.from(reply.bytes.subarray(0, reply.length)).equals(Buffer.concat(expected))).toBe(true);
      }),
    );
  });

  test('every form may be the one that makes the buffer grow', () => {
    for (const [, write, resp2] of forms) {
      const reply = new ReplyWriter(1);
      for (let repeat = 0; repeat < 20; repeat++) write(reply);
      expect(text(reply)).toBe(resp2.repeat(20));
    }
  });

  test('a buffer that a huge reply made grow is given back', () => {
    const reply = new ReplyWriter(1024);
    reply.raw(new Uint8Array(1024 * 1024));
    expect(reply.bytes.length).toBeGreaterThanOrEqual(1024 * 1024);
    reply.reset();
    expect(reply.bytes.length).toBe(1024);
    expect(reply.length).toBe(0);
  });

  test('a buffer that grew a little is kept', () => {
    const reply = new ReplyWriter(1024);
    reply.raw(new Uint8Array(3000));
    const grown = reply.bytes;
    reply.reset();
    expect(reply.bytes).toBe(grown);
  });
});
