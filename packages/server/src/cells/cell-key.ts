import { ByteInput, Engine, RESERVED_PREFIX } from '@quotadb/engine';

/**
 * The names of cells. A cell is a counter that belongs to a window of time, kept in the store as a key of its own, so that it
 * is replicated, made durable and expired like any other. Its name is made of bytes that every region puts together alike:
 *
 *   offset | bytes | content
 *   -------|-------|-----------------------------------------------------------------------------------------
 *   0      | 3     | 00 51 44: reserved, no client's key begins so (session.ts refuses it)
 *   3      | 1     | the kind of cell, see below
 *   4      | 6     | length of the window in milliseconds, big-endian      (bucket: the period)
 *   10     | 6     | start of the window, milliseconds since 1970, ditto   (bucket: events per period)
 *   16     | 8     | bucket only: which node it belongs to, the first bytes of its incarnation
 *   16, 24 | rest  | the key as the client wrote it
 *
 *   kind   |                                                       | expires at
 *   -------|-------------------------------------------------------|-----------------------------------------
 *   'w'    | the count of a fixed window: WINDOW.INCRBY            | its end + CELL_MARGIN_MS
 *   'r'    | the same for sliding windows, which look back by one  | its end + its length + CELL_MARGIN_MS
 *   'g'    | a bucket: the time at which it is full again          | that time, or a little later
 *
 * All parts in front of the key have fixed lengths, so two names are equal only if all of their parts are. The expiry of a window's cell
 * follows from its name, so regions cannot disagree about it. The start has 48 bits, which last until the year 10889; names
 * that repeat after that are of cells long gone.
 */
export const CellKind = { window: 0x77, rate: 0x72, bucket: 0x67 } as const;
export type CellKind = (typeof CellKind)[keyof typeof CellKind];

export const CELL_HEADER_BYTES = 16;
export const BUCKET_HEADER_BYTES = 24;

/**
 * How much longer than its window a cell is kept: longer than the clocks of two regions differ, so that none drops what
 * another still counts in. It is paid for in memory by very short windows.
 */
export const CELL_MARGIN_MS = 5_000;

/** Fits its six bytes with a bit to spare, and is 4,459 years. */
export const MAX_WINDOW_MS = 2 ** 47 - 1;
export const MAX_START_MS = 2 ** 48 - 1;

/** What is left for the client's key, in any kind of cell. */
export const MAX_CELL_KEY_BYTES = Engine.MAX_KEY_BYTES - BUCKET_HEADER_BYTES;

const TWO_POW_32 = 0x1_0000_0000;
/** The engine keeps what begins with one byte more to itself (quotas): not even the server's own commands open those by chance. */
const [RESERVED_FIRST, RESERVED_SECOND, RESERVED_THIRD] = RESERVED_PREFIX;
const WORD_BYTES = 4;
/** Past this the native copy is faster than a loop, though it makes a view. */
const LOOP_COPY_BYTES = 128;

/** Whether a name is in the part of the key space that belongs to cells. */
export function isReservedName(bytes: Uint8Array, start: number, length: number): boolean {
  return (
    bytes[start] === RESERVED_FIRST &&
    length >= 3 &&
    bytes[start + 1] === RESERVED_SECOND &&
    bytes[start + 2] === RESERVED_THIRD
  );
}

/** Room for names of cells, one behind the other. The header of a name stays as it is while only the key changes. */
export class CellNames {
  readonly input: ByteInput;
  private readonly capacity: number;

  constructor(count = 1) {
    this.capacity = Engine.MAX_KEY_BYTES;
    this.input = new ByteInput(new Uint8Array(this.capacity * count + ByteInput.SLACK_BYTES));
  }

  /** Where the n-th name begins. */
  startOf(index: number): number {
    return index * this.capacity;
  }

  /** Numbers that need more than 31 bits are an allocation where they are passed around: not for every increment. */
  setHeader(index: number, kind: CellKind, lengthMs: number, startMs: number): void {
    const at = this.startOf(index);
    const { bytes, view } = this.input;
    bytes[at] = RESERVED_FIRST;
    bytes[at + 1] = RESERVED_SECOND;
    bytes[at + 2] = RESERVED_THIRD;
    bytes[at + 3] = kind;
    setUint48(view, at + 4, lengthMs);
    setUint48(view, at + 10, startMs);
  }

  /** Puts the client's key behind a header of so many bytes and returns how long the name is. */
  setKey(index: number, headerBytes: number, source: ByteInput, start: number, length: number): number {
    const target = this.startOf(index) + headerBytes;
    if (length > LOOP_COPY_BYTES) {
      this.input.bytes.set(source.bytes.subarray(start, start + length), target);
    } else {
      // Whole words: both buffers have slack behind their last key.
      const { view } = this.input;
      for (let offset = 0; offset < length; offset += WORD_BYTES) {
        view.setInt32(target + offset, source.view.getInt32(start + offset, true), true);
      }
    }
    return headerBytes + length;
  }
}

function setUint48(view: DataView, at: number, value: number): void {
  view.setUint16(at, Math.floor(value / TWO_POW_32) & 0xffff);
  view.setUint32(at + 2, value % TWO_POW_32);
}
