import { MAXIMUM_TEXT_BYTES } from './bounds.js';
import { FrameError } from './frames.js';

export const WireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;
export type WireType = (typeof WireType)[keyof typeof WireType];

/** Longest encodings, for `reserve`. */
export const VARINT_BYTES = 10;
const TAG_BYTES = 5;
/** Room left for a length, which is known only at the end: enough for 256 MiB. */
const GAP_BYTES = 4;

const TWO_POW_28 = 2 ** 28;
const utf8 = new TextEncoder();

/**
 * Writes protobuf, field after field, into a buffer that grows and is reused. Fields with a length (columns, messages)
 * are written between `begin` and `end`. Callers of the bare numbers reserve room themselves, once for a whole column.
 */
export class ProtoWriter {
  bytes: Uint8Array = new Uint8Array(64 * 1024);
  view: DataView = new DataView(this.bytes.buffer);
  length = 0;

  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
  }

  tag(field: number, wireType: WireType): void {
    this.reserve(TAG_BYTES);
    this.uint31((field << 3) | wireType);
  }

  /** Begins a field with a length: writes from here to `end` belong to it. */
  begin(field: number): number {
    this.tag(field, WireType.bytes);
    this.reserve(GAP_BYTES);
    this.length += GAP_BYTES;
    return this.length;
  }

  end(start: number): void {
    const end = this.length;
    this.length = start - GAP_BYTES;
    this.uint31(end - start);
    // The length takes less room than was left for it.
    if (this.length !== start) copyBytes(this.bytes, start, end, this.bytes, this.length);
    this.length += end - start;
  }

  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  bytesField(field: number, bytes: Uint8Array): void {
    this.tag(field, WireType.bytes);
    this.reserve(VARINT_BYTES);
    this.uint31(bytes.length);
    this.raw(bytes);
  }

  textField(field: number, text: string): void {
    if (text === '') return;
    const bytes = utf8.encode(text);
    if (bytes.length > MAXIMUM_TEXT_BYTES) throw new FrameError(`a text of ${bytes.length} bytes cannot be sent`);
    this.bytesField(field, bytes);
  }

  /** An absent field means zero, so zero is not written. */
  uint53Field(field: number, value: number): void {
    if (value === 0) return;
    this.tag(field, WireType.varint);
    this.reserve(VARINT_BYTES);
    this.uint53(value);
  }

  doubleField(field: number, value: number): void {
    if (!Number.isFinite(value)) throw new FrameError(`${value} cannot be sent: it is not a finite number`);
    if (Object.is(value, 0)) return;
    this.tag(field, WireType.fixed64);
    this.reserve(8);
    this.view.setFloat64(this.length, value, true);
    this.length += 8;
  }

  private uint31(value: number): void {
    let rest = value;
    while (rest > 127) {
      this.bytes[this.length++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.bytes[this.length++] = rest;
  }

  /** A whole number below 2^53. */
  uint53(value: number): void {
    if (value >= 0 && value <= 127 && (value | 0) === value) {
      this.bytes[this.length++] = value;
      return;
    }
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new FrameError(`${value} cannot be sent: it is not a whole number from 0 to 2^53 - 1`);
    }
    const high = Math.floor(value / TWO_POW_28);
    const low = value - high * TWO_POW_28;
    if (high === 0) this.uint31(low);
    else {
      this.fourSevens(low);
      this.uint31(high);
    }
  }

  /** An unsigned 64-bit number in two halves. */
  uint64(high: number, low: number): void {
    if (high === 0 && low >= 0) {
      this.uint31(low);
      return;
    }
    const middle = (low >>> 28) | ((high & 0xffffff) << 4);
    const top = high >>> 24;
    this.fourSevens(low & 0xfffffff);
    if (top === 0) this.uint31(middle);
    else {
      this.fourSevens(middle);
      this.uint31(top);
    }
  }

  private fourSevens(value: number): void {
    const { bytes } = this;
    const at = this.length;
    bytes[at] = (value & 127) | 128;
    bytes[at + 1] = ((value >>> 7) & 127) | 128;
    bytes[at + 2] = ((value >>> 14) & 127) | 128;
    bytes[at + 3] = ((value >>> 21) & 127) | 128;
    this.length = at + 4;
  }
}

/** Up to this length a loop is faster than TypedArray.set. */
const SHORT_BYTES = 128;

/** Copies bytes `start` to `end` to offset `at`; inside one array only downwards. */
export function copyBytes(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): void {
  if (end - start > SHORT_BYTES) to.set(from.subarray(start, end), at);
  else for (let index = start; index < end; index++) to[at + index - start] = from[index];
}
