import { raise } from '../../values/raise.js';
import { running } from '../../values/running.js';
import { isDigit, isInClass } from './character-classes.js';

/**
 * Lua 5.1's patterns on strings of bytes. A pattern is interpreted as it stands, as Lua does it, so that a mistake in
 * it is found when, and only when, the search reaches it. A pattern ends at its first zero byte.
 *
 * Bounds: each repetition and each capture of the pattern nests one level, at most MAX_DEPTH, however long the subject;
 * and a step costs as much as a turn of a loop of the script, so that a search that goes on for ever can be
 * interrupted.
 */

/** Lua 5.2's bound; 5.1 has none and overflows its C stack. */
const MAX_DEPTH = 200;
const MAX_CAPTURES = 32;

/** Where a match ends, if there is none. */
export const NO_MATCH = -1;

/** In the place of a capture's length. */
const UNFINISHED = -1;
const POSITION = -2;

const END = 0;
const DOLLAR = 0x24;
const PERCENT = 0x25;
const OPEN = 0x28;
const CLOSE = 0x29;
const STAR = 0x2a;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const DIGIT_ONE = 0x31;
const QUESTION = 0x3f;
const BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const CARET = 0x5e;
const LETTER_B = 0x62;
const LETTER_F = 0x66;

/** Raised as a Lua error where the search began: the stack in between may be deeper than one looks for a position. */
class PatternError extends Error {}

export class Matcher {
  readonly #starts = new Int32Array(MAX_CAPTURES);
  readonly #lengths = new Int32Array(MAX_CAPTURES);
  #subject = '';
  #pattern = '';
  #captures = 0;
  #depth = 0;
  #start = 0;
  /** Where the last match ended. */
  end = 0;

  begin(subject: string, pattern: string): void {
    this.#subject = subject;
    this.#pattern = pattern;
  }

  /** Where the match ends that begins at `start`, or NO_MATCH; the pattern is read from `patternStart`. */
  matchAt(start: number, patternStart: number): number {
    this.#captures = 0;
    this.#depth = 0;
    this.#start = start;
    try {
      this.end = this.#match(start, patternStart);
    } catch (error) {
      if (error instanceof PatternError) raise(error.message);
      throw error;
    }
    return this.end;
  }

  get captureCount(): number {
    return this.#captures;
  }

  /** The text of the last match. */
  get whole(): string {
    return this.#subject.slice(this.#start, this.end);
  }

  /** A capture of the last match; the first one is the whole match if there is none. */
  capture(index: number): string | number {
    if (index >= this.#captures) return index === 0 ? this.whole : raise('invalid capture index');
    const from = this.#starts[index]!;
    const length = this.#lengths[index]!;
    if (length === UNFINISHED) raise('unfinished capture');
    if (length === POSITION) return from + 1;
    return this.#subject.slice(from, from + length);
  }

  #byte(position: number): number {
    return position < this.#subject.length ? this.#subject.charCodeAt(position) : END;
  }

  #item(position: number): number {
    return position < this.#pattern.length ? this.#pattern.charCodeAt(position) : END;
  }

  /** One level deeper; what it returns, or NO_MATCH. Not reset by an error: matchAt() begins anew. */
  #nested(subjectStart: number, patternStart: number): number {
    if (++this.#depth >= MAX_DEPTH) throw new PatternError('pattern too complex');
    const end = this.#match(subjectStart, patternStart);
    this.#depth--;
    return end;
  }

  #match(subjectStart: number, patternStart: number): number {
    let s = subjectStart;
    let p = patternStart;
    for (;;) {
      step(1);
      switch (this.#item(p)) {
        case END:
          return s;
        case OPEN:
          return this.#item(p + 1) === CLOSE
            ? this.#openCapture(s, p + 2, POSITION)
            : this.#openCapture(s, p + 1, UNFINISHED);
        case CLOSE:
          return this.#closeCapture(s, p + 1);
        case DOLLAR:
          if (this.#item(p + 1) === END) return s === this.#subject.length ? s : NO_MATCH;
          break;
        case PERCENT: {
          const letter = this.#item(p + 1);
          if (letter === LETTER_B) {
            s = this.#balanced(s, p + 2);
            if (s === NO_MATCH) return NO_MATCH;
            p += 4;
            continue;
          }
          if (letter === LETTER_F) {
            const set = p + 2;
            if (this.#item(set) !== BRACKET) throw new PatternError("missing '[' after '%f' in pattern");
            p = this.#itemEnd(set);
            const previous = s === 0 ? END : this.#byte(s - 1);
            if (this.#isInSet(previous, set, p - 1) || !this.#isInSet(this.#byte(s), set, p - 1)) return NO_MATCH;
            continue;
          }
          if (isDigit(letter)) {
            s = this.#repeatCapture(s, letter);
            if (s === NO_MATCH) return NO_MATCH;
            p += 2;
            continue;
          }
        }
      }
      const next = this.#itemEnd(p);
      switch (this.#item(next)) {
        case QUESTION: {
          if (this.#matchesOne(s, p, next)) {
            const end = this.#nested(s + 1, next + 1);
            if (end !== NO_MATCH) return end;
          }
          p = next + 1;
          continue;
        }
        case STAR:
          return this.#longest(s, p, next);
        case PLUS:
          return this.#matchesOne(s, p, next) ? this.#longest(s + 1, p, next) : NO_MATCH;
        case MINUS:
          return this.#shortest(s, p, next);
        default:
          if (!this.#matchesOne(s, p, next)) return NO_MATCH;
          s++;
          p = next;
      }
    }
  }

  /** Where the item of a pattern ends that begins at `start`. */
  #itemEnd(start: number): number {
    const first = this.#item(start);
    let p = start + 1;
    if (first === PERCENT) {
      if (this.#item(p) === END) throw new PatternError("malformed pattern (ends with '%')");
      return p + 1;
    }
    if (first !== BRACKET) return p;
    if (this.#item(p) === CARET) p++;
    // The first byte of a set is part of it, even if it is the closing bracket.
    do {
      const byte = this.#item(p);
      if (byte === END) throw new PatternError("malformed pattern (missing ']')");
      p++;
      if (byte === PERCENT && this.#item(p) !== END) p++;
    } while (this.#item(p) !== CLOSE_BRACKET);
    step(p - start);
    return p + 1;
  }

  #matchesOne(s: number, p: number, next: number): boolean {
    if (s >= this.#subject.length) return false;
    const byte = this.#subject.charCodeAt(s);
    const item = this.#pattern.charCodeAt(p);
    switch (item) {
      case DOT:
        return true;
      case PERCENT:
        return isInClass(byte, this.#pattern.charCodeAt(p + 1));
      case BRACKET:
        return this.#isInSet(byte, p, next - 1);
      default:
        return item === byte;
    }
  }

  /** Whether a byte is in the set of a pattern between the brackets at `open` and `close`. */
  #isInSet(byte: number, open: number, close: number): boolean {
    const pattern = this.#pattern;
    step(close - open);
    let p = open + 1;
    const isListed = pattern.charCodeAt(p) !== CARET;
    if (!isListed) p++;
    for (; p < close; p++) {
      const item = pattern.charCodeAt(p);
      if (item === PERCENT) {
        p++;
        if (isInClass(byte, pattern.charCodeAt(p))) return isListed;
      } else if (pattern.charCodeAt(p + 1) === MINUS && p + 2 < close) {
        p += 2;
        if (item <= byte && byte <= pattern.charCodeAt(p)) return isListed;
      } else if (item === byte) return isListed;
    }
    return !isListed;
  }

  /** As many as possible first. */
  #longest(start: number, p: number, next: number): number {
    let s = start;
    while (this.#matchesOne(s, p, next)) {
      s++;
      step(1);
    }
    for (; s >= start; s--) {
      const end = this.#nested(s, next + 1);
      if (end !== NO_MATCH) return end;
    }
    return NO_MATCH;
  }

  /** As few as possible first. */
  #shortest(start: number, p: number, next: number): number {
    for (let s = start; ; s++) {
      const end = this.#nested(s, next + 1);
      if (end !== NO_MATCH) return end;
      if (!this.#matchesOne(s, p, next)) return NO_MATCH;
    }
  }

  #openCapture(s: number, p: number, length: number): number {
    const index = this.#captures;
    if (index >= MAX_CAPTURES) throw new PatternError('too many captures');
    this.#starts[index] = s;
    this.#lengths[index] = length;
    this.#captures = index + 1;
    const end = this.#nested(s, p);
    if (end === NO_MATCH) this.#captures--;
    return end;
  }

  #closeCapture(s: number, p: number): number {
    let index = this.#captures - 1;
    while (index >= 0 && this.#lengths[index] !== UNFINISHED) index--;
    if (index < 0) throw new PatternError('invalid pattern capture');
    this.#lengths[index] = s - this.#starts[index]!;
    const end = this.#nested(s, p);
    if (end === NO_MATCH) this.#lengths[index] = UNFINISHED;
    return end;
  }

  /** `%1` … `%9` in a pattern: the same bytes again. */
  #repeatCapture(s: number, digit: number): number {
    const index = digit - DIGIT_ONE;
    if (index < 0 || index >= this.#captures || this.#lengths[index] === UNFINISHED) {
      throw new PatternError('invalid capture index');
    }
    const length = this.#lengths[index]!;
    if (length === POSITION || this.#subject.length - s < length) return NO_MATCH;
    const from = this.#starts[index]!;
    for (let i = 0; i < length; i++) {
      if (this.#subject.charCodeAt(from + i) !== this.#subject.charCodeAt(s + i)) return NO_MATCH;
      step(1);
    }
    return s + length;
  }

  /** `%bxy`: from an x to the y that balances it. */
  #balanced(start: number, p: number): number {
    const open = this.#item(p);
    const close = this.#item(p + 1);
    if (open === END || close === END) throw new PatternError('unbalanced pattern');
    if (this.#byte(start) !== open) return NO_MATCH;
    let nesting = 1;
    for (let s = start + 1; s < this.#subject.length; s++) {
      step(1);
      const byte = this.#subject.charCodeAt(s);
      if (byte === close) {
        if (--nesting === 0) return s + 1;
      } else if (byte === open) nesting++;
    }
    return NO_MATCH;
  }
}

function step(turns: number): void {
  running.turns -= turns;
  if (running.turns < 0) running.interrupt();
}
