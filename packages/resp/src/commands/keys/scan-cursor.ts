/**
 * A cursor as Redis reads one, with C's strtoul: an optional sign and decimal digits, leading zeros allowed, the empty
 * text being 0, and a minus sign counting down from 2^64. A zero byte ends it. Other bytes after the digits, or a
 * number past 64 bits, are refused.
 */

const DECIMAL = /^[+-]?[0-9]*$/;
const MAX_CURSOR = 2n ** 64n - 1n;

/** A 64-bit number has 20 digits; a much longer text is refused without parsing. */
const MAX_CURSOR_BYTES = 64;
const decoder = new TextDecoder('latin1');

export function parseScanCursor(bytes: Uint8Array): bigint | undefined {
  const zero = bytes.indexOf(0);
  const length = zero < 0 ? bytes.length : zero;
  if (length > MAX_CURSOR_BYTES) return undefined;
  const text = decoder.decode(bytes.subarray(0, length));
  if (!DECIMAL.test(text)) return undefined;
  const digits = text.replace(/^[+-]/, '');
  // strtoul does not accept a sign without digits.
  if (digits === '') return text === '' ? 0n : undefined;
  const magnitude = BigInt(digits);
  if (magnitude > MAX_CURSOR) return undefined;
  return text.startsWith('-') ? BigInt.asUintN(64, -magnitude) : magnitude;
}
