/**
 * A span of time as people write it: whole numbers, each with a unit, the largest unit first and none twice.
 *
 *   250ms   60s   5m   1h30m   1d   2w
 *
 * A number without a unit is no duration: each caller decides what one means there, or refuses it.
 */
const UNITS = [
  ['w', 604_800_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;
/** The units of one letter. */
const LETTERS = UNITS.slice(0, -1).map(([unit]) => unit.charCodeAt(0));

/** For messages: what a duration looks like. */
export const DURATION_EXAMPLES = '250ms, 60s, 5m, 1h30m, 1d or 2w';

const MAXIMUM_DIGITS = 15;
const encoder = new TextEncoder();

/** Milliseconds; undefined where the text is no duration, or one that a double cannot hold exactly. */
export function parseDuration(text: string): number | undefined {
  const bytes = encoder.encode(text);
  const milliseconds = readDuration(bytes, 0, bytes.length);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

/** The same of bytes, NaN in place of undefined; makes no string, for limits are decided with it. */
export function readDuration(bytes: Uint8Array, start: number, length: number): number {
  const end = start + length;
  let totalMs = length > 0 ? 0 : Number.NaN;
  let lastUnitMs = Number.POSITIVE_INFINITY;
  for (let at = start; at < end; ) {
    const first = at;
    let amount = 0;
    for (; at < end && isDigit(bytes[at]); at++) amount = amount * 10 + bytes[at] - ZERO;
    if (at === first || at - first > MAXIMUM_DIGITS || at === end) return Number.NaN;
    const isMs = at + 1 < end && (bytes[at] | CASE_BIT) === LETTER_M && (bytes[at + 1] | CASE_BIT) === LETTER_S;
    const unitMs = isMs ? 1 : unitOf(bytes[at] | CASE_BIT);
    if (!(unitMs < lastUnitMs)) return Number.NaN;
    lastUnitMs = unitMs;
    totalMs += amount * unitMs;
    at += isMs ? 2 : 1;
  }
  return Number.isSafeInteger(totalMs) ? totalMs : Number.NaN;
}

const ZERO = 0x30;
const NINE = 0x39;
const CASE_BIT = 0x20;
const LETTER_M = 0x6d;
const LETTER_S = 0x73;

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}

/** The milliseconds of a unit of one letter; NaN for any other letter. */
function unitOf(letter: number): number {
  for (let index = 0; index < LETTERS.length; index++) if (LETTERS[index] === letter) return UNITS[index][1];
  return Number.NaN;
}

/** The shortest text that parseDuration reads as these milliseconds: whole, and not negative. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds === 0) return '0s';
  let rest = milliseconds;
  let text = '';
  for (const [unit, unitMs] of UNITS) {
    const amount = Math.floor(rest / unitMs);
    rest -= amount * unitMs;
    if (amount > 0) text += `${amount}${unit}`;
  }
  return text;
}

/** By its two largest units of days, hours, minutes and seconds. */
export function briefDuration(seconds: number): string {
  const units = UNITS.slice(1, -1).map(([unit, unitMs]) => [unit, unitMs / 1000] as const);
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first === -1) return '0s';
  const [unit, size] = units[first];
  const smaller = units[first + 1];
  const rest = smaller === undefined ? 0 : Math.floor((seconds % size) / smaller[1]);
  return `${Math.floor(seconds / size)}${unit}${rest > 0 ? `${rest}${smaller[0]}` : ''}`;
}
