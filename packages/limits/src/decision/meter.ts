import type { Engine, Status } from '@quotadb/engine';
import type { UsageRecorder } from '@quotadb/quota';
import type { Charge, KeyList } from '@quotadb/rate';
import type { Item } from './decision.js';

/** What decides on a counter of one kind, and the last decision. It serves one thread and is used again. */
export interface Meter {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly resetMs: number;
  readonly retryAfterMs: number;
  /** Chooses the item that the next decision is about. */
  locate(engine: Engine, item: Item): void;
  /** The keys that it opens from now on. */
  addKeys(keys: KeyList): void;
  /** Decides, and counts the cost as `charge` says. Where the engine refuses to count, nothing was counted. */
  decide(engine: Engine, item: Item, charge: Charge): Status;
  /** Makes the counter, which is where memory can run out: to charge a counter that exists cannot fail. */
  prepare(engine: Engine): Status;
}

/** A meter of a window that closes, so that what was charged in it can be billed. */
export interface BilledMeter extends Meter {
  /** After `decide` charged the cost: puts it back. */
  undo(cost: number): void;
  /** False where there is no memory for it. */
  countUsage(usage: UsageRecorder, cost: number): boolean;
  uncountUsage(usage: UsageRecorder, cost: number): void;
}

/** A meter of a kind that a node decides with what it holds. */
export interface LocalMeter extends Meter {
  /** Uncounts what this node has counted, at most this much; returns how much that was. */
  refund(engine: Engine, atMost: number): number;
}
