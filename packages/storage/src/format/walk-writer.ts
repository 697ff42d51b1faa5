import { type Engine, NOT_PASSED, OWN_ORIGIN, type WalkLimits, walkForLog, walkSince } from '@quotadb/engine';
import type { ByteWriter } from './bytes.js';
import { SectionTarget } from './section-target.js';

/**
 * Written under one hold of a shard's lock: some ten microseconds, so that a lane that needs the shard spins that long
 * and need not sleep.
 */
const PART_LIMITS: WalkLimits = { components: 48, keyBytes: 16 * 1024 };

/** Shards whose walks are written in turn: a lane that waits for one gets it while the others are written. */
export const SHARDS_AT_ONCE = 8;

export const DONE = -1;

/** The versions that a file lacks, by origin and shard. */
export interface WalkGoal {
  /** The version to begin after, or DONE where the file lacks none, of the origin with this order. */
  from(origin: number, order: number, shard: number): number;
  /** All changes up to this version were written. An origin's order: engine/memory/origins.ts. */
  reached(origin: number, order: number, shard: number, version: number): void;
}

/** Writes walks as sections of a record. */
export class WalkWriter {
  private readonly engine: Engine;
  private readonly writer: ByteWriter;
  private readonly isLog: boolean;
  private readonly section: SectionTarget;
  /** By shard: where its walk began, and where it is. */
  private readonly starts: Float64Array;
  private readonly positions: Float64Array;
  /** By shard: the watermark that its walk has gone past, see batchSince. */
  private readonly passed: Float64Array;
  /** Of the origin whose walks have begun. */
  private order = 0;

  /** `isLog`: the walks of own changes follow the notes for the log, which no other walk may take. */
  constructor(engine: Engine, writer: ByteWriter, isLog: boolean) {
    this.engine = engine;
    this.writer = writer;
    this.isLog = isLog;
    this.section = new SectionTarget(writer);
    this.starts = new Float64Array(engine.shardCount);
    this.positions = new Float64Array(engine.shardCount);
    this.passed = new Float64Array(engine.shardCount);
  }

  /**
   * Writes the walks of shards [first, end), other origins first and the own one last. All of them belong in one
   * record: so own components on disk never refer to changes of other origins that are not.
   */
  write(first: number, end: number, goal: WalkGoal): void {
    for (let origin = this.engine.origins.count - 1; origin >= OWN_ORIGIN; origin--) {
      for (let open = this.begin(origin, first, end, goal); open > 0; )
        open -= this.writeParts(origin, first, end, goal);
    }
  }

  /** The same, and yields after a part of each shard. */
  *writeInParts(first: number, end: number, goal: WalkGoal): Generator<void, void> {
    for (let origin = this.engine.origins.count - 1; origin >= OWN_ORIGIN; origin--) {
      for (let open = this.begin(origin, first, end, goal); open > 0; ) {
        open -= this.writeParts(origin, first, end, goal);
        yield;
      }
    }
  }

  /** Returns how many walks were over with this part. */
  private writeParts(origin: number, first: number, end: number, goal: WalkGoal): number {
    let over = 0;
    for (let shard = first; shard < end; shard++) {
      if (this.starts[shard] !== DONE && this.writePart(origin, shard, goal)) over++;
    }
    return over;
  }

  /** Returns how many shards have changes to write. */
  private begin(origin: number, first: number, end: number, goal: WalkGoal): number {
    const { starts, positions } = this;
    const order = this.engine.origins.orderOf(origin);
    this.order = order;
    let open = 0;
    for (let shard = first; shard < end; shard++) {
      const start = goal.from(origin, order, shard);
      starts[shard] = start;
      if (start === DONE) continue;
      positions[shard] = start;
      this.passed[shard] = NOT_PASSED;
      open++;
    }
    return open;
  }

  /** True when the walk is over. */
  private writePart(origin: number, shard: number, goal: WalkGoal): boolean {
    const { engine, section, starts, positions, passed, writer, order } = this;
    const start = writer.length;
    section.begin(shard, origin === OWN_ORIGIN ? undefined : engine.origins.idOf(origin));
    const from = positions[shard];
    if (this.isLog && origin === OWN_ORIGIN) walkForLog(engine, shard, from, section, PART_LIMITS, starts[shard]);
    else walkSince(engine, shard, origin, from, section, PART_LIMITS, starts[shard], passed[shard]);
    section.end();
    // Another origin has taken the slot meanwhile, on another thread: nothing of the first was left to write.
    if (origin !== OWN_ORIGIN && (order === 0 || engine.origins.orderOf(origin) !== order)) {
      writer.length = start;
      starts[shard] = DONE;
      return true;
    }
    positions[shard] = section.reached;
    passed[shard] = section.passed;
    if (section.to === 0 && section.count > 0) return false;
    starts[shard] = DONE;
    if (section.to !== 0) goal.reached(origin, order, shard, section.to);
    return true;
  }
}
