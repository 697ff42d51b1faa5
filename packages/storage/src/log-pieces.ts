import type { DroppedComponent, Engine } from '@quotadb/engine';
import { ByteWriter } from './bytes.js';
import { RECORD_HEADER_BYTES, sealRecord } from './format.js';
import type { LogState } from './log-state.js';
import { writeDropped } from './sections.js';
import { DONE, SHARDS_AT_ONCE, type WalkGoal, WalkWriter } from './walk-writer.js';

/** A record past this length ends when no walk is under way, so that a checksum covers a bounded piece. */
const RECORD_BYTES = 1024 * 1024;
/** Written at once; a longer flush is written in pieces, and synced once. */
const WRITE_BYTES = 8 * 1024 * 1024;
const INITIAL_BYTES = 64 * 1024;
/** Drops taken from a shard under one hold of its lock. */
const DROPPED_LIMIT = 4096;

interface Moved {
  readonly origin: number;
  readonly order: number;
  readonly shard: number;
  readonly version: number;
}

/** The bytes of a write: all changes past the written watermarks, in pieces. */
export class LogPieces {
  /** Watermarks that may move once everything is written. */
  moved: Moved[] = [];
  /** Taken out of the store and not yet written. */
  dropped: DroppedComponent[] = [];

  private readonly engine: Engine;
  private readonly state: LogState;
  private readonly writer = new ByteWriter(INITIAL_BYTES);
  private readonly walks: WalkWriter;
  private readonly goal: WalkGoal;

  constructor(engine: Engine, state: LogState) {
    this.engine = engine;
    this.state = state;
    this.walks = new WalkWriter(engine, this.writer);
    this.goal = {
      from: (origin, shard) => {
        const watermark = state.writtenVersion(origin, engine.origins.orderOf(origin), shard);
        return engine.seen(shard, origin) > watermark ? watermark : DONE;
      },
      reached: (origin, order, shard, version) => this.moved.push({ origin, order, shard, version }),
    };
  }

  /** Whether there is a change to write. Notes of drops alone can wait for the next flush. */
  get hasChanges(): boolean {
    const { engine, goal } = this;
    for (let origin = 0; origin < engine.origins.count; origin++)
      for (let shard = 0; shard < engine.shardCount; shard++) if (goal.from(origin, shard) !== DONE) return true;
    return false;
  }

  /** Each piece is valid until the next is requested. */
  *collect(): Generator<Uint8Array, void> {
    const { engine, writer } = this;
    writer.length = 0;
    this.moved = [];
    let start = this.beginRecord(0);
    // Drops that a failed write had already taken out of the store.
    for (const dropped of this.dropped) writeDropped(writer, dropped);
    for (let shard = 0; shard < engine.shardCount; shard += SHARDS_AT_ONCE) {
      this.writeShards(shard, Math.min(shard + SHARDS_AT_ONCE, engine.shardCount));
      if (writer.length - start <= RECORD_BYTES) continue;
      this.endRecord(start);
      if (writer.length > WRITE_BYTES) {
        yield writer.bytes.subarray(0, writer.length);
        writer.length = 0;
      }
      start = this.beginRecord(writer.length);
    }
    if (writer.length - start > RECORD_HEADER_BYTES) this.endRecord(start);
    else writer.length = start;
    if (writer.length > 0) yield writer.bytes.subarray(0, writer.length);
  }

  /** Called when all pieces are written. */
  settle(): void {
    this.dropped = [];
    const { origins } = this.engine;
    for (const { origin, order, shard, version } of this.moved)
      if (origins.orderOf(origin) === order) this.state.setWrittenVersion(origin, order, shard, version);
    this.state.noteWhole();
  }

  private beginRecord(start: number): number {
    this.writer.reserve(RECORD_HEADER_BYTES);
    this.writer.length = start + RECORD_HEADER_BYTES;
    return start;
  }

  private endRecord(start: number): void {
    sealRecord(this.writer, start, this.state.synced, this.engine.nowMs);
  }

  private writeShards(first: number, end: number): void {
    const parts = this.walks.write(first, end, this.goal);
    while (!parts.next().done);
    for (let shard = first; shard < end; shard++) {
      for (const dropped of this.engine.takeDropped(shard, DROPPED_LIMIT)) {
        this.dropped.push(dropped);
        writeDropped(this.writer, dropped);
      }
    }
  }
}
