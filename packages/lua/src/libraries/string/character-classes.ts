/** What `isalpha`, `isdigit` and the others say about each byte in the C locale, one bit each. */

const ALPHA = 1;
const CONTROL = 2;
const DIGIT = 4;
const LOWER = 8;
const PUNCTUATION = 16;
const SPACE = 32;
const UPPER = 64;
const HEXADECIMAL = 128;
const ZERO = 256;

const SETS: readonly (readonly [bit: number, set: RegExp])[] = [
  [ALPHA, /[A-Za-z]/],
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are the set
  [CONTROL, /[\x00-\x1f\x7f]/],
  [DIGIT, /[0-9]/],
  [LOWER, /[a-z]/],
  [PUNCTUATION, /[!-/:-@[-`{-~]/],
  [SPACE, /[ \t-\r]/],
  [UPPER, /[A-Z]/],
  [HEXADECIMAL, /[0-9A-Fa-f]/],
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is the set
  [ZERO, /\x00/],
];

const LETTERS: readonly (readonly [letter: string, bits: number])[] = [
  ['a', ALPHA],
  ['c', CONTROL],
  ['d', DIGIT],
  ['l', LOWER],
  ['p', PUNCTUATION],
  ['s', SPACE],
  ['u', UPPER],
  ['w', ALPHA | DIGIT],
  ['x', HEXADECIMAL],
  ['z', ZERO],
];

const bitsOfByte = Uint16Array.from({ length: 256 }, (_, byte) =>
  SETS.reduce((bits, [bit, set]) => (set.test(String.fromCharCode(byte)) ? bits | bit : bits), 0),
);

const bitsOfLetter = new Uint16Array(256);
for (const [letter, bits] of LETTERS) {
  bitsOfLetter[letter.charCodeAt(0)] = bits;
  bitsOfLetter[letter.toUpperCase().charCodeAt(0)] = bits;
}

/** Whether a byte is in the class of `%letter`: a capital is the complement, any other letter stands for itself. */
export function isInClass(byte: number, letter: number): boolean {
  const bits = bitsOfLetter[letter]!;
  if (bits === 0) return byte === letter;
  return ((bitsOfByte[byte]! & bits) !== 0) === ((letter & 0x20) !== 0);
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
