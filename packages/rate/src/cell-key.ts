import { ByteInput, Engine, joinInt64, KeyPrefix, RESERVED_PREFIX, Status, splitInt64 } from '@quotadb/engine';

/**
 * The names of cells. A cell is the counter of one identifier in one window, kept in the store as a key of its own, so
 * that it is replicated, made durable and expired like any other key. Regions make the same name of the same parts:
 *
 *   offset | bytes | content
 *   -------|-------|-------------------------------------------------------------------------------------
 *   0      | 3     | 00 51 44: reserved, clients' keys that begin with these bytes are refused
 *   3      | 1     | the kind of cell, see below
 *   4      | 6     | length of the window in milliseconds, big-endian      (bucket: the period)
 *   10     | 6     | start of the window, milliseconds since 1970, ditto   (bucket: requests per period)
 *   16     | 8     | bucket only: the node it belongs to, the first bytes of its incarnation
 *   16, 24 | rest  | the identifier: the key as the client wrote it, in front of it the prefix of its database
 *
 *   kind   | content                                               | expires at
 *   -------|-------------------------------------------------------|-------------------------------------
 *   'w'    | the count of a fixed window                           | its end + CELL_MARGIN_MS
 *   'r'    | the same for sliding windows, which look back by one  | its end + its length + CELL_MARGIN_MS
 *   'g'    | a bucket: the time at which it is full again          | that time, or a little later
 *   'd'    | not a cell: a key of another database than 0 (engine, reserved.ts)
 *
 * All parts in front of the identifier have fixed lengths, so two names are equal only if all of their parts are. The
 * expiry of a window's cell follows from its name, so regions cannot disagree about it. The start has 48 bits, which
 * last until the year 10889; names that repeat after that are of cells that expired long before.
 */
export const CellKind = { window: 0x77, rate: 0x72, bucket: 0x67 } as const;
export type CellKind = (typeof CellKind)[keyof typeof CellKind];

const KIND_AT = 3;
const LENGTH_AT = 4;
const START_AT = 10;
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

/** The longest identifier, in any kind of cell. */
export const MAX_CELL_KEY_BYTES = Engine.MAX_KEY_BYTES - BUCKET_HEADER_BYTES;

export const TWO_POW_32 = 0x1_0000_0000;
/** With a fourth byte, they begin the keys of quotas, which the engine opens for no command. */
const [RESERVED_FIRST, RESERVED_SECOND, RESERVED_THIRD] = RESERVED_PREFIX;
const WORD_BYTES = 4;
/** Above this the native copy is faster than a loop, though it makes a view. */
const LOOP_COPY_BYTES = 128;

/** Whether a key is in the part of the key space that belongs to cells and quotas. */
export function isReservedName(bytes: Uint8Array, start: number, length: number): boolean {
  return (
    bytes[start] === RESERVED_FIRST &&
    length >= 3 &&
    bytes[start + 1] === RESERVED_SECOND &&
    bytes[start + 2] === RESERVED_THIRD
  );
}

/** Undefined where the key is no cell. */
export function cellKindOf(key: Uint8Array): CellKind | undefined {
  if (!isReservedName(key, 0, key.length)) return undefined;
  return Object.values(CellKind).find((kind) => kind === key[KIND_AT]);
}

/** The identifier of a cell, as bytes of the name; of any other key, the key. */
export function identifierOf(key: Uint8Array): Uint8Array {
  if (!isReservedName(key, 0, key.length)) return key;
  if (key[KIND_AT] === CellKind.bucket) return key.subarray(BUCKET_HEADER_BYTES);
  return key[KIND_AT] === CellKind.window || key[KIND_AT] === CellKind.rate ? key.subarray(CELL_HEADER_BYTES) : key;
}

/** Takes from the open cell what this node has counted in it, at most this much; returns how much that was. */
export function takeFromOwn(engine: Engine, atMost: number): number {
  const own = Number(joinInt64(engine.valueHigh, engine.valueLow) - engine.foreignValue());
  const amount = Math.max(0, Math.min(own, atMost));
  if (amount === 0) return 0;
  const [high, low] = splitInt64(BigInt(-amount));
  return engine.add(high, low) === Status.Ok ? amount : 0;
}

/** Room for names of cells, one behind the other. A header stays, and stays hashed, while only the identifier changes. */
export class CellNames {
  readonly input: ByteInput;
  private readonly headerBytes: number;
  private readonly prefixes: readonly KeyPrefix[];
  private engine: Engine | undefined = undefined;

  constructor(count = 1, headerBytes: number = CELL_HEADER_BYTES) {
    this.input = new ByteInput(new Uint8Array(Engine.MAX_KEY_BYTES * count + ByteInput.SLACK_BYTES));
    this.headerBytes = headerBytes;
    this.prefixes = Array.from({ length: count }, () => new KeyPrefix());
  }

  /** Where the n-th name begins. */
  startOf(index: number): number {
    return index * Engine.MAX_KEY_BYTES;
  }

  /** Opens the cell of the n-th name, which has this many bytes. */
  open(engine: Engine, index: number, nameBytes: number): void {
    if (engine !== this.engine) this.turnTo(engine);
    const prefix = this.prefixes[index];
    if (prefix.bytes === 0) engine.hashPrefix(prefix, this.input, this.startOf(index), this.headerBytes);
    engine.openBehind(prefix, this.input, this.startOf(index), nameBytes);
  }

  /** Hashes have a secret of each store. */
  private turnTo(engine: Engine): void {
    this.engine = engine;
    for (const prefix of this.prefixes) prefix.bytes = 0;
  }

  /** Not for every increment: passing a number of more than 31 bits to a function can allocate. */
  setHeader(index: number, kind: CellKind, lengthMs: number, startMs: number): void {
    const at = this.startOf(index);
    const { bytes, view } = this.input;
    bytes[at] = RESERVED_FIRST;
    bytes[at + 1] = RESERVED_SECOND;
    bytes[at + 2] = RESERVED_THIRD;
    bytes[at + KIND_AT] = kind;
    setUint48(view, at + LENGTH_AT, lengthMs);
    setUint48(view, at + START_AT, startMs);
    this.prefixes[index].bytes = 0;
  }

  /** Writes the identifier behind the header and returns the length of the name. */
  setKey(index: number, source: ByteInput, start: number, length: number): number {
    const target = this.startOf(index) + this.headerBytes;
    if (length > LOOP_COPY_BYTES) {
      this.input.bytes.set(source.bytes.subarray(start, start + length), target);
    } else {
      // Whole words: both buffers have slack behind their last key.
      const { view } = this.input;
      for (let offset = 0; offset < length; offset += WORD_BYTES) {
        view.setInt32(target + offset, source.view.getInt32(start + offset, true), true);
      }
    }
    return this.headerBytes + length;
  }
}

/** The name of a window's cell, as bytes of its own; for tests and tools. */
export function cellName(kind: CellKind, lengthMs: number, startMs: number, identifier: Uint8Array): Uint8Array {
  const names = new CellNames();
  names.setHeader(0, kind, lengthMs, startMs);
  const nameBytes = names.setKey(0, ByteInput.copyOf(identifier), 0, identifier.length);
  return names.input.bytes.slice(0, nameBytes);
}

function setUint48(view: DataView, at: number, value: number): void {
  view.setUint16(at, Math.floor(value / TWO_POW_32) & 0xffff);
  view.setUint32(at + 2, value % TWO_POW_32);
}
