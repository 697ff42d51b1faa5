/**
 * Frames are cut from large buffers: one buffer a frame, for thousands a second, would keep the garbage collector busy.
 */
const BUFFER_BYTES = 256 * 1024;
const LARGEST_CUT_BYTES = BUFFER_BYTES / 8;

/** Memory of encoded frames. */
export class FrameArena {
  private readonly maximumBuffers: number;
  private buffers: Uint8Array[] = [];
  private at = -1;
  private used = BUFFER_BYTES;

  /** As many buffers are kept, to be written over. */
  constructor(maximumBuffers: number) {
    this.maximumBuffers = maximumBuffers;
  }

  /** A copy of the first `length` bytes, which stays as it is until `reuse`. */
  copyOf(bytes: Uint8Array, length: number): Uint8Array {
    if (length > LARGEST_CUT_BYTES) return bytes.slice(0, length);
    if (this.used + length > BUFFER_BYTES) this.turn();
    const copy = this.buffers[this.at].subarray(this.used, this.used + length);
    copy.set(bytes.subarray(0, length));
    this.used += length;
    return copy;
  }

  /** The caller needs no frame of this arena any more: all are written over. */
  reuse(): void {
    this.at = -1;
    this.used = BUFFER_BYTES;
  }

  /** Frames made so far belong to their readers for good. */
  release(): void {
    this.buffers = [];
    this.reuse();
  }

  private turn(): void {
    if (this.at + 1 === this.maximumBuffers) this.release();
    this.at++;
    this.used = 0;
    if (this.at === this.buffers.length) this.buffers.push(new Uint8Array(BUFFER_BYTES));
  }
}
