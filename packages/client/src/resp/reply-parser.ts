import { ReplyError } from '../errors.js';

/**
 * Replies of RESP2 and RESP3 as values, from bytes in pieces of any size:
 *
 *   +text            string                    *n …  ~n …  >n …   array
 *   -text            ReplyError (a value)      %n key value …     Map
 *   :number  (big    number, bigint past 2^53  #t #f              boolean
 *   $n bytes  =n …   string                    ,number            number
 *   $-1  *-1  _      null
 *
 * What is complete of an array is kept while the rest of it is under way, and not read again.
 */
export type Reply = string | number | bigint | boolean | null | ReplyError | Reply[] | Map<Reply, Reply>;

interface Frame {
  readonly items: Reply[];
  readonly isMap: boolean;
  readonly isPush: boolean;
  missing: number;
}

/** Deeper than anything a server sends; a bound so that nonsense cannot pile up. */
const MAX_DEPTH = 32;
/** Numbers of so many digits are below 2^53. */
const EXACT_DIGITS = 15;

const CARRIAGE_RETURN = 0x0d;

export class ReplyParser {
  readonly #onReply: (reply: Reply) => void;
  readonly #onPush: (message: Reply[]) => void;
  readonly #frames: Frame[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #position = 0;

  constructor(onReply: (reply: Reply) => void, onPush: (message: Reply[]) => void = () => undefined) {
    this.#onReply = onReply;
    this.#onPush = onPush;
  }

  /** Throws where the bytes are no replies; the connection is of no use then. */
  receive(chunk: Buffer): void {
    this.#bytes =
      this.#position < this.#bytes.length ? Buffer.concat([this.#bytes.subarray(this.#position), chunk]) : chunk;
    this.#position = 0;
    while (this.#position < this.#bytes.length && this.#token());
  }

  /** Reads one token; false where it is not whole, and nothing was taken. */
  #token(): boolean {
    const bytes = this.#bytes;
    const start = this.#position;
    const lineEnd = bytes.indexOf(CARRIAGE_RETURN, start + 1);
    if (lineEnd === -1 || lineEnd + 1 >= bytes.length) return false;
    const type = bytes[start]!;
    switch (type) {
      case 0x3a: // :
        this.#position = lineEnd + 2;
        this.#take(integerAt(bytes, start + 1, lineEnd));
        return true;
      case 0x24: // $
      case 0x3d: // =
        return this.#bulk(type, start, lineEnd);
      case 0x2a: // *
      case 0x7e: // ~
      case 0x3e: // >
      case 0x25: // %
        this.#position = lineEnd + 2;
        this.#open(type, lengthAt(bytes, start + 1, lineEnd));
        return true;
    }
    this.#position = lineEnd + 2;
    this.#take(this.#simple(type, bytes.toString('utf8', start + 1, lineEnd)));
    return true;
  }

  #simple(type: number, text: string): Reply {
    switch (type) {
      case 0x2b: // +
        return text;
      case 0x2d: // -
        return new ReplyError(text);
      case 0x5f: // _
        return null;
      case 0x23: // #
        return text === 't';
      case 0x28: // (
        return BigInt(text);
      case 0x2c: // ,
        return text === 'inf' ? Number.POSITIVE_INFINITY : text === '-inf' ? Number.NEGATIVE_INFINITY : Number(text);
      default:
        throw new Error(`the server sent what is no reply: ${String.fromCharCode(type)}${text.slice(0, 50)}`);
    }
  }

  #bulk(type: number, start: number, lineEnd: number): boolean {
    const bytes = this.#bytes;
    const length = lengthAt(bytes, start + 1, lineEnd);
    if (length < 0) {
      this.#position = lineEnd + 2;
      this.#take(null);
      return true;
    }
    const end = lineEnd + 2 + length;
    if (end + 2 > bytes.length) return false;
    this.#position = end + 2;
    // A verbatim string says what it is in its first four bytes: `txt:`.
    this.#take(bytes.toString('utf8', lineEnd + 2 + (type === 0x3d ? 4 : 0), end));
    return true;
  }

  #open(type: number, count: number): void {
    if (count < 0) {
      this.#take(null);
      return;
    }
    if (this.#frames.length === MAX_DEPTH) throw new Error('the server sent replies nested too deeply');
    const isMap = type === 0x25;
    this.#frames.push({ items: [], isMap, isPush: type === 0x3e, missing: isMap ? count * 2 : count });
    this.#close();
  }

  /** A value is whole: it is a reply, or the next item of the array that is being read. */
  #take(value: Reply): void {
    const frame = this.#frames[this.#frames.length - 1];
    if (frame === undefined) {
      this.#onReply(value);
      return;
    }
    frame.items.push(value);
    frame.missing--;
    this.#close();
  }

  #close(): void {
    const frame = this.#frames[this.#frames.length - 1]!;
    if (frame.missing > 0) return;
    this.#frames.pop();
    if (frame.isPush && this.#frames.length === 0) this.#onPush(frame.items);
    else this.#take(frame.isMap ? mapOf(frame.items) : frame.items);
  }
}

function lengthAt(bytes: Buffer, start: number, end: number): number {
  const length = integerAt(bytes, start, end);
  if (typeof length === 'bigint') throw new Error('the server sent a length that is none');
  return length;
}

function integerAt(bytes: Buffer, start: number, end: number): number | bigint {
  const isNegative = bytes[start] === 0x2d;
  const first = isNegative ? start + 1 : start;
  if (end - first > EXACT_DIGITS) {
    const exact = BigInt(bytes.toString('latin1', start, end));
    const near = Number(exact);
    return Number.isSafeInteger(near) ? near : exact;
  }
  let value = 0;
  for (let at = first; at < end; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) throw new Error('the server sent a number that is none');
    value = value * 10 + digit;
  }
  return isNegative ? -value : value;
}

function mapOf(items: Reply[]): Map<Reply, Reply> {
  const map = new Map<Reply, Reply>();
  for (let index = 0; index + 1 < items.length; index += 2) map.set(items[index]!, items[index + 1]!);
  return map;
}
