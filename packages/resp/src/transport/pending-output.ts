/**
 * Replies that the kernel had no room for, in bytes[start..end). Nearly every connection has none and keeps no buffer.
 * The buffer grows by doubling, so that a client that does not read does not cause a copy of all waiting bytes for
 * every reply.
 */
export class PendingOutput {
  static readonly INITIAL_BYTES = 16 * 1024;

  private bytes: Uint8Array = NOTHING;
  private start = 0;
  private end = 0;

  get length(): number {
    return this.end - this.start;
  }

  append(bytes: Uint8Array): void {
    const { length } = this;
    if (this.end + bytes.length > this.bytes.length) this.makeRoom(length + bytes.length);
    this.bytes.set(bytes, this.end);
    this.end += bytes.length;
  }

  /** All waiting bytes. */
  view(): Uint8Array {
    return this.bytes.subarray(this.start, this.end);
  }

  /** The first `count` bytes were sent. */
  consume(count: number): void {
    this.start += count;
    if (this.start === this.end) this.clear();
  }

  /** All bytes were handed over together with their array. */
  abandon(): void {
    this.bytes = NOTHING;
    this.start = 0;
    this.end = 0;
  }

  clear(): void {
    if (this.bytes.length === PendingOutput.INITIAL_BYTES && spares.length < MAXIMUM_SPARES) spares.push(this.bytes);
    this.abandon();
  }

  /** Moves the bytes to the front; in the same buffer only where at least half of it is free. */
  private makeRoom(needed: number): void {
    const kept = this.view();
    let size = Math.max(this.bytes.length, PendingOutput.INITIAL_BYTES);
    while (size < needed) size *= 2;
    const isRoomy = size === this.bytes.length && needed * 2 <= size;
    if (isRoomy) {
      this.bytes.copyWithin(0, this.start, this.end);
    } else {
      if (size === this.bytes.length) size *= 2;
      const before = this.bytes;
      this.bytes = (size === PendingOutput.INITIAL_BYTES ? spares.pop() : undefined) ?? new Uint8Array(size);
      this.bytes.set(kept);
      if (before.length === PendingOutput.INITIAL_BYTES && spares.length < MAXIMUM_SPARES) spares.push(before);
    }
    this.start = 0;
    this.end = kept.length;
  }
}

const NOTHING = new Uint8Array(0);

/**
 * Free buffers of the smallest size, for any connection of this thread. Where replies wait for the disk, each needs a
 * buffer for a moment, and allocating one costs more than the increment did.
 */
const spares: Uint8Array[] = [];
const MAXIMUM_SPARES = 256;
