import { FrameError } from './frames.js';
import type { ProtoReader } from './proto-reader.js';
import { WireType } from './proto-writer.js';

const INITIAL_ENTRIES = 4096;

/** Whole numbers below 2^53. */
export class NumberColumn {
  values = new Float64Array(INITIAL_ENTRIES);
  count = 0;
  private readonly what: string;
  private readonly maximum: number;

  constructor(what: string, maximum: number) {
    this.what = what;
    this.maximum = maximum;
  }

  read(reader: ProtoReader): void {
    const end = reader.columnEnd(WireType.varint);
    while (reader.position < end) {
      if (this.count === this.values.length) this.values = larger(this.values, Float64Array, this.what, this.maximum);
      this.values[this.count++] = reader.uint53();
    }
    reader.closeColumn(end);
  }

  expectCount(count: number): void {
    if (this.count !== count) throw new FrameError(`there are ${this.count} ${this.what}: it should be ${count}`);
  }

  /** Turns distances into indexes of components, which have to be below `components`. */
  toPlaces(components: number): void {
    let place = 0;
    for (let entry = 0; entry < this.count; entry++) {
      place += this.values[entry];
      if (place >= components) throw new FrameError(`${this.what}: there is no component ${place}`);
      this.values[entry] = place;
    }
  }
}

/** Unsigned 64-bit numbers in halves. */
export class AmountColumn {
  high = new Int32Array(INITIAL_ENTRIES);
  low = new Int32Array(INITIAL_ENTRIES);
  count = 0;
  private readonly what: string;
  private readonly maximum: number;

  constructor(what: string, maximum: number) {
    this.what = what;
    this.maximum = maximum;
  }

  read(reader: ProtoReader): void {
    const end = reader.columnEnd(WireType.varint);
    while (reader.position < end) {
      if (this.count === this.low.length) {
        this.high = larger(this.high, Int32Array, this.what, this.maximum);
        this.low = larger(this.low, Int32Array, this.what, this.maximum);
      }
      reader.uint64();
      this.high[this.count] = reader.high;
      this.low[this.count++] = reader.low;
    }
    reader.closeColumn(end);
  }

  expectCount(count: number): void {
    if (this.count !== count) throw new FrameError(`there are ${this.count} ${this.what}: it should be ${count}`);
  }

  bigintAt(entry: number): bigint {
    return (BigInt(this.high[entry] >>> 0) << 32n) | BigInt(this.low[entry] >>> 0);
  }
}

function larger<T extends Float64Array | Int32Array>(
  from: T,
  Kind: new (length: number) => T,
  what: string,
  maximum: number,
): T {
  if (from.length >= maximum) throw new FrameError(`there are more than ${maximum} ${what}`);
  const to = new Kind(from.length * 2);
  to.set(from);
  return to;
}
