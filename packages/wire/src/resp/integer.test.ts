import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digitCount, formatInteger64, INTEGER64_TEXT_BYTES, parseInteger64 } from './integer.js';

const LOWEST = -(2n ** 63n);
const HIGHEST = 2n ** 63n - 1n;

/** Every place where a half, a sign, a digit or JavaScript's own exactness begins or ends, and its neighbours. */
const EDGES: bigint[] = [
  0n,
  ...[31n, 32n, 33n, 52n, 53n, 54n, 62n, 63n].flatMap((power) => [2n ** power, -(2n ** power)]),
  ...Array.from({ length: 19 }, (_, power) => 10n ** BigInt(power)).flatMap((power) => [power, -power]),
]
  .flatMap((edge) => [edge - 1n, edge, edge + 1n])
  .filter((edge) => edge >= LOWEST && edge <= HIGHEST);

const high = (value: bigint) => Number(BigInt.asIntN(32, value >> 32n));
const low = (value: bigint) => Number(BigInt.asIntN(32, value));

/** Read from the middle of something longer, so that reading past either end would show. */
function parse(text: string): bigint | undefined {
  const bytes = Buffer.from(`7${text}7`, 'latin1');
  const out = new Int32Array([-77, -77]);
  if (!parseInteger64(bytes, 1, bytes.length - 2, out)) return undefined;
  return (BigInt(out[0]) << 32n) + BigInt(out[1] >>> 0);
}

function format(value: bigint): string {
  const target = new Uint8Array(INTEGER64_TEXT_BYTES + 2).fill(0x23);
  const end = INTEGER64_TEXT_BYTES + 1;
  const start = formatInteger64(high(value), low(value), target, end);
  expect(target[start - 1]).toBe(0x23);
  expect(target[end]).toBe(0x23);
  return Buffer.from(target.subarray(start, end)).toString('latin1');
}

describe('64-bit integers', () => {
  test.each(EDGES)('%s is read and written exactly', (value) => {
    expect(parse(value.toString())).toBe(value);
    expect(format(value)).toBe(value.toString());
  });

  test('any integer is read and written exactly', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: LOWEST, max: HIGHEST }), fc.nat(63), (value, shift) => {
        const smaller = value >> BigInt(shift);
        expect(parse(smaller.toString())).toBe(smaller);
        expect(format(smaller)).toBe(smaller.toString());
      }),
      { numRuns: 5000 },
    );
  });

  test('the halves of the result are int32', () => {
    const out = new Int32Array(2);
    expect(parseInteger64(Buffer.from('4294967295'), 0, 10, out)).toBe(true);
    expect([...out]).toEqual([0, -1]);
    expect(parseInteger64(Buffer.from('-4294967296'), 0, 11, out)).toBe(true);
    expect([...out]).toEqual([-1, 0]);
  });

  test.each([
    (HIGHEST + 1n).toString(),
    (LOWEST - 1n).toString(),
    (2n ** 64n).toString(),
    (2n ** 64n - 1n).toString(),
    '9999999999999999999',
    '-9999999999999999999',
    '10000000000000000000',
    '99999999999999999999',
    '-10000000000000000000',
    '1'.repeat(400),
  ])('%s is out of range', (text) => {
    expect(parse(text)).toBeUndefined();
  });

  test.each([
    '',
    '-',
    '+1',
    '--1',
    '-0',
    '00',
    '01',
    '-01',
    '0000000000001',
    ' 1',
    '1 ',
    '1.0',
    '1e3',
    '0x1',
    '12a',
    '1234567890a',
    'a1234567890',
    '1234567890:12345678',
    '123456789/',
    '\u00b2',
    '1\0',
    '1-1',
    '1234567890-123',
  ])('%j is not an integer', (text) => {
    expect(parse(text)).toBeUndefined();
  });

  test('a text is accepted exactly if it is the one that would be written', () => {
    const text = fc.string({ unit: fc.constantFrom(...'0123456789-+ 9'), minLength: 0, maxLength: 21 });
    fc.assert(
      fc.property(text, (candidate) => {
        const canonical = /^(0|-?[1-9][0-9]*)$/.test(candidate);
        const value = canonical ? BigInt(candidate) : undefined;
        const inRange = value !== undefined && value >= LOWEST && value <= HIGHEST;
        expect(parse(candidate)).toBe(inRange ? value : undefined);
      }),
      { numRuns: 5000 },
    );
  });

  test('digits are counted right at every power of ten', () => {
    for (const edge of EDGES) {
      if (edge >= 0n && edge < 2n ** 31n) expect(digitCount(Number(edge))).toBe(edge.toString().length);
    }
  });
});
