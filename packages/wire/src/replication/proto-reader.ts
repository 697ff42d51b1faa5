import { FrameError } from './frames.js';
import { WireType } from './proto-writer.js';

const TWO_POW_28 = 2 ** 28;
/** The highest value of bits 28 and up with which a number stays below 2^53. */
const MAXIMUM_HIGH = 2 ** 25 - 1;
const MAXIMUM_FIELD = 2 ** 29 - 1;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads protobuf, field after field, up to `limit`. Throws FrameError and no other error, for any bytes. */
export class ProtoReader {
  readonly bytes: Uint8Array;
  position = 0;
  limit: number;
  /** The field that `next` found. */
  field = 0;
  wireType = 0;
  /** The 64-bit number that `uint64` read. */
  high = 0;
  low = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.limit = bytes.length;
  }

  /** Goes to the next field; false at the end of the message. */
  next(): boolean {
    if (this.position === this.limit) return false;
    const tag = this.uint53();
    this.field = Math.floor(tag / 8);
    this.wireType = tag % 8;
    if (this.field === 0 || this.field > MAXIMUM_FIELD) throw new FrameError(`there is no field ${this.field}`);
    return true;
  }

  /** Skips the value of an unknown field. */
  skip(): void {
    if (this.wireType === WireType.varint) this.uint64();
    else if (this.wireType === WireType.fixed64) this.advance(8);
    else if (this.wireType === WireType.fixed32) this.advance(4);
    else if (this.wireType === WireType.bytes) this.advance(this.uint53());
    else throw new FrameError(`field ${this.field} has the wire type ${this.wireType}, which is not in use`);
  }

  expect(wireType: WireType): void {
    if (this.wireType !== wireType) {
      throw new FrameError(`field ${this.field} has the wire type ${this.wireType} instead of ${wireType}`);
    }
  }

  /** Reads a length; returns where the bytes end that begin at `position` then. */
  lengthDelimited(): number {
    this.expect(WireType.bytes);
    const length = this.uint53();
    if (length > this.limit - this.position) {
      throw new FrameError(`field ${this.field} has ${length} bytes, of which ${this.limit - this.position} are there`);
    }
    return this.position + length;
  }

  /** The bytes of this field, not copied. */
  bytesValue(): Uint8Array {
    const end = this.lengthDelimited();
    const value = this.bytes.subarray(this.position, end);
    this.position = end;
    return value;
  }

  text(maximumBytes: number): string {
    const value = this.bytesValue();
    if (value.length > maximumBytes) throw new FrameError(`a text has ${value.length} bytes: too many`);
    try {
      return utf8.decode(value);
    } catch {
      throw new FrameError(`field ${this.field} is not UTF-8`);
    }
  }

  double(): number {
    this.expect(WireType.fixed64);
    const at = this.position;
    this.advance(8);
    const value = new DataView(this.bytes.buffer, this.bytes.byteOffset + at, 8).getFloat64(0, true);
    if (!Number.isFinite(value)) throw new FrameError(`field ${this.field} is not a finite number`);
    return value;
  }

  /**
   * Where a column ends that begins at `position`. Protobuf lets every entry be a field of its own too: then this is
   * one past the start, so that a loop that reads entries until there reads one.
   */
  columnEnd(entry: WireType): number {
    if (this.wireType === entry && entry !== WireType.bytes) return this.position + 1;
    return this.lengthDelimited();
  }

  closeColumn(end: number): void {
    if (this.wireType === WireType.bytes && this.position !== end) {
      throw new FrameError(`field ${this.field} ends in the middle of an entry`);
    }
  }

  fixed32(): number {
    const { bytes, position } = this;
    this.advance(4);
    return bytes[position] | (bytes[position + 1] << 8) | (bytes[position + 2] << 16) | (bytes[position + 3] << 24);
  }

  uint32(maximum: number, what: string): number {
    const value = this.uint53();
    if (value > maximum) throw new FrameError(`${what} is ${value}: at most ${maximum} is possible`);
    return value;
  }

  /** A whole number below 2^53. */
  uint53(): number {
    const { bytes } = this;
    const first = this.position < this.limit ? bytes[this.position] : 128;
    if (first < 128) {
      this.position++;
      return first;
    }
    const low = this.sevens(4);
    if (this.isEnded) return low;
    const high = this.sevens(4);
    if (!this.isEnded) this.lastSevens(0);
    if (high > MAXIMUM_HIGH) throw new FrameError(`field ${this.field} holds a number past 2^53 - 1`);
    return low + high * TWO_POW_28;
  }

  /** Any 64-bit number, into `high` and `low`. */
  uint64(): void {
    const low = this.sevens(4);
    const middle = this.isEnded ? 0 : this.sevens(4);
    const top = this.isEnded ? 0 : this.lastSevens(255);
    this.low = low | (middle << 28);
    this.high = (middle >>> 4) | (top << 24);
  }

  private isEnded = false;

  /** Up to four bytes of seven bits. */
  private sevens(count: number): number {
    const { bytes, limit } = this;
    let value = 0;
    for (let shift = 0; shift < count * 7; shift += 7) {
      if (this.position >= limit) throw new FrameError('a number ends too early');
      const byte = bytes[this.position++];
      value |= (byte & 127) << shift;
      if (byte < 128) {
        this.isEnded = true;
        return value;
      }
    }
    this.isEnded = false;
    return value;
  }

  /** The ninth and tenth byte. */
  private lastSevens(maximum: number): number {
    const value = this.sevens(2);
    if (!this.isEnded || value > maximum) throw new FrameError(`field ${this.field} holds a number that is too long`);
    return value;
  }

  private advance(count: number): void {
    if (count > this.limit - this.position) throw new FrameError(`field ${this.field} ends too early`);
    this.position += count;
  }
}
