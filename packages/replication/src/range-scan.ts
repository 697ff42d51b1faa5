import { Batch, batchSince, type Engine, NOT_PASSED } from '@quotadb/engine';
import { contentOf, RangeFinder, rangeCountFor } from './key-range.js';

/** Components looked at under one hold of a shard's lock. */
const STEP_COMPONENTS = 256;
const STEP_KEY_BYTES = 64 * 1024;

/**
 * Visits all components of one origin in one shard, a piece at a time, while the store goes on changing. A component
 * that changes meanwhile moves towards the end of the list and is visited there, so none that stays is missed.
 * `version` is the watermark at the beginning: a component below it that is not visited was gone by then.
 */
export class RangeScan {
  readonly shard: number;
  readonly origin: number;
  private readonly order: number;
  readonly version: number;
  /** The newest change that was visited or passed over. */
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
    this.order = engine.origins.orderOf(origin);
    this.version = engine.seen(shard, origin);
    this.newest = this.version;
    this.visit = visit;
  }

  /** The slot of the origin is another's now: what was found says nothing about that one. */
  get isVoid(): boolean {
    return this.engine.origins.orderOf(this.origin) !== this.order;
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

/** An empty component counts as not held: some replicas collect it a little later than others. */
function isEmpty(batch: Batch, index: number): boolean {
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
      if (isEmpty(batch, index)) return;
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
 * The components in some ranges, key by key. Above the watermark empty ones are listed too: a replica that holds an
 * older state learns only from them that it has ended, where the origin died before it had sent that to all members.
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
      if (isEmpty(batch, index) && batch.version[index] <= this.scan.version) return;
      const held = holdings.get(finder.rangeOf(batch, index, rangeCount));
      if (held === undefined) return;
      const key = batch.keyBytes.slice(batch.keyStart(index), batch.keyEnd[index]);
      held.set(Buffer.from(key).toString('latin1'), { key, version: batch.version[index] });
    });
  }
}
