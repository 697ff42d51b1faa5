import { ByteInput } from '@quotadb/engine';

/**
 * Received bytes of one connection that have not run yet: the beginning of a command, or whole commands behind one that
 * waits. They lie in input.bytes[start..end). Most connections have none most of the time, and then keep at most a
 * small buffer.
 */
export class Backlog {
  static readonly INITIAL_BYTES = 256;
  /** A buffer up to this size is kept when it is empty: a connection that splits one command splits others too. */
  static readonly KEPT_BYTES = 1024;

  input: ByteInput = NOTHING;
  start = 0;
  end = 0;

  get length(): number {
    return this.end - this.start;
  }

  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.reserve(bytes.length);
    this.input.bytes.set(bytes, this.end);
    this.end += bytes.length;
  }

  /** The bytes before this position have run. */
  consumeTo(position: number): void {
    this.start = position;
    if (this.start === this.end) this.clear();
  }

  clear(): void {
    this.start = 0;
    this.end = 0;
    if (this.input.bytes.length > Backlog.KEPT_BYTES) this.input = NOTHING;
  }

  /** Moves the bytes to the front, into a doubled buffer where needed, so that appending takes linear time. */
  private reserve(count: number): void {
    const needed = this.end + count + ByteInput.SLACK_BYTES;
    if (needed <= this.input.bytes.length) return;
    const { length } = this;
    let size = Math.max(this.input.bytes.length, Backlog.INITIAL_BYTES);
    while (size < length + count + ByteInput.SLACK_BYTES) size *= 2;
    const moved =
      size === this.input.bytes.length && this.start >= length ? this.input : new ByteInput(new Uint8Array(size));
    moved.bytes.set(this.input.bytes.subarray(this.start, this.end));
    this.input = moved;
    this.start = 0;
    this.end = length;
  }
}

const NOTHING = new ByteInput(new Uint8Array(ByteInput.SLACK_BYTES));
