import { MAXIMUM_FRAME_BYTES } from '@quotadb/wire';
import { PREFIX_BYTES } from './message-reader.js';

/** What is gathered at most before it is handed on. */
export const GATHERED_BYTES = 64 * 1024;
/** Where it is gathered. What was handed on is not written over: the rest is used until it is too short. */
const ARENA_BYTES = 4 * GATHERED_BYTES;

/**
 * Messages on their way out, each behind its prefix, one after another: a tick has one for every shard, and to hand each of
 * them to HTTP/2 by itself costs more than to make it.
 */
export class Outbox {
  private arena: Buffer = Buffer.alloc(0);
  private start = 0;
  private end = 0;

  get length(): number {
    return this.end - this.start;
  }

  /** Copies a message to the end. False, and nothing done, where it is time to take what is there first. */
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

  /** What was gathered. It is the caller's. */
  take(): Buffer {
    const bytes = this.arena.subarray(this.start, this.end);
    this.start = this.end;
    return bytes;
  }
}
