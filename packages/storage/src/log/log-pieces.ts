import type { DroppedComponent, Engine } from '@quotadb/engine';
import { ByteWriter } from '../format/bytes.js';
import { RECORD_HEADER_BYTES, sealRecord } from '../format/format.js';
import { writeDropped } from '../format/sections.js';
import { DONE, SHARDS_AT_ONCE, type WalkGoal, WalkWriter } from '../format/walk-writer.js';
import { wholeWalk } from '../format/whole-walk.js';
import type { LogState } from './log-state.js';

/** A record past this length ends when no walk is under way, so that a checksum covers a bounded piece. */
const RECORD_BYTES = 1024 * 1024;
/** Records of one piece: a longer round is written in several, and synced once. */
const PIECE_RECORDS = 8;
const INITIAL_BYTES = 64 * 1024;
/** Drops taken from a shard under one hold of its lock. */
const DROPPED_LIMIT = 4096;

/** The bytes of a round: all changes past the written watermarks, in pieces. */
export class LogPieces {
  /** Taken out of the store and not yet written. */
  dropped: DroppedComponent[] = [];

  private readonly engine: Engine;
  private readonly state: LogState;
  private readonly writer = new ByteWriter(INITIAL_BYTES);
  private readonly walks: WalkWriter;
  private readonly goal: WalkGoal;
  private readonly recordBytes: number;
  /** Where the record begins that is being written, and the bytes of the round's pieces that were handed out. */
  private start = 0;
  private handedOut = 0;

  constructor(engine: Engine, state: LogState, recordBytes = RECORD_BYTES) {
    this.engine = engine;
    this.state = state;
    this.recordBytes = recordBytes;
    this.walks = new WalkWriter(engine, this.writer, true);
    this.goal = {
      from: (origin, order, shard) => {
        const watermark = state.writtenVersion(origin, order, shard);
        return engine.seen(shard, origin) > watermark ? watermark : DONE;
      },
      // Ahead of the bytes, while the log is taken: where they cannot be written, LogState.fallBack takes it back.
      reached: (origin, order, shard, version) => state.setWrittenVersion(origin, order, shard, version),
    };
  }

  /** Whether there is a change to write. Notes of drops alone can wait for the next flush. */
  get hasChanges(): boolean {
    const { engine, goal } = this;
    for (let origin = 0; origin < engine.origins.count; origin++) {
      const order = engine.origins.orderOf(origin);
      for (let shard = 0; shard < engine.shardCount; shard++) if (goal.from(origin, order, shard) !== DONE) return true;
    }
    return false;
  }

  /** Each piece is valid until the next is requested. Without all of them there is no round. */
  *collect(): Generator<Uint8Array, void> {
    const { engine, writer } = this;
    this.handedOut = 0;
    this.beginRecord(0);
    // Drops that a failed write had already taken out of the store.
    for (const dropped of this.dropped) writeDropped(writer, dropped);
    for (const _ of wholeWalk(
      engine,
      () => this.pass(),
      () => this.size,
    )) {
      if (this.start <= PIECE_RECORDS * this.recordBytes) continue;
      yield this.handOut();
      this.beginRecord(0);
    }
    if (this.size > RECORD_HEADER_BYTES) this.endRecord(false);
    if (this.start > 0) yield this.handOut();
  }

  /** Called when all pieces are written. */
  settle(): void {
    this.dropped = [];
    this.state.noteWhole();
  }

  /** Writes all changes that were not written before; yields where a record has ended and the next is empty. */
  private *pass(): Generator<void, void> {
    const { engine, writer } = this;
    for (let shard = 0; shard < engine.shardCount; shard += SHARDS_AT_ONCE) {
      engine.visit(() => this.writeShards(shard, Math.min(shard + SHARDS_AT_ONCE, engine.shardCount)));
      if (writer.length - this.start <= this.recordBytes) continue;
      this.endRecord(true);
      yield;
    }
  }

  private get size(): number {
    return this.handedOut + this.writer.length;
  }

  private beginRecord(start: number): void {
    this.start = start;
    this.writer.length = start;
    this.writer.reserve(RECORD_HEADER_BYTES);
    this.writer.length += RECORD_HEADER_BYTES;
  }

  private endRecord(roundGoesOn: boolean): void {
    sealRecord(this.writer, this.start, this.state.synced, this.engine.nowMs, roundGoesOn);
    this.beginRecord(this.writer.length);
  }

  /** All records that have ended. */
  private handOut(): Uint8Array {
    this.handedOut += this.start;
    return this.writer.bytes.subarray(0, this.start);
  }

  private writeShards(first: number, end: number): void {
    this.walks.write(first, end, this.goal);
    for (let shard = first; shard < end; shard++) {
      const taken = this.engine.takeDropped(shard, DROPPED_LIMIT);
      if (taken.length === 0) continue;
      for (const dropped of taken) {
        this.dropped.push(dropped);
        writeDropped(this.writer, dropped);
      }
    }
  }
}
