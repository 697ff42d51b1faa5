import { MAXIMUM_FRAME_BYTES } from '@quotadb/wire';
import { PREFIX_BYTES } from './message-reader.js';

/** Bytes gathered at most before they are taken. */
export const GATHERED_BYTES = 64 * 1024;
/** Size of the buffer. Taken bytes are not overwritten: its rest is used until it is too short. */
const ARENA_BYTES = 4 * GATHERED_BYTES;

/**
 * Outgoing messages, each behind its prefix, in one buffer: a tick has one for every shard, and a write to HTTP/2 for
 * each would cost more than encoding it.
 */
export class Outbox {
  private arena: Buffer = Buffer.alloc(0);
  private start = 0;
  private end = 0;

  get length(): number {
    return this.end - this.start;
  }

  /** Appends a copy of a message. Returns false, and does nothing, where the gathered bytes must be taken first. */
  append(message: Uint8Array): boolean {
    if (message.length > MAXIMUM_FRAME_BYTES) throw new RangeError(`a message of ${message.length} bytes is too long`);
    const needed = PREFIX_BYTES + message.length;
    if (this.length > 0 && (this.length + needed > GATHERED_BYTES || this.end + needed > this.arena.length))
      return false;
    if (this.end + needed > this.arena.length) {
      this.arena = Buffer.allocUnsafeSlow(Math.max(ARENA_BYTES, needed));
      this.start = 0;
      this.end = 0;
    }
    this.arena[this.end] = 0;
    this.arena.writeUInt32BE(message.length, this.end + 1);
    this.arena.set(message, this.end + PREFIX_BYTES);
    this.end += needed;
    return true;
  }

  /** The gathered bytes; they belong to the caller. */
  take(): Buffer {
    const bytes = this.arena.subarray(this.start, this.end);
    this.start = this.end;
    return bytes;
  }
}
