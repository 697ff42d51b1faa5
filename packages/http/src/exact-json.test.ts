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
