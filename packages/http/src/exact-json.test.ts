import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonInteger, parseExactJson, writeExactJson } from './exact-json.js';

const parseAmount = (literal: string) => (parseExactJson(`{"amount":${literal}}`) as { amount: unknown }).amount;

test('no digit of a 64-bit integer is lost, in or out', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
      const read = parseAmount(value.toString());
      expect(BigInt(read as number | bigint)).toBe(value);
      expect(BigInt(JSON.parse(jsonInteger(value)) as number | string)).toBe(value);
    }),
  );
});

test('values are plain numbers up to 2^53 - 1 and strings past it', () => {
  expect(jsonInteger(2n ** 53n - 1n)).toBe('9007199254740991');
  expect(jsonInteger(2n ** 53n)).toBe('"9007199254740992"');
  expect(jsonInteger(-(2n ** 53n) + 1n)).toBe('-9007199254740991');
  expect(jsonInteger(-(2n ** 53n))).toBe('"-9007199254740992"');
});

test('an object is written with its bigints exact', () => {
  expect(writeExactJson({ one: 1n, list: [2n ** 53n] })).toBe('{"one":1,"list":["9007199254740992"]}');
});

test.each([
  ['9007199254740993', 9007199254740993n],
  ['9007199254740993.000', 9007199254740993n],
  ['9.007199254740993e15', 9007199254740993n],
  ['900719925474099300e-2', 9007199254740993n],
  ['0.0000000000000000e99', 0n],
  ['9007199254740991', 9007199254740991],
  ['0.3333333333333333', 0.3333333333333333],
  ['1e3', 1000],
])('%s is read exactly', (literal, value) => {
  expect(parseAmount(literal)).toBe(value);
});

test.each(['0.99999999999999999999', '9007199254740990.9', '1.0000000000000000000001', '1000000000000e999999999'])(
  '%s is not taken for an integer',
  (literal) => {
    expect(parseAmount(literal)).toBeNaN();
  },
);

const plainText = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[\\"]*\d{15,20}[\\"]*$/));
const plainValue = fc.oneof(plainText, fc.integer(), fc.boolean(), fc.dictionary(plainText, plainText));

test('text that looks like a number stays text, and everything else is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.array(plainValue), (values) => {
      const text = JSON.stringify(values);
      expect(parseExactJson(text)).toEqual(JSON.parse(text));
    }),
  );
});

test.each(['{', '{"a":01234567890123456789}', '{"a":1234567890123456-1}', '12345678901234567890.'])(
  '%s is refused',
  (text) => {
    expect(() => parseExactJson(text)).toThrow(SyntaxError);
  },
);

/** Bodies whose every place looks like the beginning of something that ends nowhere. */
const patient: [what: string, body: (length: number) => string][] = [
  ['strings that never end', (length) => '\\"'.repeat(length / 2)],
  ['one string that never ends', (length) => `"${'\\"'.repeat(length / 2)}`],
  ['zeros behind a point, then a one', (length) => `1.${'0'.repeat(length)}1`],
  ['zeros behind a point, then nonsense', (length) => `1.${'0'.repeat(length)}x`],
  ['a long integer', (length) => '9'.repeat(length)],
  ['a long integer divided by a power of ten', (length) => `${'9'.repeat(length / 2)}e-${length / 4}`],
  ['a long integer with zeros that its exponent takes away', (length) => `1${'0'.repeat(length)}e-${length}`],
  ['many long integers', (length) => `[${'12345678901234567890,'.repeat(length / 21)}1]`],
  ['signs', (length) => '-'.repeat(length)],
  ['digits and signs', (length) => '1-'.repeat(length / 2)],
  ['exponents', (length) => `1${'e1'.repeat(length / 2)}`],
  ['backslashes', (length) => `"${'\\'.repeat(length)}`],
  ['open brackets', (length) => '['.repeat(length)],
  ['open brackets and a long integer', (length) => `${'['.repeat(length)}12345678901234567890`],
];

/** A body of 16 KiB took seconds where work grew with the square of its length; one of 512 KiB would take hours. */
const LONG_BODY = 512 * 1024;
const PATIENCE_MS = 10_000;

function cpuMsOf(work: () => void): number {
  const { user, system } = process.cpuUsage();
  work();
  const spent = process.cpuUsage({ user, system });
  return (spent.user + spent.system) / 1000;
}

test.each(patient)('the work for a body is in proportion to its length: %s', (_what, body) => {
  const text = body(LONG_BODY);
  const spentMs = cpuMsOf(() => {
    try {
      parseExactJson(text);
    } catch {
      // Most of them are not JSON.
    }
  });
  expect(spentMs).toBeLessThan(PATIENCE_MS);
});

test('any pieces of JSON, however often repeated, cost in proportion to their length', () => {
  const piece = fc.stringMatching(/^[\\"[\]{}:,0-9.eE+x -]{1,4}$/);
  fc.assert(
    fc.property(piece, piece, piece, (before, repeated, after) => {
      const text = before + repeated.repeat(LONG_BODY / 8 / repeated.length) + after;
      const spentMs = cpuMsOf(() => {
        try {
          parseExactJson(text);
        } catch {
          // Most of them are not JSON.
        }
      });
      expect(spentMs).toBeLessThan(PATIENCE_MS);
    }),
    { numRuns: 300 },
  );
});

test('a short literal with an exponent keeps all digits of a large integer', () => {
  expect(parseAmount('23060000001e8')).toBe(2306000000100000000n);
  expect(parseAmount('5e0')).toBe(5);
  expect(parseAmount('1.5e0')).toBe(1.5);
});

test('a literal of any form is read as BigInt reads it, or not at all', () => {
  const digits = fc.stringMatching(/^[0-9]{1,25}$/).map((text) => text.replace(/^0+(?=.)/, ''));
  const zeros = fc.integer({ min: 0, max: 30 }).map((count) => '0'.repeat(count));
  fc.assert(
    fc.property(digits, zeros, fc.integer({ min: -30, max: 30 }), (whole, fraction, exponent) => {
      const literal = `${whole}${fraction === '' ? '' : `.${fraction}`}e${exponent}`;
      const read = parseAmount(literal);
      const scale = 10n ** BigInt(Math.abs(exponent));
      const isWhole = exponent >= 0 || BigInt(whole) % scale === 0n;
      const exact = exponent >= 0 ? BigInt(whole) * scale : BigInt(whole) / scale;
      if (isWhole && exact < 2n ** 63n) expect(BigInt(read as number | bigint)).toBe(exact);
      else if (isWhole)
        expect(typeof read === 'bigint' || Number.isNaN(read) || (read as number) >= 2 ** 63).toBe(true);
      else expect(Number.isInteger(read)).toBe(false);
    }),
  );
});
