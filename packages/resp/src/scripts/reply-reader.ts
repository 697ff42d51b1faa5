import { running, STRING_BYTES, Table, type Value } from '@quotadb/lua';
import { parseInteger64, type ReplyWriter } from '@quotadb/wire';
import { errorTable } from './error-table.js';

/**
 * The reply of a command, as a script gets it, and as it gets it from Redis:
 *
 *   reply                        Lua
 *   :integer                     number: the nearest double past 2^53
 *   $bulk                        string
 *   +status                      { ok = … }
 *   -error                       { err = … }
 *   *array                       table
 *   $-1, *-1                     false
 *   _                            nil
 *   #t, #f                       true, false
 *   ,double                      { double = … }
 *   %map                         { map = … }
 *   ~set                         { set = … }, the members are its keys
 *   (big number                  { big_number = … }
 *   =verbatim                    { verbatim_string = { format = …, string = … } }
 */
export class ReplyReader {
  private bytes: Uint8Array = new Uint8Array(0);
  private position = 0;
  private readonly halves = new Int32Array(2);

  /** The first reply of those that were written. */
  read(reply: ReplyWriter): Value {
    this.bytes = reply.bytes;
    this.position = 0;
    return this.next();
  }

  private next(): Value {
    switch (this.bytes[this.position++]) {
      case COLON:
        return this.integer();
      case DOLLAR:
        return this.bulk();
      case STAR:
        return this.array();
      case PLUS:
        return tableWith('ok', this.line());
      case MINUS:
        return errorTable(this.line());
      case UNDERSCORE:
        this.line();
        return undefined;
      case HASH:
        return this.line() === 't';
      case COMMA:
        return tableWith('double', doubleOf(this.line()));
      case PERCENT:
        return this.map();
      case TILDE:
        return this.set();
      case OPENING_PARENTHESIS:
        return tableWith('big_number', this.line());
      case EQUALS:
        return this.verbatim();
      default:
        throw new Error(`a reply cannot begin with the byte ${this.bytes[this.position - 1]}`);
    }
  }

  /** A line with an integer, small nearly always. */
  private integer(): number {
    const { bytes } = this;
    const isNegative = bytes[this.position] === MINUS;
    const start = isNegative ? this.position + 1 : this.position;
    let at = start;
    let value = 0;
    for (let digit = bytes[at] - ZERO; digit >= 0 && digit <= 9; digit = bytes[++at] - ZERO) value = value * 10 + digit;
    if (at - start > EXACT_DIGITS) return this.longInteger();
    this.position = at + LINE_END_BYTES;
    return isNegative ? -value : value;
  }

  private longInteger(): number {
    const start = this.position;
    const end = this.lineEnd();
    parseInteger64(this.bytes, start, end - start, this.halves);
    return this.halves[0] * 0x1_0000_0000 + (this.halves[1] >>> 0);
  }

  private bulk(): Value {
    const length = this.integer();
    if (length < 0) return false;
    const start = this.position;
    this.position = start + length + LINE_END_BYTES;
    running.spend(STRING_BYTES + length);
    return latin1(this.bytes, start, length);
  }

  private array(): Value {
    const count = this.integer();
    if (count < 0) return false;
    const items: Value[] = [];
    for (let index = 0; index < count; index++) items.push(this.next());
    return new Table(items);
  }

  private map(): Value {
    const pairs = this.integer();
    const entries = new Table();
    for (let index = 0; index < pairs; index++) {
      const key = this.next();
      entries.set(key, this.next());
    }
    return tableWith('map', entries);
  }

  private set(): Value {
    const count = this.integer();
    const members = new Table();
    for (let index = 0; index < count; index++) members.set(this.next(), true);
    return tableWith('set', members);
  }

  private verbatim(): Value {
    const text = this.bulk() as string;
    const content = new Table();
    content.set('format', text.slice(0, FORMAT_CHARACTERS));
    content.set('string', text.slice(FORMAT_CHARACTERS + 1));
    return tableWith('verbatim_string', content);
  }

  private line(): string {
    const start = this.position;
    return latin1(this.bytes, start, this.lineEnd() - start);
  }

  /** Goes behind the line and returns where it ends. */
  private lineEnd(): number {
    const end = this.bytes.indexOf(CARRIAGE_RETURN, this.position);
    this.position = end + LINE_END_BYTES;
    return end;
  }
}

/**
 * The bytes as a string with one in each character. Most are the decimal digits of a counter: V8 keeps the texts of
 * numbers that it made before, which is quicker than making them of bytes.
 */
export function latin1(bytes: Uint8Array, start: number, length: number): string {
  if (length <= MOST_DIGITS) {
    let value = 0;
    let at = start;
    const end = start + length;
    for (; at < end; at++) {
      const digit = bytes[at] - ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    if (at === end && value <= MOST && length > 0 && (bytes[start] !== ZERO || length === 1)) return String(value);
  }
  if (bytes !== viewedBytes) {
    viewedBytes = bytes;
    view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) as SlicedBuffer;
  }
  return view.latin1Slice(start, start + length);
}

/** The method that `toString('latin1')` finds by the name of the encoding. */
type SlicedBuffer = Buffer & { latin1Slice(start: number, end: number): string };

/** The bytes that were read last, and a Buffer on them: making one costs more than a short string does. */
let viewedBytes: Uint8Array | undefined;
let view = Buffer.alloc(0) as unknown as SlicedBuffer;

function tableWith(name: string, value: Value): Table {
  const table = new Table();
  table.resize(0, 1);
  table.set(name, value);
  return table;
}

function doubleOf(text: string): number {
  if (text === 'inf') return Number.POSITIVE_INFINITY;
  if (text === '-inf') return Number.NEGATIVE_INFINITY;
  return Number(text);
}

/** Integers with more may be past 2^53. */
const EXACT_DIGITS = 15;
/** The largest small integer of V8, of whose texts it keeps some, and how many digits it has. */
const MOST: number = 2 ** 31 - 1;
const MOST_DIGITS = 10;
const LINE_END_BYTES = 2;
/** "txt", and a colon behind it. */
const FORMAT_CHARACTERS = 3;

const CARRIAGE_RETURN = 0x0d;
const HASH = 0x23;
const DOLLAR = 0x24;
const PERCENT = 0x25;
const OPENING_PARENTHESIS = 0x28;
const STAR = 0x2a;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const COLON = 0x3a;
const EQUALS = 0x3d;
const UNDERSCORE = 0x5f;
const TILDE = 0x7e;
