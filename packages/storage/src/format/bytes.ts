/** Bytes written one after another into a buffer that grows. Numbers are little-endian. */
export class ByteWriter {
  bytes: Uint8Array;
  view: DataView;
  length = 0;

  constructor(initialBytes: number) {
    this.bytes = new Uint8Array(initialBytes);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Makes room for `count` more bytes; the writes that follow do not check for it. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
  }

  byte(value: number): void {
    this.bytes[this.length++] = value;
  }

  uint16(value: number): void {
    this.view.setUint16(this.length, value, true);
    this.length += 2;
  }

  uint32(value: number): void {
    this.view.setUint32(this.length, value, true);
    this.length += 4;
  }

  double(value: number): void {
    this.view.setFloat64(this.length, value, true);
    this.length += 8;
  }

  raw(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** A whole number from 0 to 2^53 − 1, seven bits a byte, the lowest first; at most eight bytes. */
  varint(value: number): void {
    this.length = putVarint(this.bytes, this.length, value);
  }
}

/** Writes a varint at this place and returns the place behind it. */
export function putVarint(bytes: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  if (rest > MAXIMUM_INT31) {
    // Versions are such: four bytes at once, as integers of 32 bits, and no division of doubles for each.
    const high = Math.floor(rest / 2 ** 28);
    const low = rest - high * 2 ** 28;
    bytes[at] = low | 128;
    bytes[at + 1] = (low >>> 7) | 128;
    bytes[at + 2] = (low >>> 14) | 128;
    bytes[at + 3] = (low >>> 21) | 128;
    at += 4;
    rest = high;
  }
  let bits = rest | 0;
  for (; bits > 127; bits >>>= 7) bytes[at++] = bits | 128;
  bytes[at++] = bits;
  return at;
}

/** Reads what a ByteWriter wrote. Past the end it throws a RangeError. */
export class ByteReader {
  bytes: Uint8Array;
  view: DataView;
  position = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.position >= this.bytes.length;
  }

  byte(): number {
    if (this.position >= this.bytes.length) throw new RangeError('a record ends too early');
    return this.bytes[this.position++];
  }

  uint16(): number {
    this.position += 2;
    return this.view.getUint16(this.position - 2, true);
  }

  uint32(): number {
    this.position += 4;
    return this.view.getUint32(this.position - 4, true);
  }

  double(): number {
    this.position += 8;
    return this.view.getFloat64(this.position - 8, true);
  }

  skip(count: number): void {
    if (this.position + count > this.bytes.length) throw new RangeError('a record ends too early');
    this.position += count;
  }

  raw(count: number): Uint8Array {
    if (this.position + count > this.bytes.length) throw new RangeError('a record ends too early');
    this.position += count;
    return this.bytes.subarray(this.position - count, this.position);
  }

  varint(): number {
    let value = 0;
    let shift = 0;
    for (; shift < 28; shift += 7) {
      const byte = this.byte();
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    let factor = 2 ** 28;
    for (;;) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  }
}

const MAXIMUM_INT31 = 2 ** 31 - 1;
