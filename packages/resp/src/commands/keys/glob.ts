/**
 * The patterns of KEYS and SCAN … MATCH, as Redis reads them.
 *
 *   *        any bytes, also none
 *   ?        one byte
 *   [ab0-9]  one of these bytes; a range may be written backwards
 *   [^ab]    one byte that is none of these
 *   \x       the byte x itself, inside a class too
 *
 * A class without its closing bracket ends with the pattern; `[]` matches nothing and `[^]` any byte. The empty text is
 * matched by the empty pattern alone (so `**` does not match it; keyFilter handles a bare `*`).
 *
 * Every element but `*` takes exactly one byte. So when a byte does not fit, only the latest `*` has to take one more
 * and earlier ones stay. Hostile patterns cost pattern × text at worst, not an exponent of it.
 */

const STAR = 42;
const DASH = 45;
const QUESTION_MARK = 63;
const OPENING_BRACKET = 91;
const BACKSLASH = 92;
const CLOSING_BRACKET = 93;
const CARET = 94;
const NO_MATCH = -1;

export function globMatches(pattern: Uint8Array, text: Uint8Array): boolean {
  if (text.length === 0) return pattern.length === 0;
  let patternAt = 0;
  let textAt = 0;
  let afterStar = NO_MATCH;
  let starTextAt = 0;
  while (textAt < text.length) {
    if (pattern[patternAt] === STAR) {
      patternAt++;
      if (patternAt === pattern.length) return true;
      afterStar = patternAt;
      starTextAt = textAt;
      continue;
    }
    const next = patternAt < pattern.length ? matchByte(pattern, patternAt, text[textAt]) : NO_MATCH;
    if (next !== NO_MATCH) {
      patternAt = next;
      textAt++;
    } else if (afterStar !== NO_MATCH) {
      starTextAt++;
      textAt = starTextAt;
      patternAt = afterStar;
    } else {
      return false;
    }
  }
  while (pattern[patternAt] === STAR) patternAt++;
  return patternAt === pattern.length;
}

/** A test of keys by pattern; undefined where the pattern matches every key, which needs no comparison. */
export function keyFilter(pattern: Uint8Array): ((key: Uint8Array) => boolean) | undefined {
  if (pattern.length === 1 && pattern[0] === STAR) return undefined;
  return (key) => globMatches(pattern, key);
}

/** The position after the element at `at` where it takes this byte; NO_MATCH where it does not. */
function matchByte(pattern: Uint8Array, at: number, byte: number): number {
  switch (pattern[at]) {
    case QUESTION_MARK:
      return at + 1;
    case OPENING_BRACKET:
      return matchClass(pattern, at + 1, byte);
    case BACKSLASH: {
      const literalAt = at + 1 < pattern.length ? at + 1 : at;
      return pattern[literalAt] === byte ? literalAt + 1 : NO_MATCH;
    }
    default:
      return pattern[at] === byte ? at + 1 : NO_MATCH;
  }
}

/** The same for a class, from the byte behind its opening bracket. */
function matchClass(pattern: Uint8Array, start: number, byte: number): number {
  const negated = pattern[start] === CARET;
  let at = negated ? start + 1 : start;
  let found = false;
  while (at < pattern.length && pattern[at] !== CLOSING_BRACKET) {
    const left = pattern.length - at;
    if (left >= 2 && pattern[at] === BACKSLASH) {
      found ||= pattern[at + 1] === byte;
      at += 2;
    } else if (left >= 3 && pattern[at + 1] === DASH) {
      found ||= isBetween(byte, pattern[at], pattern[at + 2]);
      at += 3;
    } else {
      found ||= pattern[at] === byte;
      at += 1;
    }
  }
  if (found === negated) return NO_MATCH;
  return Math.min(at + 1, pattern.length);
}

function isBetween(byte: number, one: number, other: number): boolean {
  return one <= other ? byte >= one && byte <= other : byte >= other && byte <= one;
}
