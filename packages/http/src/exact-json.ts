import { randomUUID } from 'node:crypto';

/**
 * JSON in which no digit of an integer is lost. JSON.parse turns every number into a double, which is exact for
 * integers up to 2^53 - 1 only. Here a longer literal arrives as a bigint if it stands for a larger integer, and as
 * NaN, which no schema accepts, if it stands for a fraction that a double would round to an integer.
 */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** A double holds every decimal of this many digits exactly. */
const EXACT_LITERAL_LENGTH = 15;

/** No 64-bit integer needs a larger one; without a limit, 1e999999999 would be a billion digits. */
const MAX_EXPONENT = 20;

export function parseExactJson(text: string): unknown {
  const long: (bigint | number)[] = [];
  // Long literals travel through JSON.parse as strings that no sender can have guessed.
  let mark = '';
  const rewritten = text.replace(TOKENS, (token) => {
    if (token.length <= EXACT_LITERAL_LENGTH || token.startsWith('"') || !NUMBER.test(token)) return token;
    mark ||= randomUUID();
    return `"${mark}${long.push(exactNumber(token)) - 1}"`;
  });
  if (mark === '') return JSON.parse(text);
  return JSON.parse(rewritten, (_key, value) =>
    typeof value === 'string' && value.startsWith(mark) ? long[Number(value.slice(mark.length))] : value,
  );
}

/** Values up to 2^53 - 1 are plain numbers; past that they are strings, which no JSON reader rounds. */
export function jsonInteger(value: bigint): string {
  return isExactNumber(value) ? value.toString() : `"${value}"`;
}

/** JSON of a value that may hold bigints, written as `jsonInteger` writes them. */
export function writeExactJson(value: unknown): string {
  return JSON.stringify(value, (_key, part) => {
    if (typeof part !== 'bigint') return part;
    return isExactNumber(part) ? Number(part) : part.toString();
  });
}

/** The integer that a literal such as 9007199254740993, 12.50e1 or 1.0 stands for. */
function exactNumber(literal: string): bigint | number {
  const [, sign, whole, fraction = '', exponentText = '0'] = NUMBER.exec(literal)!;
  const decimals = fraction.replace(/0+$/, '');
  const digits = BigInt(`${sign}${whole}${decimals}`);
  const exponent = Number(exponentText) - decimals.length;
  if (digits === 0n) return 0n;
  if (exponent > MAX_EXPONENT || -exponent > literal.length) return Number.NaN;
  if (exponent >= 0) return plainWhereExact(digits * 10n ** BigInt(exponent));
  const divisor = 10n ** BigInt(-exponent);
  if (digits % divisor === 0n) return plainWhereExact(digits / divisor);
  const fractional = Number(literal);
  return Number.isInteger(fractional) ? Number.NaN : fractional;
}

function plainWhereExact(value: bigint): bigint | number {
  return isExactNumber(value) ? Number(value) : value;
}

function isExactNumber(value: bigint): boolean {
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
}
