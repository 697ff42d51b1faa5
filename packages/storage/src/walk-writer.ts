import { type Engine, NOT_PASSED, OWN_ORIGIN, type WalkLimits, walkSince } from '@quotadb/engine';
import type { ByteWriter } from './bytes.js';
import { SectionTarget } from './section-target.js';

/**
 * What is written under one hold of a shard's lock: some ten microseconds, so that a lane that needs the shard spins
 * through it and need not sleep.
 */
const PART_LIMITS: WalkLimits = { components: 48, keyBytes: 16 * 1024 };

/** Shards whose walks are written in turn: whoever waited for one has it while the others are written. */
export const SHARDS_AT_ONCE = 8;

export const DONE = -1;

/** What a file is missing of a store. */
export interface WalkGoal {
  /** From where on, or DONE where nothing is missing. */
  from(origin: number, shard: number): number;
  /** All of it was written, up to this version. */
  reached(origin: number, shard: number, version: number): void;
}

/** Writes walks as sections of a record. */
export class WalkWriter {
  private readonly engine: Engine;
  private readonly section: SectionTarget;
  /** By shard: where its walk began and how far it came. */
  private readonly starts: Float64Array;
  private readonly positions: Float64Array;
  /** By shard: the watermark that its walk has gone past, see batchSince. */
  private readonly passed: Float64Array;

  constructor(engine: Engine, writer: ByteWriter) {
    this.engine = engine;
    this.section = new SectionTarget(writer);
    this.starts = new Float64Array(engine.shardCount);
    this.positions = new Float64Array(engine.shardCount);
    this.passed = new Float64Array(engine.shardCount);
  }

  /**
   * The walks of shards [first, end), other origins first and the own one last. All of it belongs in one record: so own
   * lives are in line with what is on disk of others. Stops after a part of each shard.
   */
  *write(first: number, end: number, goal: WalkGoal): Generator<void, void> {
    for (let origin = this.engine.origins.count - 1; origin >= OWN_ORIGIN; origin--) {
      let open = this.begin(origin, first, end, goal);
      while (open > 0) {
        for (let shard = first; shard < end; shard++) {
          if (this.starts[shard] !== DONE && this.writePart(origin, shard, goal)) open--;
        }
        yield;
      }
    }
  }

  /** Returns how many shards there is something to write of. */
  private begin(origin: number, first: number, end: number, goal: WalkGoal): number {
    const { starts, positions } = this;
    let open = 0;
    for (let shard = first; shard < end; shard++) {
      const start = goal.from(origin, shard);
      starts[shard] = start;
      positions[shard] = start;
      this.passed[shard] = NOT_PASSED;
      if (start !== DONE) open++;
    }
    return open;
  }

  /** True when the walk is over. */
  private writePart(origin: number, shard: number, goal: WalkGoal): boolean {
    const { engine, section, starts, positions, passed } = this;
    section.begin(shard, origin === OWN_ORIGIN ? undefined : engine.origins.idOf(origin));
    walkSince(engine, shard, origin, positions[shard], section, PART_LIMITS, starts[shard], passed[shard]);
    section.end();
    positions[shard] = section.reached;
    passed[shard] = section.passed;
    if (section.to === 0 && section.count > 0) return false;
    starts[shard] = DONE;
    if (section.to !== 0) goal.reached(origin, shard, section.to);
    return true;
  }
}
