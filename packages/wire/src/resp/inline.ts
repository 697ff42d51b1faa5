/**
 * Inline commands: a line of words, for people on telnet. The line ends at LF; a CR just before it is no part of it.
 *
 *   line    = blanks? (word blanks)* word? blanks?
 *   word    = a run of the three kinds below; only a blank may follow a closing quote
 *   bare    anything but blanks and quotes, taken as it is, backslash included
 *   "..."   \xHH is that byte; \n \r \t \b \a are what they are in C; backslash and any other byte is that byte
 *   '...'   \' is a quote; every other byte, backslash included, is taken as it is
 *
 * A blank between words is one of C's isspace(); only space, tab, CR and LF end a bare word, as in Redis.
 * A word is never longer than its text, so `target` needs no more room than the line takes.
 */
export interface ArgumentSink {
  addArgument(start: number, length: number): void;
}

/** Writes the words of source[start..end) to target, one behind another. False when a quote is not closed properly. */
export function splitInline(
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  sink: ArgumentSink,
): boolean {
  let position = start;
  let written = 0;
  for (;;) {
    while (position < end && isBlank(source[position])) position++;
    if (position === end) return true;

    const wordStart = written;
    let quote = 0;
    let done = false;
    while (!done) {
      if (position === end) {
        if (quote !== 0) return false;
        break;
      }
      const byte = source[position++];
      if (quote === 0) {
        if (byte === DOUBLE_QUOTE || byte === SINGLE_QUOTE) quote = byte;
        else if (endsBareWord(byte)) done = true;
        else target[written++] = byte;
      } else if (byte === quote) {
        if (position < end && !isBlank(source[position])) return false;
        done = true;
      } else if (byte === BACKSLASH && quote === SINGLE_QUOTE && position < end && source[position] === SINGLE_QUOTE) {
        target[written++] = source[position++];
      } else if (byte === BACKSLASH && quote === DOUBLE_QUOTE && position < end) {
        const hexadecimal = hexadecimalByte(source, position, end);
        target[written++] = hexadecimal >= 0 ? hexadecimal : escapedByte(source[position]);
        position += hexadecimal >= 0 ? 3 : 1;
      } else {
        target[written++] = byte;
      }
    }
    sink.addArgument(wordStart, written - wordStart);
  }
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const DOUBLE_QUOTE = 0x22;
const SINGLE_QUOTE = 0x27;
const BACKSLASH = 0x5c;
const LETTER_X = 0x78;

function isBlank(byte: number): boolean {
  return byte === SPACE || (byte >= TAB && byte <= CARRIAGE_RETURN);
}

function endsBareWord(byte: number): boolean {
  return byte === SPACE || byte === TAB || byte === CARRIAGE_RETURN || byte === LINE_FEED;
}

/** The byte that "xHH" at this position stands for, or -1 if it is not one. */
function hexadecimalByte(source: Uint8Array, position: number, end: number): number {
  if (source[position] !== LETTER_X || position + 2 >= end) return -1;
  const high = hexadecimalDigit(source[position + 1]);
  const low = hexadecimalDigit(source[position + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

function hexadecimalDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lowerCase = byte | 0x20;
  return lowerCase >= 0x61 && lowerCase <= 0x66 ? lowerCase - 0x61 + 10 : -1;
}

function escapedByte(byte: number): number {
  switch (byte) {
    case 0x6e:
      return LINE_FEED;
    case 0x72:
      return CARRIAGE_RETURN;
    case 0x74:
      return TAB;
    case 0x62:
      return 0x08;
    case 0x61:
      return 0x07;
    default:
      return byte;
  }
}
