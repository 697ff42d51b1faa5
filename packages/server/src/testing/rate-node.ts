import { type Applied, Batch, batchSince, type Engine, Merge, OWN_ORIGIN } from '@quotadb/engine';
import { expect } from 'vitest';
import type { Configuration } from '../config/table.js';
import { ManualClock } from './manual-clock.js';
import { TestLane } from './test-lane.js';

export const WINDOW_MS = 10_000;
/** Where the clock of a lane begins, which is where a window does. */
export const WINDOW_START_MS = new ManualClock().nowMs;

export interface RateDecisionSeen {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
  readonly retryAfterMs: number;
}

export interface RateNodeOptions extends Partial<Configuration> {
  /** Nodes differ in it. */
  readonly originByte?: number;
  /** Whether there are other regions to tell. */
  readonly hasPeers?: boolean;
}

/** A node with a client that counts against limits, and what it tells others carried by hand. */
export class RateNode {
  readonly lane: TestLane;
  readonly engine: Engine;
  readonly call: (...words: (string | number)[]) => string;
  private readonly merge: Merge;

  constructor({ originByte = 1, hasPeers = false, ...settings }: RateNodeOptions = {}) {
    this.lane = new TestLane({ maxMemoryBytes: 16 * 1024 * 1024, ...settings }, [], originByte);
    this.engine = this.lane.lane.engine;
    if (hasPeers) {
      this.engine.startRelaying();
      for (let shard = 0; shard < this.engine.shardCount; shard++) this.engine.acknowledge(shard, 0);
    }
    const session = this.lane.open();
    this.call = (...words) => {
      const reply = session.call(...words);
      expect(this.lane.faults).toEqual([]);
      return reply;
    };
    this.merge = new Merge(this.engine);
  }

  limit(limit: number, cost = 1, key = 'k', windowMs = WINDOW_MS): RateDecisionSeen {
    return decisionOf(integers(this.call('RATE.LIMIT', key, limit, windowMs, cost)));
  }

  peek(limit: number, cost = 1, key = 'k', windowMs = WINDOW_MS): RateDecisionSeen {
    return decisionOf(integers(this.call('RATE.PEEK', key, limit, windowMs, cost)));
  }

  cells(key = 'k', windowMs = WINDOW_MS) {
    const [startMs, currentOwn, currentForeign, previousOwn, previousForeign] = integers(
      this.call('RATE.CELLS', key, windowMs),
    );
    return { startMs, currentOwn, currentForeign, previousOwn, previousForeign };
  }

  advance(milliseconds: number): void {
    this.lane.clock.advance(milliseconds);
    this.engine.advanceTo(this.lane.clock.now());
  }

  /** All that this node would tell of its own, a batch a shard. */
  told(): Batch[] {
    const shards = Array.from({ length: this.engine.shardCount }, (_, shard) => shard);
    return shards.map((shard) => batchSince(this.engine, shard, OWN_ORIGIN, 0, new Batch()));
  }

  /** How many cells others are told of. */
  get toldCells(): number {
    return this.told().reduce((sum, { count }) => sum + count, 0);
  }

  hearBatches(batches: readonly Batch[]): Applied[] {
    return batches.map((batch) => this.merge.apply(batch));
  }

  /** Takes in everything that the other has of its own. */
  hear(other: RateNode): void {
    this.hearBatches(other.told());
  }
}

/** Everybody hears everybody, until nobody has anything to add. */
export function exchangeRates(nodes: readonly RateNode[]): void {
  for (let round = 0; round < 3; round++)
    for (const node of nodes) for (const other of nodes) if (other !== node) node.hear(other);
}

function integers(reply: string): number[] {
  return [...reply.matchAll(/:(-?\d+)\r\n/g)].map(([, digits]) => Number(digits));
}

function decisionOf([allowed, limit, remaining, resetMs, retryAfterMs]: number[]): RateDecisionSeen {
  return {
    allowed: allowed === 1,
    limit: limit!,
    remaining: remaining!,
    resetMs: resetMs!,
    retryAfterMs: retryAfterMs!,
  };
}
