/**
 * The one reader of RESP replies, versions 2 and 3: it splits a stream into tokens, nests them, and holds the bounds.
 * A `ReplyBuilder` makes of each token what its user needs: values, typed replies, exact bytes, or a count.
 *
 *   type                bytes                          token
 *   ------------------- ------------------------------ -----------------------------------------------------------
 *   + - : , ( # _       type text CR LF                line: simple string, error, integer, double, big number,
 *                                                      boolean, null
 *   $ = !               type n CR LF n bytes CR LF     bulk: string, verbatim string, error
 *   * ~ > %             type n CR LF n replies         aggregate: array, set, push, map (2n replies)
 *   |                   | n CR LF 2n replies           attribute of the reply behind it: read and dropped
 *   $-1  *-1            type -1 CR LF                  null of RESP2
 *
 * A length is written in one way only: digits without a sign or leading zeros. Other bytes are a `ProtocolError`.
 */
export interface ReplyBuilder<T> {
  /** The text of a line is `bytes[start..end)`. The bytes are valid during the call only. */
  line(type: number, bytes: Buffer, start: number, end: number): T;
  /** The content of a bulk string is `bytes[start..end)`. The bytes are valid during the call only. */
  bulk(type: number, bytes: Buffer, start: number, end: number): T;
  /** `$-1` or `*-1`. */
  missing(type: number): T;
  /** A map has its keys and values in turn. */
  aggregate(type: number, items: T[]): T;
}

/** The bytes are no reply: the connection is of no further use. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

export const ReplyType = {
  Simple: 0x2b, // +
  Error: 0x2d, // -
  Integer: 0x3a, // :
  Double: 0x2c, // ,
  BigNumber: 0x28, // (
  Boolean: 0x23, // #
  Null: 0x5f, // _
  Bulk: 0x24, // $
  Verbatim: 0x3d, // =
  BulkError: 0x21, // !
  Array: 0x2a, // *
  Set: 0x7e, // ~
  Push: 0x3e, // >
  Map: 0x25, // %
  Attribute: 0x7c, // |
} as const;

/** Deeper than any reply of a server; bounds what a hostile one can pile up. */
const MAX_DEPTH = 32;
/** A simple string, an error or a length that is longer has lost its end. */
const MAX_LINE_BYTES = 64 * 1024;
/** Redis's own bound of a string, and about what V8 holds in one. A reply counts whole, with all that is in it. */
const MAX_REPLY_BYTES = 512 * 1024 * 1024;
/** The shortest reply there is, `_\r\n`: an aggregate of n items takes at least n times as many bytes. */
const SHORTEST_REPLY_BYTES = 3;
const MAX_LENGTH_DIGITS = 10;

const CR = 0x0d;
const LF = 0x0a;
const MINUS = 0x2d;
const ZERO = 0x30;
const ONE = 0x31;

interface Open<T> {
  readonly type: number;
  readonly items: T[];
  missing: number;
}

export class ReplyReader<T> {
  readonly #builder: ReplyBuilder<T>;
  readonly #onReply: (reply: T, type: number) => void;
  readonly #maxReplyBytes: number;
  /** Aggregates whose items are not all there, the outermost first. Items that were read are not read again. */
  readonly #open: Open<T>[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #position = 0;
  /** Bytes of the unfinished reply in front of `#position`. */
  #readBytes = 0;
  /** An unfinished token, in pieces until it has this many bytes: a long string is copied once. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #neededBytes = 0;

  /** `onReply` gets each whole reply and its type byte, pushes included. */
  constructor(
    builder: ReplyBuilder<T>,
    onReply: (reply: T, type: number) => void,
    maxReplyBytes: number = MAX_REPLY_BYTES,
  ) {
    this.#builder = builder;
    this.#onReply = onReply;
    this.#maxReplyBytes = maxReplyBytes;
  }

  /** Reads a piece of the stream, of any size. The caller may use the memory of the piece again afterwards. */
  receive(piece: Buffer): void {
    if (this.#pieceBytes > 0) {
      this.#pieces.push(Buffer.from(piece));
      this.#pieceBytes += piece.length;
      if (this.#pieceBytes < this.#neededBytes) return;
      this.#bytes = Buffer.concat(this.#pieces, this.#pieceBytes);
    } else {
      this.#bytes = piece;
    }
    this.#position = 0;
    while (this.#position < this.#bytes.length && this.#token());
    const rest = this.#bytes.subarray(this.#position);
    this.#pieces = rest.length === 0 ? [] : [Buffer.from(rest)];
    this.#pieceBytes = rest.length;
  }

  /** Reads one token; false where its last byte has not arrived. */
  #token(): boolean {
    const bytes = this.#bytes;
    const start = this.#position;
    const lineEnd = bytes.indexOf(CR, start + 1);
    if (lineEnd === -1 || lineEnd + 1 >= bytes.length) return this.#await(bytes.length - start + 1, MAX_LINE_BYTES);
    if (bytes[lineEnd + 1] !== LF) throw new ProtocolError('the server sent a line that does not end with CR LF');
    const type = bytes[start]!;
    switch (type) {
      case ReplyType.Integer:
      case ReplyType.Simple:
      case ReplyType.Error:
      case ReplyType.Double:
      case ReplyType.BigNumber:
      case ReplyType.Boolean:
      case ReplyType.Null:
        this.#advance(lineEnd + 2);
        this.#take(this.#builder.line(type, bytes, start + 1, lineEnd), type);
        return true;
      case ReplyType.Bulk:
      case ReplyType.Verbatim:
      case ReplyType.BulkError:
        return this.#bulk(type, start, lineEnd);
      case ReplyType.Array:
      case ReplyType.Set:
      case ReplyType.Push:
      case ReplyType.Map:
      case ReplyType.Attribute:
        this.#begin(type, lengthAt(bytes, start + 1, lineEnd), lineEnd + 2);
        return true;
    }
    throw new ProtocolError(
      `the server sent ${JSON.stringify(bytes.toString('latin1', start, Math.min(lineEnd, start + 40)))}, ` +
        'which is no reply: is it a QuotaDB or Redis server?',
    );
  }

  #bulk(type: number, start: number, lineEnd: number): boolean {
    const bytes = this.#bytes;
    const length = lengthAt(bytes, start + 1, lineEnd);
    if (length < 0) {
      this.#advance(lineEnd + 2);
      this.#take(this.#builder.missing(type), type);
      return true;
    }
    const end = lineEnd + 2 + length;
    if (end + 2 > bytes.length) return this.#await(end + 2 - start, this.#maxReplyBytes - this.#readBytes);
    if (bytes[end] !== CR || bytes[end + 1] !== LF) {
      throw new ProtocolError(`the server sent a string that is longer than its length of ${length} bytes`);
    }
    this.#advance(end + 2);
    this.#take(this.#builder.bulk(type, bytes, lineEnd + 2, end), type);
    return true;
  }

  #begin(type: number, length: number, end: number): void {
    this.#advance(end);
    if (length < 0) {
      this.#take(this.#builder.missing(type), type);
      return;
    }
    if (this.#open.length === MAX_DEPTH) throw new ProtocolError(`the server nested replies over ${MAX_DEPTH} deep`);
    const missing = type === ReplyType.Map || type === ReplyType.Attribute ? length * 2 : length;
    this.#checkSize(this.#readBytes + missing * SHORTEST_REPLY_BYTES, this.#maxReplyBytes);
    this.#open.push({ type, items: [], missing });
    if (missing === 0) this.#close();
  }

  /** A reply is whole: it goes to the listener, or into the aggregate that is open. */
  #take(reply: T, type: number): void {
    const parent = this.#open[this.#open.length - 1];
    if (parent === undefined) {
      this.#readBytes = 0;
      this.#onReply(reply, type);
      return;
    }
    parent.items.push(reply);
    if (--parent.missing === 0) this.#close();
  }

  #close(): void {
    const { type, items } = this.#open.pop()!;
    if (type !== ReplyType.Attribute) this.#take(this.#builder.aggregate(type, items), type);
  }

  #await(tokenBytes: number, maxBytes: number): false {
    this.#checkSize(tokenBytes, maxBytes);
    this.#neededBytes = tokenBytes;
    return false;
  }

  #advance(position: number): void {
    this.#readBytes += position - this.#position;
    this.#checkSize(this.#readBytes, this.#maxReplyBytes);
    this.#position = position;
  }

  #checkSize(bytes: number, maxBytes: number): void {
    if (bytes > maxBytes) throw new ProtocolError(`the server sent a reply over the bound of ${maxBytes} bytes`);
  }
}

/** A length, or −1 for the null of RESP2. */
function lengthAt(bytes: Buffer, start: number, end: number): number {
  const first = bytes[start]!;
  if (first === MINUS && bytes[start + 1] === ONE && end === start + 2) return -1;
  let length = 0;
  let isLength = end > start && end - start <= MAX_LENGTH_DIGITS && (first !== ZERO || end === start + 1);
  for (let at = start; at < end && isLength; at++) {
    const digit = bytes[at]! - ZERO;
    isLength = digit >= 0 && digit <= 9;
    length = length * 10 + digit;
  }
  if (isLength) return length;
  throw new ProtocolError(
    `the server sent ${JSON.stringify(bytes.toString('latin1', start, Math.min(end, start + 40)))} as a length`,
  );
}
