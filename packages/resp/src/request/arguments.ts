import { parseInteger64, type Request, readDuration } from '@quotadb/wire';

/**
 * Reads arguments without making strings. An index is the argument's position in the request; 0 is the command's name.
 */

const UPPER_A = 65;
const UPPER_Z = 90;
const CASE_BIT = 32;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A word that arguments are compared with; made once, when the module loads. */
export function keyword(word: string): Uint8Array {
  return encoder.encode(word.toLowerCase());
}

export function lowerCase(byte: number): number {
  return byte >= UPPER_A && byte <= UPPER_Z ? byte + CASE_BIT : byte;
}

/** Whether the argument is this keyword, in upper or lower case. */
export function argumentIs(request: Request, index: number, word: Uint8Array): boolean {
  const length = word.length;
  if (request.argumentLength[index] !== length) return false;
  const bytes = request.input.bytes;
  const start = request.argumentStart[index];
  for (let offset = 0; offset < length; offset++) {
    if (lowerCase(bytes[start + offset]) !== word[offset]) return false;
  }
  return true;
}

/**
 * The result of integerArgument: [high, low]. One per thread: read both halves before the next argument.
 */
export const integerHalves = new Int32Array(2);

/** Reads a signed 64-bit integer, by Redis's rules, into integerHalves; false where the argument is none. */
export function integerArgument(request: Request, index: number): boolean {
  return parseInteger64(
    request.input.bytes,
    request.argumentStart[index],
    request.argumentLength[index],
    integerHalves,
  );
}

/** The integer as a number: exact up to 2^53, the nearest double past it, NaN where the argument is no integer. */
export function numberArgument(request: Request, index: number): number {
  if (!integerArgument(request, index)) return Number.NaN;
  return integerHalves[0] * 0x1_0000_0000 + (integerHalves[1] >>> 0);
}

/** The argument as a string, bytes that are not UTF-8 replaced; off the hot path only. */
export function textArgument(request: Request, index: number): string {
  return decoder.decode(bytesArgument(request, index));
}

/** Longer arguments are cut in error replies. */
const SHOWN_CHARACTERS = 40;

/** The argument in quotes, for an error reply that names it. */
export function quotedArgument(request: Request, index: number): string {
  const text = textArgument(request, index);
  return `'${text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text}'`;
}

/** Milliseconds: a bare number of them, or a duration such as 500ms or 5m; NaN where the argument is neither. */
export function durationArgument(request: Request, index: number): number {
  const milliseconds = numberArgument(request, index);
  return Number.isNaN(milliseconds) ? unitsArgument(request, index) : milliseconds;
}

/** Milliseconds of a duration with units, such as 500ms or 5m; NaN where the argument is none. */
export function unitsArgument(request: Request, index: number): number {
  return readDuration(request.input.bytes, request.argumentStart[index], request.argumentLength[index]);
}

/** The argument's bytes, copied. */
export function copyArgument(request: Request, index: number): Uint8Array {
  return Uint8Array.from(bytesArgument(request, index));
}

/** The argument's bytes, still in the input: copy bytes that must outlive the command. */
export function bytesArgument(request: Request, index: number): Uint8Array {
  const start = request.argumentStart[index];
  return request.input.bytes.subarray(start, start + request.argumentLength[index]);
}

/** The arguments from `first` on as strings. */
export function textArguments(request: Request, first: number): string[] {
  return Array.from({ length: request.argumentCount - first }, (_, offset) => textArgument(request, first + offset));
}
