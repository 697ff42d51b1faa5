import { Batch, batchSince, type Engine, NOT_PASSED } from '@quotadb/engine';
import { contentOf, RangeFinder, rangeCountFor } from './key-range.js';

/** Components looked at under one hold of a shard's lock. */
const STEP_COMPONENTS = 256;
const STEP_KEY_BYTES = 64 * 1024;

/**
 * Goes through everything held of one origin in one shard, a piece at a time, while the store goes on changing. What
 * changes meanwhile moves towards the end of the list and is met there, so nothing that stays is missed. `version` is the
 * watermark at the beginning: what is not met and lies under it was gone by then.
 */
export class RangeScan {
  readonly shard: number;
  readonly origin: number;
  readonly version: number;
  /** The newest change that was met or missed. */
  newest: number;
  isDone = false;
  private readonly engine: Engine;
  private readonly batch = new Batch();
  private from = 0;
  private passed = NOT_PASSED;
  private readonly visit: (batch: Batch, index: number) => void;

  constructor(engine: Engine, shard: number, origin: number, visit: (batch: Batch, index: number) => void) {
    this.engine = engine;
    this.shard = shard;
    this.origin = origin;
    this.version = engine.seen(shard, origin);
    this.newest = this.version;
    this.visit = visit;
  }

  step(): void {
    const { batch } = this;
    const limits = { components: STEP_COMPONENTS, keyBytes: STEP_KEY_BYTES };
    batchSince(this.engine, this.shard, this.origin, this.from, batch, limits, 0, this.passed);
    this.passed = batch.passed;
    for (let index = 0; index < batch.count; index++) this.visit(batch, index);
    this.from = batch.reached;
    this.newest = Math.max(this.newest, batch.reached);
    this.isDone = batch.count === 0 || batch.to !== 0;
  }
}

/** A component that says nothing any more counts as not held: some keep it a little longer than others. */
function isSilent(batch: Batch, index: number): boolean {
  return (
    batch.present[index] === 0 && batch.cancelEnd[index] === batch.cancelStart(index) && batch.floorMs[index] === 0
  );
}

/** Digests by range, and how the ranges were cut. */
export class RangeDigests {
  readonly scan: RangeScan;
  readonly digests: Int32Array;

  constructor(engine: Engine, shard: number, origin: number, rangeCount: number) {
    const finder = new RangeFinder();
    const digests = new Int32Array(rangeCount);
    this.digests = digests;
    this.scan = new RangeScan(engine, shard, origin, (batch, index) => {
      if (isSilent(batch, index)) return;
      digests[finder.rangeOf(batch, index, rangeCount)] += contentOf(batch, index);
    });
  }

  /** Ranges for about as many components as the store holds records in a shard. */
  static rangeCount(engine: Engine): number {
    return rangeCountFor(engine.stats().keys / engine.shardCount);
  }
}

export interface Holding {
  readonly key: Uint8Array;
  readonly version: number;
}

/**
 * What is held in some ranges, key by key. Above the watermark also what is silent: only that tells who still holds an older
 * state that it is over. Its origin may have died before it told everybody.
 */
export class RangeInventory {
  readonly scan: RangeScan;
  readonly rangeCount: number;
  readonly holdings: ReadonlyMap<number, Map<string, Holding>>;

  constructor(engine: Engine, shard: number, origin: number, rangeCount: number, ranges: readonly number[]) {
    const finder = new RangeFinder();
    const holdings = new Map(ranges.map((range) => [range, new Map<string, Holding>()]));
    this.rangeCount = rangeCount;
    this.holdings = holdings;
    this.scan = new RangeScan(engine, shard, origin, (batch, index) => {
      if (isSilent(batch, index) && batch.version[index] <= this.scan.version) return;
      const held = holdings.get(finder.rangeOf(batch, index, rangeCount));
      if (held === undefined) return;
      const key = batch.keyBytes.slice(batch.keyStart(index), batch.keyEnd[index]);
      held.set(Buffer.from(key).toString('latin1'), { key, version: batch.version[index] });
    });
  }
}
