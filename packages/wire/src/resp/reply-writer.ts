import { digitCount, formatDigits, formatInteger64, INTEGER64_TEXT_BYTES } from './integer.js';

/**
 * Writes replies, as RESP2 or RESP3, into one growing buffer that is used again after each send.
 *
 *   reply       RESP2                     RESP3
 *   simple      +text\r\n                 same
 *   error       -message\r\n              same
 *   integer     :digits\r\n               same
 *   bulk        $length\r\nbytes\r\n      same
 *   array       *count\r\n then items     same
 *   nil         $-1\r\n                   _\r\n
 *   nilArray    *-1\r\n                   _\r\n
 *   map         *2n\r\n                   %n\r\n
 *   set         *n\r\n                    ~n\r\n
 *   push        *n\r\n                    >n\r\n
 *   double      bulk of the text          ,text\r\n      shortest digits that read back the same; inf, -inf, nan
 *   boolean     :1\r\n or :0\r\n          #t\r\n or #f\r\n
 *   bigNumber   bulk of the digits        (digits\r\n
 *   verbatim    bulk of the text          =length\r\ntxt:text\r\n, the length counting "txt:"
 *
 * Text is UTF-8. Integers, ok, nil, headers and short bulks allocate nothing unless the buffer must grow.
 */
export class ReplyWriter {
  /** Enough for some thousand counter replies, so that a deep pipeline seldom makes it grow. */
  static readonly INITIAL_BYTES = 16 * 1024;
  /** A buffer that grew past this many times its first size is given back by reset(): one huge reply must not stay. */
  static readonly KEPT_GROWTH = 4;

  protocol: 2 | 3 = 2;
  /** The replies lie in bytes[0..length). The array is replaced when it grows, so never keep it. */
  bytes: Uint8Array;
  length = 0;
  /** How many error replies were ever written here; neither reset() nor truncate() takes any back. */
  errors = 0;

  private readonly initialBytes: number;
  /** Digits are written last to first, so those whose number is not known beforehand take shape here. */
  private readonly digits = new Uint8Array(INTEGER64_TEXT_BYTES);

  constructor(initialBytes: number = ReplyWriter.INITIAL_BYTES) {
    this.initialBytes = initialBytes;
    this.bytes = new Uint8Array(initialBytes);
  }

  reset(): void {
    this.length = 0;
    if (this.bytes.length > this.initialBytes * ReplyWriter.KEPT_GROWTH) this.bytes = new Uint8Array(this.initialBytes);
  }

  /** Takes back everything written past this length. */
  truncate(length: number): void {
    if (length < 0 || length > this.length) throw new RangeError(`cannot truncate ${this.length} bytes to ${length}`);
    this.length = length;
  }

  integer(value: number): void {
    if ((value | 0) === value) this.integer64(value < 0 ? -1 : 0, value);
    else this.integer64(Math.floor(value / 0x1_0000_0000), value | 0);
  }

  /** As array() and then integer() of each, in one go. */
  integerArray(values: Float64Array): void {
    this.reserve(HEADER_BYTES + values.length * (INTEGER64_TEXT_BYTES + 3));
    this.header(STAR, values.length);
    const { bytes } = this;
    let position = this.length;
    for (let index = 0; index < values.length; index++) {
      const value = values[index];
      const low = value | 0;
      if (low !== value || low < 0) {
        this.length = position;
        this.integer(value);
        position = this.length;
        continue;
      }
      bytes[position] = COLON;
      position += 1 + digitCount(low);
      formatDigits(low, bytes, position);
      bytes[position++] = CARRIAGE_RETURN;
      bytes[position++] = LINE_FEED;
    }
    this.length = position;
  }

  integer64(high: number, low: number): void {
    this.reserve(INTEGER64_TEXT_BYTES + 3);
    const { bytes } = this;
    let position = this.length;
    bytes[position++] = COLON;
    if (high === 0 && low >= 0) {
      position += digitCount(low);
      formatDigits(low, bytes, position);
    } else {
      const start = formatInteger64(high, low, this.digits, INTEGER64_TEXT_BYTES);
      for (let at = start; at < INTEGER64_TEXT_BYTES; at++) bytes[position++] = this.digits[at];
    }
    bytes[position] = CARRIAGE_RETURN;
    bytes[position + 1] = LINE_FEED;
    this.length = position + 2;
  }

  bulkInteger64(high: number, low: number): void {
    this.reserve(INTEGER64_TEXT_BYTES + 7);
    if (high === 0 && low >= 0) {
      this.header(DOLLAR, digitCount(low));
      this.decimal(0, low);
    } else {
      const start = formatInteger64(high, low, this.digits, INTEGER64_TEXT_BYTES);
      this.header(DOLLAR, INTEGER64_TEXT_BYTES - start);
      this.copy(this.digits, start, INTEGER64_TEXT_BYTES - start);
    }
    this.lineEnd();
  }

  ok(): void {
    this.reserve(5);
    const bytes = this.bytes;
    const position = this.length;
    bytes[position] = PLUS;
    bytes[position + 1] = 0x4f;
    bytes[position + 2] = 0x4b;
    bytes[position + 3] = CARRIAGE_RETURN;
    bytes[position + 4] = LINE_FEED;
    this.length = position + 5;
  }

  simple(text: string): void {
    this.line(PLUS, text);
  }

  /** The message starts with its code and has no '-': `ERR syntax error`. */
  error(message: string): void {
    this.errors++;
    this.line(MINUS, message);
  }

  bulk(bytes: Uint8Array, start: number, length: number): void {
    this.reserve(length + HEADER_BYTES + 2);
    this.header(DOLLAR, length);
    this.copy(bytes, start, length);
    this.lineEnd();
  }

  bulkText(text: string): void {
    if (isAscii(text)) {
      this.reserve(text.length + HEADER_BYTES + 2);
      this.header(DOLLAR, text.length);
      this.ascii(text);
      this.lineEnd();
    } else {
      const encoded = UTF8.encode(text);
      this.bulk(encoded, 0, encoded.length);
    }
  }

  /** As bulk, of a string that holds a byte in each character. */
  bulkLatin1(text: string): void {
    const { length } = text;
    this.reserve(length + HEADER_BYTES + 2);
    this.header(DOLLAR, length);
    this.latin1(text);
    this.lineEnd();
  }

  /** As simple, of a string that holds a byte in each character. */
  simpleLatin1(text: string): void {
    this.lineLatin1(PLUS, text);
  }

  /** As error, of a string that holds a byte in each character. */
  errorLatin1(message: string): void {
    this.errors++;
    this.lineLatin1(MINUS, message);
  }

  nil(): void {
    if (this.protocol === 3) this.null();
    else this.minusOne(DOLLAR);
  }

  nilArray(): void {
    if (this.protocol === 3) this.null();
    else this.minusOne(STAR);
  }

  array(count: number): void {
    this.reserve(HEADER_BYTES);
    this.header(STAR, count);
  }

  map(pairs: number): void {
    this.reserve(HEADER_BYTES);
    if (this.protocol === 3) this.header(PERCENT, pairs);
    else this.header(STAR, pairs * 2);
  }

  set(count: number): void {
    this.reserve(HEADER_BYTES);
    this.header(this.protocol === 3 ? TILDE : STAR, count);
  }

  push(count: number): void {
    this.reserve(HEADER_BYTES);
    this.header(this.protocol === 3 ? GREATER : STAR, count);
  }

  double(value: number): void {
    let text: string;
    if (Number.isNaN(value)) text = 'nan';
    else if (Number.isFinite(value)) text = Object.is(value, -0) ? '-0' : String(value);
    else text = value > 0 ? 'inf' : '-inf';
    if (this.protocol === 3) this.line(COMMA, text);
    else this.bulkText(text);
  }

  boolean(value: boolean): void {
    if (this.protocol === 3) this.line(HASH, value ? 't' : 'f');
    else this.integer64(0, value ? 1 : 0);
  }

  bigNumber(value: bigint): void {
    if (this.protocol === 3) this.line(OPENING_PARENTHESIS, value.toString());
    else this.bulkText(value.toString());
  }

  verbatim(text: string): void {
    if (this.protocol !== 3) {
      this.bulkText(text);
      return;
    }
    const encoded = UTF8.encode(`txt:${text}`);
    this.reserve(encoded.length + HEADER_BYTES + 2);
    this.header(EQUALS, encoded.length);
    this.copy(encoded, 0, encoded.length);
    this.lineEnd();
  }

  /** Bytes that are RESP already. */
  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.copy(bytes, 0, bytes.length);
  }

  /** Makes room for `count` more bytes. The private methods below rely on it. */
  private reserve(count: number): void {
    if (this.length + count > this.bytes.length) this.grow(this.length + count);
  }

  private grow(needed: number): void {
    let size = this.bytes.length * 2;
    while (size < needed) size *= 2;
    const grown = new Uint8Array(size);
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  private header(type: number, count: number): void {
    this.bytes[this.length++] = type;
    this.decimal(0, count);
    this.lineEnd();
  }

  private decimal(high: number, low: number): void {
    if (high === 0 && low >= 0) {
      const end = this.length + digitCount(low);
      formatDigits(low, this.bytes, end);
      this.length = end;
    } else {
      const start = formatInteger64(high, low, this.digits, INTEGER64_TEXT_BYTES);
      this.copy(this.digits, start, INTEGER64_TEXT_BYTES - start);
    }
  }

  private lineEnd(): void {
    this.bytes[this.length] = CARRIAGE_RETURN;
    this.bytes[this.length + 1] = LINE_FEED;
    this.length += 2;
  }

  /** A view for the native copy costs more than a short loop does. */
  private copy(source: Uint8Array, start: number, length: number): void {
    if (length > LOOP_COPY_BYTES) {
      this.bytes.set(source.subarray(start, start + length), this.length);
    } else {
      const target = this.bytes;
      const shift = this.length - start;
      for (let position = start; position < start + length; position++) target[position + shift] = source[position];
    }
    this.length += length;
  }

  private ascii(text: string): void {
    const target = this.bytes;
    const start = this.length;
    for (let index = 0; index < text.length; index++) target[start + index] = text.charCodeAt(index);
    this.length = start + text.length;
  }

  /** Of a long string the native copy is quicker, though it needs a Buffer. */
  private latin1(text: string): void {
    if (text.length <= LOOP_COPY_BYTES) {
      this.ascii(text);
    } else {
      const { buffer, byteOffset } = this.bytes;
      Buffer.from(buffer, byteOffset + this.length, text.length).write(text, 'latin1');
      this.length += text.length;
    }
  }

  /** A line ends at its first CR or LF, so any inside it become spaces: text from a client must not forge replies. */
  private line(type: number, text: string): void {
    this.reserve(text.length * UTF8_BYTES_PER_UNIT + 3);
    this.bytes[this.length++] = type;
    const start = this.length;
    if (isAscii(text)) {
      this.ascii(text);
    } else {
      const encoded = UTF8.encode(text);
      this.copy(encoded, 0, encoded.length);
    }
    this.endLine(start);
  }

  private lineLatin1(type: number, text: string): void {
    this.reserve(text.length + 3);
    this.bytes[this.length++] = type;
    const start = this.length;
    this.latin1(text);
    this.endLine(start);
  }

  private endLine(start: number): void {
    const bytes = this.bytes;
    for (let position = start; position < this.length; position++) {
      if (bytes[position] === CARRIAGE_RETURN || bytes[position] === LINE_FEED) bytes[position] = SPACE;
    }
    this.lineEnd();
  }

  private null(): void {
    this.reserve(3);
    this.bytes[this.length++] = UNDERSCORE;
    this.lineEnd();
  }

  private minusOne(type: number): void {
    this.reserve(5);
    const bytes = this.bytes;
    const position = this.length;
    bytes[position] = type;
    bytes[position + 1] = MINUS;
    bytes[position + 2] = 0x31;
    bytes[position + 3] = CARRIAGE_RETURN;
    bytes[position + 4] = LINE_FEED;
    this.length = position + 5;
  }
}

const UTF8 = new TextEncoder();
/** The most bytes of UTF-8 that one unit of a JavaScript string can become. */
const UTF8_BYTES_PER_UNIT = 3;
/** A type byte, an int32 and CR LF. */
const HEADER_BYTES = 13;
const LOOP_COPY_BYTES = 64;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const HASH = 0x23;
const DOLLAR = 0x24;
const PERCENT = 0x25;
const OPENING_PARENTHESIS = 0x28;
const STAR = 0x2a;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const EQUALS = 0x3d;
const GREATER = 0x3e;
const UNDERSCORE = 0x5f;
const TILDE = 0x7e;

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x7f) return false;
  return true;
}
