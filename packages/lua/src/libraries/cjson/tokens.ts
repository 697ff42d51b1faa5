import { stringToNumber } from '../../values/numbers.js';
import { running, STRING_BYTES } from '../../values/running.js';
import { charged } from '../memory.js';
import { isDigit } from '../string/character-classes.js';
import type { Settings } from './settings.js';

/** The parts of JSON, by the names that error messages have for them. */
export type TokenType =
  | 'T_OBJ_BEGIN'
  | 'T_OBJ_END'
  | 'T_ARR_BEGIN'
  | 'T_ARR_END'
  | 'T_STRING'
  | 'T_NUMBER'
  | 'T_BOOLEAN'
  | 'T_NULL'
  | 'T_COLON'
  | 'T_COMMA'
  | 'T_END'
  | 'T_ERROR';

const SINGLE: ReadonlyMap<number, TokenType> = new Map(
  (
    [
      ['{', 'T_OBJ_BEGIN'],
      ['}', 'T_OBJ_END'],
      ['[', 'T_ARR_BEGIN'],
      [']', 'T_ARR_END'],
      [':', 'T_COLON'],
      [',', 'T_COMMA'],
    ] as const
  ).map(([letter, type]) => [letter.charCodeAt(0), type]),
);

const ESCAPED: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['t', '\t'],
  ['n', '\n'],
  ['f', '\f'],
  ['r', '\r'],
]);

/** Bytes that are read in about the time of one turn of a loop. */
const BYTES_PER_TURN = 16;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const INVALID_NUMBER = /[+]|-?(?:0[x0-9]|inf|nan)/iy;
/** What C's strtod reads. */
const NUMBER =
  /[+-]?(?:0x(?:[\da-f]+\.?[\da-f]*|\.[\da-f]+)(?:p[+-]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan(?:\(\w*\))?)/iy;
const HEXADECIMAL = /[0-9a-fA-F]{4}/y;

/** Reads a JSON text part by part. It ends at its first zero byte, as C's strings do. */
export class Tokens {
  readonly #text: string;
  readonly #settings: Settings;
  /** What comes next is at this place. */
  position = 0;
  type: TokenType = 'T_END';
  /** Where the part began or, of an error, where the mistake is. */
  start = 0;
  /** Of a string; of an error, the mistake. */
  text = '';
  number = 0;
  boolean = false;

  constructor(text: string, settings: Settings) {
    this.#text = text;
    this.#settings = settings;
  }

  /** Goes on to the next part. */
  next(): TokenType {
    const text = this.#text;
    const from = this.position;
    let byte = this.#byte(from);
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = this.#byte(++this.position);
    this.start = this.position;
    const single = SINGLE.get(byte);
    if (single !== undefined) {
      this.type = single;
      this.position++;
    } else if (byte === 0) this.type = 'T_END';
    else if (byte === QUOTE) this.#string();
    else if (byte === MINUS || isDigit(byte)) {
      if (!this.#settings.decodeInvalidNumbers && this.#isInvalidNumber()) this.#error('invalid number');
      else this.#number();
    } else if (text.startsWith('true', this.position)) this.#boolean(true, 4);
    else if (text.startsWith('false', this.position)) this.#boolean(false, 5);
    else if (text.startsWith('null', this.position)) {
      this.type = 'T_NULL';
      this.position += 4;
    } else if (this.#settings.decodeInvalidNumbers && this.#isInvalidNumber()) this.#number();
    else this.#error('invalid token');
    running.work((this.position - from) / BYTES_PER_TURN);
    return this.type;
  }

  #byte(position: number): number {
    return position < this.#text.length ? this.#text.charCodeAt(position) : 0;
  }

  #error(what: string): void {
    this.type = 'T_ERROR';
    this.start = this.position;
    this.text = what;
  }

  #boolean(value: boolean, length: number): void {
    this.type = 'T_BOOLEAN';
    this.boolean = value;
    this.position += length;
  }

  /** What C's strtod reads and JSON does not have. */
  #isInvalidNumber(): boolean {
    INVALID_NUMBER.lastIndex = this.position;
    return INVALID_NUMBER.test(this.#text);
  }

  #number(): void {
    NUMBER.lastIndex = this.position;
    const match = NUMBER.exec(this.#text);
    if (match === null) {
      this.#error('invalid number');
      return;
    }
    const value = Number(match[0]);
    this.type = 'T_NUMBER';
    this.number = Number.isNaN(value) ? (stringToNumber(match[0]) ?? value) : value;
    this.position += match[0].length;
  }

  #string(): void {
    let text = '';
    let copied = ++this.position;
    for (;;) {
      const byte = this.#byte(this.position);
      if (byte === QUOTE) break;
      if (byte === 0) {
        this.#error('unexpected end of string');
        return;
      }
      if (byte !== BACKSLASH) {
        this.position++;
        continue;
      }
      text += charged(this.#text.slice(copied, this.position));
      const letter = this.#text.charAt(this.position + 1);
      if (letter === 'u') {
        const unicode = this.#unicode();
        if (unicode === undefined) {
          this.#error('invalid unicode escape code');
          return;
        }
        text += unicode;
      } else {
        const escaped = ESCAPED.get(letter);
        if (escaped === undefined) {
          this.#error('invalid escape code');
          return;
        }
        text += escaped;
        this.position += 2;
      }
      copied = this.position;
    }
    this.text = text + this.#text.slice(copied, this.position);
    this.type = 'T_STRING';
    this.position++;
    running.spend(STRING_BYTES + this.text.length);
  }

  /** One escape, or the two of a pair of surrogates, in UTF-8; undefined if it is wrong. */
  #unicode(): string | undefined {
    const first = this.#hexadecimal(this.position + 2);
    if (first === undefined) return undefined;
    if ((first & 0xf800) !== 0xd800) {
      this.position += 6;
      return utf8(first);
    }
    if ((first & 0x400) !== 0 || !this.#text.startsWith('\\u', this.position + 6)) return undefined;
    const second = this.#hexadecimal(this.position + 8);
    if (second === undefined || (second & 0xfc00) !== 0xdc00) return undefined;
    this.position += 12;
    return utf8((((first & 0x3ff) << 10) | (second & 0x3ff)) + 0x10000);
  }

  #hexadecimal(position: number): number | undefined {
    HEXADECIMAL.lastIndex = position;
    const match = HEXADECIMAL.exec(this.#text);
    return match === null ? undefined : Number.parseInt(match[0], 16);
  }
}

function utf8(codePoint: number): string {
  if (codePoint <= 0x7f) return String.fromCharCode(codePoint);
  const last = 0x80 | (codePoint & 0x3f);
  if (codePoint <= 0x7ff) return String.fromCharCode(0xc0 | (codePoint >> 6), last);
  const third = 0x80 | ((codePoint >> 6) & 0x3f);
  if (codePoint <= 0xffff) return String.fromCharCode(0xe0 | (codePoint >> 12), third, last);
  return String.fromCharCode(0xf0 | (codePoint >> 18), 0x80 | ((codePoint >> 12) & 0x3f), third, last);
}
