import { ByteInput } from '@quotadb/engine';
import { searchForeignLine } from './foreign-protocol.js';
import { splitInline } from './inline.js';
import { parseInteger64 } from './integer.js';
import type { Request } from './request.js';

/**
 * Requests of clients. A request has one of two forms, which its first byte decides; requests follow each other:
 *
 *   multibulk   '*' count CR LF, then count times:  '$' length CR LF, length bytes, CR LF
 *   inline      a line of words up to LF (see inline.ts)
 *
 *   *2\r\n $4\r\n INCR\r\n $4\r\n hits\r\n        (blanks only here, to show the parts)
 *   0      4      8        14     18              argumentStart = 8, 18; argumentLength = 4, 4
 *
 *   part      rule                                         otherwise, "Protocol error: ..."
 *   count     an integer as in integer.ts, up to           invalid multibulk length
 *             maximumArguments; 0 and less is no command
 *   count     10 at most before authentication             unauthenticated multibulk length
 *   count     its CR within 64 KiB                         too big mbulk count string
 *   '$'       exactly this byte                            expected '$', got 'x'
 *   length    an integer from 0 to maximumBulkBytes        invalid bulk length
 *   length    16384 at most before authentication          unauthenticated bulk length
 *   length    its CR within 64 KiB                         too big bulk count string
 *   inline    its LF within 64 KiB                         too big inline request
 *   inline    quotes closed, a blank behind them           unbalanced quotes in request
 *   inline    not of HTTP or TLS (foreign-protocol.ts)     Foreign: the client would not read a message
 *
 * As in Redis, a CR ends a number and the byte behind it is not looked at, nor are the two behind a bulk's bytes;
 * lines without words are skipped. Unlike Redis, a zero byte is a byte like any other (there it hides the rest of the
 * line), and a line longer than 64 KiB is refused even if its end is already there: what a client gets must not depend
 * on how its bytes were cut into packets. (Only a foreign line is also found ahead of complete commands.)
 *
 * The parser does no I/O and copies nothing: a complete command is offsets into the caller's buffer, valid until the
 * next call of next(). (Only inline words, which may hold escapes, are put into a buffer of the parser's own.) One
 * parser therefore serves any number of connections:
 *
 *   parser.foreignSearchedTo = position;         // + the bytes that an earlier turn has searched
 *   if (connection.partial !== undefined) parser.resume(connection.partial);
 *   while ((result = parser.next(input, position, end)) === ParseResult.Complete) {
 *     run(parser);
 *     position = parser.position;
 *   }
 *   if (result === ParseResult.Incomplete) {
 *     connection.partial = parser.suspend();
 *     keep(parser.position, end);              // these bytes must be there again at the next call, wherever
 *   } else refuse(result, parser.failure);     // the connection ends
 *
 * next() starts at the first byte of a command. Without resume() it knows nothing of earlier calls, so a caller that
 * does not suspend loses time and never correctness. With it, `from` is where the first byte of the suspended command
 * lies now: the bytes may have moved, and only those that are new are looked at. suspend() makes an object only where
 * reading again would cost more than a few lines; for all others it returns undefined, and the command is read again.
 * What it holds is at most three times the size of the bytes that the caller is keeping anyway.
 */
export class RequestParser implements Request {
  input: ByteInput;
  argumentCount = 0;
  argumentStart: Int32Array = new Int32Array(INITIAL_ARGUMENTS);
  argumentLength: Int32Array = new Int32Array(INITIAL_ARGUMENTS);

  /** After Complete, where the next command starts; after Incomplete, the first byte that must be kept. */
  position = 0;
  /** After Failed, the message without its `-ERR `. */
  failure = '';
  /** Before authentication a client may send small commands only. */
  authenticated = true;
  /**
   * Lines of other protocols are searched ahead, before the first command of a turn runs: up to this position there is
   * none. The caller sets it before the first call of a turn.
   */
  foreignSearchedTo = 0;

  private readonly maximumBulkBytes: number;
  private readonly maximumArguments: number;
  private inlineInput = new ByteInput(new Uint8Array(INITIAL_INLINE_BYTES));

  // How far the command has been read, for as long as it is incomplete. All relative to where it starts.
  /** The count in its first line; 0 until that has been read. */
  private promised = 0;
  /** Where the part begins that comes next: the first line, a bulk's line or a bulk's bytes. */
  private offset = 0;
  /** The length of the bulk whose bytes come next; -1 when its line comes next. */
  private bulkBytes = -1;
  /** How many bytes of the line that comes next are known not to end it. */
  private searched = 0;
  /** Where the command started when argumentStart was written. */
  private origin = 0;

  private resumed = false;
  private suspendable = false;
  /** The value of the last line read: one that fits an int32, or NEGATIVE, or NOT_A_LENGTH. */
  private lineValue = 0;
  private readonly halves = new Int32Array(2);

  constructor(options: RequestParserOptions) {
    this.maximumBulkBytes = options.maximumBulkBytes;
    this.maximumArguments = options.maximumArguments ?? RequestParser.MAXIMUM_ARGUMENTS;
    this.input = this.inlineInput;
  }

  /**
   * Each argument costs eight bytes of offsets beside its own bytes. Redis took this many until version 7, which takes
   * 2^31 - 1; no counter command needs them.
   */
  static readonly MAXIMUM_ARGUMENTS = 1024 * 1024;
  static readonly MAXIMUM_LINE_BYTES = 64 * 1024;
  static readonly MAXIMUM_ARGUMENTS_UNAUTHENTICATED = 10;
  static readonly MAXIMUM_BULK_BYTES_UNAUTHENTICATED = 16384;
  /** Offset arrays longer than this are given back when the next command starts. */
  static readonly KEPT_ARGUMENTS = 4096;

  /** Reads one command from input.bytes[from..end). */
  next(input: ByteInput, from: number, end: number): ParseResult {
    this.position = from;
    if (this.resumed) this.resumed = false;
    else this.begin();
    while (this.position < end) {
      const result = input.bytes[this.position] === STAR ? this.multibulk(input, end) : this.inline(input, end);
      if (result !== ParseResult.Complete || this.argumentCount > 0) {
        this.suspendable = result === ParseResult.Incomplete;
        return result;
      }
      this.begin();
    }
    this.suspendable = false;
    return ParseResult.Incomplete;
  }

  /** After Incomplete: what has been read of the command, for resume() before the next call, where that is worth it. */
  suspend(): PartialRequest | undefined {
    if (!this.suspendable) return undefined;
    if (this.argumentCount < SUSPENDED_ARGUMENTS && this.searched < SUSPENDED_LINE_BYTES) return undefined;
    this.suspendable = false;
    const partial: PartialRequest = {
      promised: this.promised,
      offset: this.offset,
      bulkBytes: this.bulkBytes,
      searched: this.searched,
      origin: this.origin,
      argumentCount: this.argumentCount,
      argumentStart: this.argumentStart,
      argumentLength: this.argumentLength,
    };
    this.argumentStart = new Int32Array(INITIAL_ARGUMENTS);
    this.argumentLength = new Int32Array(INITIAL_ARGUMENTS);
    return partial;
  }

  /** The next call of next() goes on with this command. A partial request is used once. */
  resume(partial: PartialRequest): void {
    this.promised = partial.promised;
    this.offset = partial.offset;
    this.bulkBytes = partial.bulkBytes;
    this.searched = partial.searched;
    this.origin = partial.origin;
    this.argumentCount = partial.argumentCount;
    this.argumentStart = partial.argumentStart;
    this.argumentLength = partial.argumentLength;
    this.resumed = true;
  }

  /** For splitInline(). */
  addArgument(start: number, length: number): void {
    if (this.argumentCount === this.argumentStart.length) this.growArguments();
    this.argumentStart[this.argumentCount] = start;
    this.argumentLength[this.argumentCount++] = length;
  }

  private begin(): void {
    this.promised = 0;
    this.offset = 0;
    this.bulkBytes = -1;
    this.searched = 0;
    this.origin = this.position;
    this.argumentCount = 0;
    if (this.argumentStart.length > RequestParser.KEPT_ARGUMENTS) {
      this.argumentStart = new Int32Array(INITIAL_ARGUMENTS);
      this.argumentLength = new Int32Array(INITIAL_ARGUMENTS);
    }
  }

  private growArguments(): void {
    const starts = new Int32Array(this.argumentStart.length * 2);
    const lengths = new Int32Array(starts.length);
    starts.set(this.argumentStart);
    lengths.set(this.argumentLength);
    this.argumentStart = starts;
    this.argumentLength = lengths;
  }

  private multibulk(input: ByteInput, end: number): ParseResult {
    const bytes = input.bytes;
    const from = this.position;
    if (this.promised === 0) {
      const result = this.multibulkCount(bytes, from, end);
      if (result !== ParseResult.Complete || this.promised === 0) return result;
    }

    const promised = this.promised;
    const shift = from - this.origin;
    let position = from + this.offset;
    let bulkBytes = this.bulkBytes;
    let count = this.argumentCount;
    let starts = this.argumentStart;
    let lengths = this.argumentLength;
    for (; count < promised; count++) {
      if (bulkBytes < 0) {
        // Nearly every length has one digit or two: read those here, and all others, and all mistakes, at leisure.
        const digit = bytes[position + 1] - ZERO;
        if (position + 5 > end || bytes[position] !== DOLLAR || digit < 0 || digit > 9) {
          bulkBytes = NOT_A_LENGTH;
        } else if (bytes[position + 2] === CARRIAGE_RETURN) {
          bulkBytes = digit;
          position += 4;
        } else {
          const second = bytes[position + 2] - ZERO;
          if (digit !== 0 && second >= 0 && second <= 9 && bytes[position + 3] === CARRIAGE_RETURN) {
            bulkBytes = digit * 10 + second;
            position += 5;
          } else {
            bulkBytes = NOT_A_LENGTH;
          }
        }
        if (bulkBytes < 0) {
          this.argumentCount = count;
          this.offset = position - from;
          this.bulkBytes = -1;
          const result = this.bulkLength(bytes, position, from, end);
          if (result !== ParseResult.Complete) return result;
          bulkBytes = this.bulkBytes;
          position = from + this.offset;
        } else if (bulkBytes > this.maximumBulkBytes) {
          return this.fail('Protocol error: invalid bulk length');
        }
      }
      if (end - position < bulkBytes + 2) {
        this.argumentCount = count;
        this.offset = position - from;
        this.bulkBytes = bulkBytes;
        return ParseResult.Incomplete;
      }
      if (count === starts.length) {
        this.growArguments();
        starts = this.argumentStart;
        lengths = this.argumentLength;
      }
      starts[count] = position - shift;
      lengths[count] = bulkBytes;
      position += bulkBytes + 2;
      bulkBytes = -1;
    }

    if (shift !== 0) for (let index = 0; index < count; index++) starts[index] += shift;
    if (this.input !== input) this.input = input;
    this.argumentCount = count;
    this.position = position;
    return ParseResult.Complete;
  }

  /** The first line. A command that says it has no arguments ends here: `promised` stays 0. */
  private multibulkCount(bytes: Uint8Array, from: number, end: number): ParseResult {
    const digit = bytes[from + 1] - ZERO;
    const short = digit > 0 && digit <= 9 && digit <= this.maximumArguments;
    if (short && from + 4 <= end && bytes[from + 2] === CARRIAGE_RETURN) {
      this.promised = digit;
      this.offset = 4;
      return ParseResult.Complete;
    }
    const next = this.readLine(bytes, from, end);
    if (next === LINE_INCOMPLETE) return ParseResult.Incomplete;
    if (next === LINE_TOO_LONG) return this.fail('Protocol error: too big mbulk count string');
    const count = this.lineValue;
    if (count === NOT_A_LENGTH || count > this.maximumArguments) {
      return this.fail('Protocol error: invalid multibulk length');
    }
    if (count > RequestParser.MAXIMUM_ARGUMENTS_UNAUTHENTICATED && !this.authenticated) {
      return this.fail('Protocol error: unauthenticated multibulk length');
    }
    if (count > 0) {
      this.promised = count;
      this.offset = next - from;
    } else {
      this.position = next;
    }
    return ParseResult.Complete;
  }

  /** A bulk's line, any length. */
  private bulkLength(bytes: Uint8Array, position: number, from: number, end: number): ParseResult {
    const next = this.readLine(bytes, position, end);
    if (next === LINE_INCOMPLETE) return ParseResult.Incomplete;
    if (next === LINE_TOO_LONG) return this.fail('Protocol error: too big bulk count string');
    if (bytes[position] !== DOLLAR) {
      return this.fail(`Protocol error: expected '$', got '${String.fromCharCode(bytes[position])}'`);
    }
    const length = this.lineValue;
    if (length < 0 || length > this.maximumBulkBytes) return this.fail('Protocol error: invalid bulk length');
    if (length > RequestParser.MAXIMUM_BULK_BYTES_UNAUTHENTICATED && !this.authenticated) {
      return this.fail('Protocol error: unauthenticated bulk length');
    }
    this.bulkBytes = length;
    this.offset = next - from;
    return ParseResult.Complete;
  }

  /** Looks for the CR, puts the number between the type byte and it into lineValue, and returns where the line ends. */
  private readLine(bytes: Uint8Array, start: number, end: number): number {
    const carriageReturn = this.searchLine(bytes, start, end, CARRIAGE_RETURN);
    if (carriageReturn < 0) return carriageReturn;
    // The byte behind the CR is not looked at, but it must be there. Until it is, the CR is found again.
    if (carriageReturn + 2 > end) return LINE_INCOMPLETE;
    this.searched = 0;
    if (!parseInteger64(bytes, start + 1, carriageReturn - start - 1, this.halves)) this.lineValue = NOT_A_LENGTH;
    else if (this.halves[0] < 0) this.lineValue = NEGATIVE;
    else this.lineValue = this.halves[0] > 0 || this.halves[1] < 0 ? NOT_A_LENGTH : this.halves[1];
    return carriageReturn + 2;
  }

  /** Where the line's last byte is; LINE_INCOMPLETE or LINE_TOO_LONG if it is not there. */
  private searchLine(bytes: Uint8Array, start: number, end: number, last: number): number {
    const limit = Math.min(end, start + RequestParser.MAXIMUM_LINE_BYTES + 1);
    let position = start + this.searched;
    while (position < limit && bytes[position] !== last) position++;
    this.searched = position - start;
    if (position < limit) return position;
    return this.searched > RequestParser.MAXIMUM_LINE_BYTES ? LINE_TOO_LONG : LINE_INCOMPLETE;
  }

  private inline(input: ByteInput, end: number): ParseResult {
    const bytes = input.bytes;
    const from = this.position;
    const lineFeed = this.searchLine(bytes, from, end, LINE_FEED);
    if (lineFeed === LINE_INCOMPLETE) return ParseResult.Incomplete;
    if (lineFeed === LINE_TOO_LONG) return this.fail('Protocol error: too big inline request');
    if (this.foreignSearchedTo <= from) {
      this.foreignSearchedTo = searchForeignLine(bytes, from, end);
      if (this.foreignSearchedTo < 0) return ParseResult.Foreign;
    }
    const lineEnd = lineFeed > from && bytes[lineFeed - 1] === CARRIAGE_RETURN ? lineFeed - 1 : lineFeed;

    const needed = lineEnd - from + ByteInput.SLACK_BYTES;
    let size = this.inlineInput.bytes.length;
    if (size < needed) {
      while (size < needed) size *= 2;
      this.inlineInput = new ByteInput(new Uint8Array(size));
    }
    if (!splitInline(bytes, from, lineEnd, this.inlineInput.bytes, this)) {
      return this.fail('Protocol error: unbalanced quotes in request');
    }
    this.input = this.inlineInput;
    this.position = lineFeed + 1;
    return ParseResult.Complete;
  }

  private fail(message: string): ParseResult {
    this.failure = message;
    return ParseResult.Failed;
  }
}

/** Foreign: the client speaks another protocol. */
export const ParseResult = { Complete: 0, Incomplete: 1, Failed: 2, Foreign: 3 } as const;
export type ParseResult = (typeof ParseResult)[keyof typeof ParseResult];

export interface RequestParserOptions {
  /** The longest argument taken; what Redis calls proto-max-bulk-len. */
  readonly maximumBulkBytes: number;
  readonly maximumArguments?: number;
}

/** A command that has not wholly arrived: how far it has been read. For resume() only. */
export interface PartialRequest {
  readonly promised: number;
  readonly offset: number;
  readonly bulkBytes: number;
  readonly searched: number;
  readonly origin: number;
  readonly argumentCount: number;
  readonly argumentStart: Int32Array;
  readonly argumentLength: Int32Array;
}

const INITIAL_ARGUMENTS = 64;
const INITIAL_INLINE_BYTES = 256;
/** Up to here, reading a command again is cheaper than two arrays and an object. */
const SUSPENDED_ARGUMENTS = 16;
const SUSPENDED_LINE_BYTES = 256;

const LINE_INCOMPLETE = -1;
const LINE_TOO_LONG = -2;
const NEGATIVE = -1;
const NOT_A_LENGTH = -2;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const DOLLAR = 0x24;
const STAR = 0x2a;
const ZERO = 0x30;
