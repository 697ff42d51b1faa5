import { MAXIMUM_PATTERN_BYTES } from '../../errors/errors.js';

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
 * matched by the empty pattern alone (so `**` does not match it, nor `*`; keyFilter handles a bare `*`).
 *
 * A pattern is compiled once. Every element but `*` takes exactly one byte, so a state is the number of elements that
 * the text so far has matched, and the set of all states that are possible is a set of bits. A byte of the text moves
 * every state one on where its next element takes that byte, and leaves those where a `*` stands:
 *
 *   states = (states << 1 & steps[byte]) | (states & stars)
 *
 * So a match takes one step per byte of the text and 32 elements of the pattern, whatever the two are, and no text is
 * read twice.
 */
export class Glob {
  static readonly MAXIMUM_BYTES = MAXIMUM_PATTERN_BYTES;

  /** Words of 32 states each: the steps that a match takes per byte of the text. */
  readonly words: number;
  private readonly isEmpty: boolean;
  private readonly steps: Int32Array;
  private readonly stars: Int32Array;
  private readonly states: Int32Array;
  private readonly lastWord: number;
  private readonly lastBit: number;

  /** The pattern has at most MAXIMUM_BYTES. */
  constructor(pattern: Uint8Array) {
    if (pattern.length > Glob.MAXIMUM_BYTES) throw new RangeError(`a pattern of ${pattern.length} bytes`);
    const { elements, starsAt } = parse(pattern);
    this.isEmpty = pattern.length === 0;
    this.words = (elements.length >> 5) + 1;
    this.steps = new Int32Array(256 * this.words);
    this.stars = new Int32Array(this.words);
    this.states = new Int32Array(this.words);
    this.lastWord = elements.length >> 5;
    this.lastBit = 1 << (elements.length & 31);
    for (const state of starsAt) this.stars[state >> 5] |= 1 << (state & 31);
    for (const [index, takes] of elements.entries()) {
      const state = index + 1;
      for (let byte = 0; byte < 256; byte++) {
        if (takes(byte)) this.steps[byte * this.words + (state >> 5)] |= 1 << (state & 31);
      }
    }
  }

  matches(text: Uint8Array): boolean {
    if (text.length === 0) return this.isEmpty;
    const { words, steps, stars, states, lastWord, lastBit } = this;
    // With a star at its end the pattern matches as soon as all else has.
    const isOpen = (stars[lastWord] & lastBit) !== 0;
    states.fill(0);
    states[0] = 1;
    for (let at = 0; at < text.length; at++) {
      if (isOpen && (states[lastWord] & lastBit) !== 0) return true;
      const row = text[at] * words;
      let carried = 0;
      let possible = 0;
      for (let word = 0; word < words; word++) {
        const before = states[word];
        const after = (((before << 1) | carried) & steps[row + word]) | (before & stars[word]);
        carried = before >>> 31;
        states[word] = after;
        possible |= after;
      }
      if (possible === 0) return false;
    }
    return (states[lastWord] & lastBit) !== 0;
  }
}

/** A pattern that matches every key is not compiled: undefined. */
export function keyFilter(pattern: Uint8Array): Glob | undefined {
  return pattern.length === 1 && pattern[0] === STAR ? undefined : new Glob(pattern);
}

type Element = (byte: number) => boolean;

const STAR = 42;
const DASH = 45;
const QUESTION_MARK = 63;
const OPENING_BRACKET = 91;
const BACKSLASH = 92;
const CLOSING_BRACKET = 93;
const CARET = 94;

/** The elements that take one byte each, and the states that have a `*` behind them. */
function parse(pattern: Uint8Array): { elements: Element[]; starsAt: number[] } {
  const elements: Element[] = [];
  const starsAt: number[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const first = pattern[at];
    if (first === STAR) {
      starsAt.push(elements.length);
    } else if (first === QUESTION_MARK) {
      elements.push(() => true);
    } else if (first === OPENING_BRACKET) {
      const { element, end } = parseClass(pattern, at + 1);
      elements.push(element);
      at = end;
    } else {
      if (first === BACKSLASH && at + 1 < pattern.length) at++;
      const literal = pattern[at];
      elements.push((byte) => byte === literal);
    }
  }
  return { elements, starsAt };
}

/** A class, from the byte behind its opening bracket; `end` is the position of its closing bracket. */
function parseClass(pattern: Uint8Array, start: number): { element: Element; end: number } {
  const negated = pattern[start] === CARET;
  const members = new Uint8Array(256);
  let at = negated ? start + 1 : start;
  while (at < pattern.length && pattern[at] !== CLOSING_BRACKET) {
    const left = pattern.length - at;
    if (left >= 2 && pattern[at] === BACKSLASH) {
      members[pattern[at + 1]] = 1;
      at += 2;
    } else if (left >= 3 && pattern[at + 1] === DASH) {
      const [one, other] = [pattern[at], pattern[at + 2]];
      members.fill(1, Math.min(one, other), Math.max(one, other) + 1);
      at += 3;
    } else {
      members[pattern[at]] = 1;
      at += 1;
    }
  }
  return { element: (byte) => (members[byte] === 1) !== negated, end: at };
}
