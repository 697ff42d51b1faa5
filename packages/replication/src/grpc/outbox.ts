import { MAXIMUM_FRAME_BYTES } from '@quotadb/wire';
import { PREFIX_BYTES } from './message-reader.js';

/** Bytes gathered at most before they are taken. */
export const GATHERED_BYTES = 64 * 1024;
const ARENA_BYTES = 4 * GATHERED_BYTES;
/** Arenas kept for later, those of one tick at most: megabytes of garbage outside V8's heap make it collect all of it. */
const MAXIMUM_SPARES = 4;

interface Arena {
  readonly bytes: Buffer;
  /** Where the messages begin that were not taken, and where they end. */
  start: number;
  end: number;
  /** Taken pieces that were not given back. */
  pieces: number;
}

/** Messages on their way. */
export interface Piece {
  readonly bytes: Buffer;
  readonly arena: Arena;
}

/**
 * Outgoing messages, each behind its prefix, in one buffer: a tick has one for every shard, and a write to HTTP/2 for
 * each would cost more than encoding it. A buffer is written anew when all that was taken from it has been given back.
 */
export class Outbox {
  private arena = arenaOf(0);
  private readonly spares: Arena[] = [];

  get length(): number {
    return this.arena.end - this.arena.start;
  }

  /** Appends a copy of a message. Returns false, and does nothing, where the gathered bytes must be taken first. */
  append(message: Uint8Array): boolean {
    if (message.length > MAXIMUM_FRAME_BYTES) throw new RangeError(`a message of ${message.length} bytes is too long`);
    const needed = PREFIX_BYTES + message.length;
    const isFull = this.arena.end + needed > this.arena.bytes.length;
    if (this.length > 0 && (this.length + needed > GATHERED_BYTES || isFull)) return false;
    if (isFull) this.begin(needed);
    const { arena } = this;
    arena.bytes[arena.end] = 0;
    arena.bytes.writeUInt32BE(message.length, arena.end + 1);
    arena.bytes.set(message, arena.end + PREFIX_BYTES);
    arena.end += needed;
    return true;
  }

  /** The gathered messages. They stay as they are until they are given back, or for good. */
  take(): Piece {
    const { arena } = this;
    const bytes = arena.bytes.subarray(arena.start, arena.end);
    arena.start = arena.end;
    arena.pieces++;
    return { bytes, arena };
  }

  /** HTTP/2 has written a piece. */
  giveBack({ arena }: Piece): void {
    arena.pieces--;
    if (arena.pieces > 0 || arena.start !== arena.end) return;
    arena.start = 0;
    arena.end = 0;
    const isLarge = arena.bytes.length > ARENA_BYTES;
    if (arena === this.arena && isLarge) this.arena = arenaOf(0);
    else if (arena !== this.arena && !isLarge && this.spares.length < MAXIMUM_SPARES) this.spares.push(arena);
  }

  /** Goes on in another arena: everything in this one is taken. */
  private begin(needed: number): void {
    const spare = needed <= ARENA_BYTES ? this.spares.pop() : undefined;
    this.arena = spare ?? arenaOf(Math.max(ARENA_BYTES, needed));
  }
}

function arenaOf(size: number): Arena {
  return { bytes: Buffer.allocUnsafeSlow(size), start: 0, end: 0, pieces: 0 };
}
