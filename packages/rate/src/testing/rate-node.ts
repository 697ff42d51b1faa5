import {
  type Applied,
  Batch,
  ByteInput,
  batchSince,
  Engine,
  joinInt64,
  Merge,
  ORIGIN_ID_BYTES,
  OWN_ORIGIN,
  Status,
} from '@quotadb/engine';
import { bucketOf } from '../bucket.js';
import { GcraLimit } from '../gcra-limit.js';
import { SlidingCells } from '../sliding-cells.js';
import { Charge, decideAll, SlidingLimit } from '../sliding-limit.js';
import { WindowCell } from '../window-cell.js';

export const WINDOW_MS = 10_000;
/** Where the clock of a node begins, which is where a window does. */
export const WINDOW_START_MS = 1_700_000_000_000;
const PUBLISH_PERCENT = 20;
const SHARDS = 4;

export interface RateNodeOptions {
  /** Nodes differ in it. */
  readonly originByte?: number;
  /** Whether there are other regions, so that counts below the publish threshold stay here. */
  readonly hasPeers?: boolean;
  /** How many regions there are, where there are others. */
  readonly regions?: number;
  readonly publishPercent?: number;
  readonly maxMemoryBytes?: number;
}

export type LimitOfKey = readonly [key: string, limit: number, windowMs: number];

/** An engine with everything that decides on it; a test moves its time, and carries its batches to other nodes. */
export class RateNode {
  readonly engine: Engine;
  publishPercent: number;
  readonly window = new WindowCell();
  private readonly sliding = new SlidingLimit();
  private readonly slidingCells = new SlidingCells();
  private readonly gcraLimit = new GcraLimit();
  private readonly merge: Merge;

  constructor(options: RateNodeOptions = {}) {
    const { originByte = 1, hasPeers = false, publishPercent = PUBLISH_PERCENT } = options;
    this.publishPercent = publishPercent;
    this.engine = Engine.format({
      maxMemoryBytes: options.maxMemoryBytes ?? 16 * 1024 * 1024,
      shardCount: SHARDS,
      origin: new Uint8Array(ORIGIN_ID_BYTES).fill(originByte),
      nowMs: WINDOW_START_MS,
    });
    if (hasPeers) {
      this.engine.startRelaying();
      this.engine.setRegionCount(options.regions ?? 2);
      for (let shard = 0; shard < SHARDS; shard++) this.engine.acknowledge(shard, 0);
    }
    this.merge = new Merge(this.engine);
  }

  limit(limit: number, cost = 1, key = 'k', windowMs = WINDOW_MS, charge: Charge = Charge.IfAllowed) {
    this.locate(this.sliding, key, limit, windowMs);
    check(this.sliding.decide(this.engine, cost, this.publishPercent, charge));
    return decisionOf(this.sliding);
  }

  peek(limit: number, cost = 1, key = 'k', windowMs = WINDOW_MS) {
    return this.limit(limit, cost, key, windowMs, Charge.Never);
  }

  add(limit: number, cost = 1, key = 'k', windowMs = WINDOW_MS) {
    return this.limit(limit, cost, key, windowMs, Charge.Always);
  }

  limitAll(cost: number, ...limits: readonly LimitOfKey[]) {
    const located = limits.map(([key, limit, windowMs]) => {
      const sliding = new SlidingLimit();
      this.locate(sliding, key, limit, windowMs);
      return sliding;
    });
    check(decideAll(this.engine, located, cost, this.publishPercent));
    return located.map(decisionOf);
  }

  cells(key = 'k', windowMs = WINDOW_MS) {
    const bytes = Buffer.from(key);
    this.slidingCells.locate(this.engine, ByteInput.copyOf(bytes), 0, bytes.length, windowMs);
    const { current, previous } = this.slidingCells.parts(this.engine);
    return {
      currentOwn: Number(current.own),
      currentForeign: Number(current.foreign),
      previousOwn: Number(previous.own),
      previousForeign: Number(previous.foreign),
    };
  }

  gcra(burst: number, count: number, periodMs: number, cost = 1, key = 'k') {
    const bucket = bucketOf(burst, count, periodMs)!;
    const bytes = Buffer.from(key);
    this.gcraLimit.locate(this.engine, ByteInput.copyOf(bytes), 0, bytes.length, bucket);
    check(this.gcraLimit.decide(this.engine, cost, this.publishPercent, Charge.IfAllowed));
    const { allowed, remaining, retryAfterMs, resetAfterMs } = this.gcraLimit.decision;
    return { allowed, limit: bucket.limit, remaining, retryAfterMs, resetAfterMs };
  }

  /** Adds to the count of the window that begins at a time, or of the current one, and returns the count. */
  increment(amountLow: number, key = 'k', windowMs = WINDOW_MS, startMs?: number): number {
    this.choose(windowMs, startMs);
    const bytes = Buffer.from(key);
    check(this.window.increment(this.engine, ByteInput.copyOf(bytes), 0, bytes.length, 0, amountLow));
    return this.windowCount();
  }

  countOf(key = 'k', windowMs = WINDOW_MS, startMs?: number): number {
    this.choose(windowMs, startMs);
    const bytes = Buffer.from(key);
    this.window.read(this.engine, ByteInput.copyOf(bytes), 0, bytes.length);
    return this.windowCount();
  }

  get nowMs(): number {
    return this.engine.nowMs;
  }

  advance(milliseconds: number): void {
    this.engine.advanceTo(this.engine.nowMs + milliseconds);
  }

  expireAll(): void {
    while (this.engine.expireSome(1_000) > 0);
  }

  /** All components of this node that others may see, a batch a shard. */
  published(): Batch[] {
    const shards = Array.from({ length: SHARDS }, (_, shard) => shard);
    return shards.map((shard) => batchSince(this.engine, shard, OWN_ORIGIN, 0, new Batch()));
  }

  get publishedCells(): number {
    return this.published().reduce((sum, { count }) => sum + count, 0);
  }

  mergeBatches(batches: readonly Batch[]): Applied[] {
    return batches.map((batch) => this.merge.apply(batch));
  }

  /** Merges everything that the other has published of its own. */
  mergeFrom(other: RateNode): void {
    this.mergeBatches(other.published());
  }

  private locate(sliding: SlidingLimit, key: string, limit: number, windowMs: number): void {
    const bytes = Buffer.from(key);
    sliding.locate(this.engine, ByteInput.copyOf(bytes), 0, bytes.length, limit, windowMs);
  }

  private choose(windowMs: number, startMs?: number): void {
    if (startMs === undefined) this.window.chooseCurrent(this.engine, Math.floor(windowMs / 2 ** 32), windowMs | 0);
    else this.window.choose(windowMs, startMs);
  }

  private windowCount(): number {
    return Number(joinInt64(this.window.countHigh, this.window.countLow));
  }
}

/** Every node merges every other, until no node has anything to add. */
export function exchange(nodes: readonly RateNode[]): void {
  for (let round = 0; round < 3; round++)
    for (const node of nodes) for (const other of nodes) if (other !== node) node.mergeFrom(other);
}

function decisionOf({ allowed, limit, remaining, resetAfterMs, retryAfterMs }: SlidingLimit) {
  return { allowed, limit, remaining, resetAfterMs, retryAfterMs };
}

/** Throws where the engine refused to count. */
function check(status: Status): void {
  if (status !== Status.Ok) throw new Error(`the engine refused to count: status ${status}`);
}
