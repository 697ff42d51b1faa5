import type { Engine } from '@quotadb/engine';
import { CellKind, Charge, cellKindOf, identifierOf } from '@quotadb/rate';
import { type Item, isOfTokens, type Kind, type Standing } from './decision.js';
import { limitOfIdentifier } from './identifiers.js';
import { BucketMeter, FixedMeter, type PublishPercent, SlidingMeter } from './local-meters.js';
import type { LocalMeter } from './meter.js';

const CELLS: Partial<Record<Kind, CellKind>> = {
  fixed: CellKind.window,
  sliding: CellKind.rate,
  bucket: CellKind.bucket,
};

/** What operators do to the counters of limits that are no quotas. */
export class Counters {
  private readonly engine: Engine;
  private readonly meters: Partial<Record<Kind, LocalMeter>>;

  constructor(engine: Engine, publishPercent: PublishPercent) {
    this.engine = engine;
    this.meters = {
      fixed: new FixedMeter(),
      sliding: new SlidingMeter(publishPercent),
      bucket: new BucketMeter(publishPercent),
    };
  }

  /** Uncounts what this node has counted for the item now, at most this much. */
  refund(item: Item, atMost: number): { readonly refunded: number; readonly standing: Standing } {
    const meter = this.locate(item);
    const refunded = meter?.refund(this.engine, atMost) ?? 0;
    return { refunded, standing: this.standing(item) };
  }

  standing(item: Item): Standing {
    const { limit } = item;
    const meter = this.locate(item);
    if (meter === undefined) return { allowed: true, limit, remaining: limit, resetMs: -1, retryAfterMs: 0 };
    meter.decide(this.engine, { ...item, cost: 0 }, Charge.Never);
    const { allowed, remaining, resetMs, retryAfterMs } = meter;
    return { allowed, limit, remaining, resetMs, retryAfterMs };
  }

  /** Undefined where nothing is counted. */
  private locate(item: Item): LocalMeter | undefined {
    const meter = item.limit === Number.POSITIVE_INFINITY ? undefined : this.meters[item.kind];
    meter?.locate(this.engine, item);
    return meter;
  }
}

/** The subject that a key of the store counts for, where it is a counter of this limit; in a window of any time. */
export function subjectOfCounter(key: Uint8Array, name: string, kind: Kind): Uint8Array | undefined {
  if (isOfTokens(kind) || cellKindOf(key) !== CELLS[kind]) return undefined;
  const found = limitOfIdentifier(identifierOf(key));
  return found?.name === name ? found.subject : undefined;
}
