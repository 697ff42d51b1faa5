import { type Engine, Status } from '@quotadb/engine';
import type { LimitWindow, UsageRecorder } from '@quotadb/quota';
import { bucketOf, type Charge, FixedLimit, GcraLimit, type KeyList, SlidingLimit } from '@quotadb/rate';
import type { Item } from './decision.js';
import { Identifier } from './identifiers.js';
import type { BilledMeter, LocalMeter } from './meter.js';

/** One for all meters of a thread: a meter copies what it needs. */
const identifier = new Identifier();

/** The kinds that a node decides with what it holds. */
export type PublishPercent = () => number;

export class SlidingMeter implements LocalMeter {
  private readonly sliding = new SlidingLimit();
  private readonly publishPercent: PublishPercent;

  constructor(publishPercent: PublishPercent) {
    this.publishPercent = publishPercent;
  }

  locate(engine: Engine, item: Item): void {
    identifier.set(item);
    this.sliding.locate(engine, identifier.input, 0, identifier.length, item.limit, item.windowMs);
  }

  addKeys(keys: KeyList): void {
    this.sliding.addKeys(keys);
  }

  decide(engine: Engine, { cost }: Item, charge: Charge): Status {
    return this.sliding.decide(engine, cost, this.publishPercent(), charge);
  }

  prepare(engine: Engine): Status {
    return this.sliding.prepare(engine, this.publishPercent());
  }

  refund(engine: Engine, atMost: number): number {
    return this.sliding.refund(engine, atMost);
  }

  get allowed(): boolean {
    return this.sliding.allowed;
  }

  get remaining(): number {
    return this.sliding.remaining;
  }

  get resetMs(): number {
    return this.sliding.resetAfterMs;
  }

  get retryAfterMs(): number {
    return this.sliding.retryAfterMs;
  }
}

export class FixedMeter implements BilledMeter, LocalMeter {
  private readonly fixed = new FixedLimit();
  private engine!: Engine;
  private item!: Item;
  private startMs = 0;

  locate(engine: Engine, item: Item): void {
    const { limit, windowMs } = item;
    identifier.set(item);
    this.engine = engine;
    this.item = item;
    this.startMs = item.startMs ?? Math.floor(engine.nowMs / windowMs) * windowMs;
    this.fixed.locate(engine, identifier.input, 0, identifier.length, limit, this.startMs, windowMs);
  }

  undo(cost: number): void {
    this.fixed.undo(this.engine, cost);
  }

  countUsage(usage: UsageRecorder, cost: number): boolean {
    return usage.admitted(this.window, cost);
  }

  uncountUsage(usage: UsageRecorder, cost: number): void {
    usage.withdrawn(this.window, cost);
  }

  private get window(): LimitWindow {
    const { startMs } = this;
    const { name, subject, windowMs } = this.item;
    return { limit: name, startMs, endMs: startMs + windowMs, subject };
  }

  addKeys(keys: KeyList): void {
    this.fixed.addKeys(keys);
  }

  decide(engine: Engine, { cost }: Item, charge: Charge): Status {
    return this.fixed.decide(engine, cost, charge);
  }

  prepare(engine: Engine): Status {
    return this.fixed.prepare(engine);
  }

  refund(engine: Engine, atMost: number): number {
    return this.fixed.refund(engine, atMost);
  }

  get allowed(): boolean {
    return this.fixed.allowed;
  }

  get remaining(): number {
    return this.fixed.remaining;
  }

  get resetMs(): number {
    return this.fixed.resetAfterMs;
  }

  get retryAfterMs(): number {
    return this.fixed.retryAfterMs;
  }
}

export class BucketMeter implements LocalMeter {
  private readonly gcra = new GcraLimit();
  private readonly publishPercent: PublishPercent;
  /** Of the item before: most are the same again. */
  private bucket = bucketOf(0, 1, 1);
  private limit = 1;
  private refill = 1;
  private windowMs = 1;

  constructor(publishPercent: PublishPercent) {
    this.publishPercent = publishPercent;
  }

  locate(engine: Engine, item: Item): void {
    const { limit, refill = limit, windowMs } = item;
    if (limit !== this.limit || refill !== this.refill || windowMs !== this.windowMs) {
      this.limit = limit;
      this.refill = refill;
      this.windowMs = windowMs;
      this.bucket = limit > 0 ? bucketOf(limit - 1, refill, windowMs) : undefined;
    }
    identifier.set(item);
    if (this.bucket !== undefined) this.gcra.locate(engine, identifier.input, 0, identifier.length, this.bucket);
  }

  addKeys(keys: KeyList): void {
    if (this.bucket !== undefined) this.gcra.addKeys(keys);
  }

  /** A bucket that holds nothing admits nothing; so does one whose rate cannot be worked with exactly. */
  decide(engine: Engine, { cost }: Item, charge: Charge): Status {
    if (this.bucket !== undefined) return this.gcra.decide(engine, cost, this.publishPercent(), charge);
    const { decision } = this.gcra;
    Object.assign(decision, { allowed: cost === 0, remaining: 0, retryAfterMs: -1, resetAfterMs: -1 });
    return Status.Ok;
  }

  prepare(engine: Engine): Status {
    return this.bucket === undefined ? Status.Ok : this.gcra.prepare(engine, this.publishPercent());
  }

  refund(engine: Engine, atMost: number): number {
    return this.bucket === undefined ? 0 : this.gcra.refund(engine, atMost);
  }

  get allowed(): boolean {
    return this.gcra.decision.allowed;
  }

  get remaining(): number {
    return this.gcra.decision.remaining;
  }

  get resetMs(): number {
    return this.gcra.decision.resetAfterMs;
  }

  get retryAfterMs(): number {
    return this.gcra.decision.allowed ? 0 : this.gcra.decision.retryAfterMs;
  }
}
