import { beforeZero } from '../values/c-string.js';
import { LuaSyntaxError } from '../values/errors.js';
import { stringToNumber } from '../values/numbers.js';

/** A reserved word or symbol is its own type; the others have a value. */
export interface Token {
  readonly type: string;
  readonly value: string | number | undefined;
}

const RESERVED = new Set(
  `and break do else elseif end false for function if in local nil not or repeat return then true until while`.split(
    ' ',
  ),
);
const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
export const END = '<eof>';
export const NAME = '<name>';
export const NUMBER = '<number>';
export const STRING = '<string>';

/** llex.c of Lua 5.1: the same tokens, the same errors. */
export class Lexer {
  readonly #source: string;
  readonly #chunkName: string;
  #at = 0;
  /** Where the token in work began: the text of it for errors. */
  #start = 0;
  line = 1;

  constructor(source: string, chunkName: string) {
    this.#source = source;
    this.#chunkName = chunkName;
  }

  fail(text: string, near?: string): never {
    const where = near === undefined ? '' : ` near '${near}'`;
    throw new LuaSyntaxError(`${this.#chunkName}:${this.line}: ${text}${where}`);
  }

  /** How errors name a token that was read last. */
  textOf(token: Token): string {
    if (token.type === NAME || token.type === STRING || token.type === NUMBER) {
      return beforeZero(token.type === STRING ? this.#stringText : this.#source.slice(this.#start, this.#at));
    }
    const code = token.type.charCodeAt(0);
    return token.type.length === 1 && (code < 32 || code === 127) ? `char(${code})` : token.type;
  }

  /** Of the last string token: its delimiters with what its escapes stand for between, as Lua's buffer has it. */
  #stringText = '';

  next(): Token {
    for (;;) {
      const character = this.#source[this.#at];
      this.#start = this.#at;
      switch (character) {
        case undefined:
          return plain(END);
        case '\n':
        case '\r':
          this.#newline();
          continue;
        case ' ':
        case '\t':
        case '\v':
        case '\f':
          this.#at++;
          continue;
        case '-':
          this.#at++;
          if (this.#source[this.#at] !== '-') return plain('-');
          this.#at++;
          this.#comment();
          continue;
        case '[': {
          const level = this.#longBracket();
          if (level >= 0) return { type: STRING, value: this.#longString(level, true) };
          if (level === -1) return plain('[');
          return this.fail('invalid long string delimiter', this.#source.slice(this.#start, this.#at));
        }
        case '"':
        case "'":
          return { type: STRING, value: this.#string(character) };
        case '=':
        case '<':
        case '>':
        case '~':
          this.#at++;
          if (this.#source[this.#at] !== '=') return plain(character);
          this.#at++;
          return plain(`${character}=`);
        case '.': {
          if (isDigit(this.#source[this.#at + 1])) return this.#number();
          const dots = this.#source.startsWith('...', this.#at) ? 3 : this.#source.startsWith('..', this.#at) ? 2 : 1;
          this.#at += dots;
          return plain('.'.repeat(dots));
        }
        default:
          if (isDigit(character)) return this.#number();
          if (isNameStart(character)) return this.#name();
          this.#at++;
          return plain(character);
      }
    }
  }

  #newline(): void {
    const first = this.#source[this.#at++];
    const second = this.#source[this.#at];
    if ((second === '\n' || second === '\r') && second !== first) this.#at++;
    this.line++;
  }

  #name(): Token {
    while (isNamePart(this.#source[this.#at])) this.#at++;
    const value = this.#source.slice(this.#start, this.#at);
    return RESERVED.has(value) ? plain(value) : { type: NAME, value };
  }

  #number(): Token {
    const source = this.#source;
    while (isDigit(source[this.#at]) || source[this.#at] === '.') this.#at++;
    if (source[this.#at] === 'e' || source[this.#at] === 'E') {
      this.#at++;
      if (source[this.#at] === '+' || source[this.#at] === '-') this.#at++;
    }
    while (isNamePart(source[this.#at])) this.#at++;
    const text = source.slice(this.#start, this.#at);
    const value = stringToNumber(text);
    return value === undefined ? this.fail('malformed number', text) : { type: NUMBER, value };
  }

  #comment(): void {
    if (this.#source[this.#at] === '[') {
      this.#start = this.#at;
      const level = this.#longBracket();
      if (level >= 0) {
        this.#longString(level, false);
        return;
      }
    }
    while (this.#at < this.#source.length && !isNewline(this.#source[this.#at])) this.#at++;
  }

  /** Reads `[==[`: the number of signs, -1 for a single bracket, -2 if the second bracket is missing. */
  #longBracket(): number {
    this.#at++;
    let level = 0;
    while (this.#source[this.#at] === '=') {
      this.#at++;
      level++;
    }
    if (this.#source[this.#at] === '[') {
      this.#at++;
      return level;
    }
    return level === 0 ? -1 : -2;
  }

  #longString(level: number, isString: boolean): string {
    const close = `]${'='.repeat(level)}]`;
    if (isNewline(this.#source[this.#at])) this.#newline();
    const parts: string[] = [];
    let from = this.#at;
    for (;;) {
      const character = this.#source[this.#at];
      if (character === undefined) this.fail(`unfinished long ${isString ? 'string' : 'comment'}`, END);
      if (character === ']' && this.#source.startsWith(close, this.#at)) break;
      if (isNewline(character)) {
        parts.push(this.#source.slice(from, this.#at), '\n');
        this.#newline();
        from = this.#at;
      } else this.#at++;
    }
    parts.push(this.#source.slice(from, this.#at));
    this.#at += close.length;
    this.#stringText = this.#source.slice(this.#start, this.#at);
    return parts.join('');
  }

  #string(delimiter: string): string {
    let value = '';
    this.#at++;
    for (;;) {
      const character = this.#source[this.#at];
      if (character === undefined) this.fail('unfinished string', END);
      if (isNewline(character)) this.fail('unfinished string', beforeZero(delimiter + value));
      this.#at++;
      if (character === delimiter) break;
      value += character === '\\' ? this.#escape(delimiter + value) : character;
    }
    this.#stringText = delimiter + value + delimiter;
    return value;
  }

  #escape(before: string): string {
    const character = this.#source[this.#at];
    if (character === undefined) return '';
    if (isNewline(character)) {
      this.#newline();
      return '\n';
    }
    this.#at++;
    if (!isDigit(character)) return ESCAPES[character] ?? character;
    let digits = character;
    while (digits.length < 3 && isDigit(this.#source[this.#at])) digits += this.#source[this.#at++];
    if (Number(digits) > 255) this.fail('escape sequence too large', beforeZero(before));
    return String.fromCharCode(Number(digits));
  }
}

function plain(type: string): Token {
  return { type, value: undefined };
}

function isNewline(character: string | undefined): boolean {
  return character === '\n' || character === '\r';
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= '0' && character <= '9';
}

function isNameStart(character: string | undefined): boolean {
  return character !== undefined && /[A-Za-z_]/.test(character);
}

function isNamePart(character: string | undefined): boolean {
  return isDigit(character) || isNameStart(character);
}
