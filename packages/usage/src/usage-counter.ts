import { type Engine, OWN_ORIGIN, Status, splitInt64 } from '@quotadb/engine';
import {
  type Allotment,
  type ChangeMark,
  isLeased,
  type LimitWindow,
  type Policy,
  type UsageRecorder,
} from '@quotadb/quota';
import { LimitUsageKey } from './limit-usage-key.js';
import { QuotaUsageKey } from './quota-usage-key.js';

const TWO_POW_32 = 2 ** 32;
const DAY_MS = 24 * 3600 * 1000;

/**
 * How long usage waits in the store for its export after its window: only while the spool is full does it wait for more
 * than moments. Usage that waited longer is lost, which quotadb_usage_export_lag_seconds shows days before.
 */
const KEPT_MS = 7 * DAY_MS;

/**
 * Counts usage, on any thread: tokens taken from quotas with windows, and what limits with fixed windows have
 * admitted. Leases are held, not used up.
 */
export class UsageCounter implements UsageRecorder {
  private readonly engine: Engine;
  private readonly quotaKey: QuotaUsageKey;
  private readonly limitKey: LimitUsageKey;
  /** Of the last change; -1 where it was asked for. */
  private lastShard = -1;
  private lastVersion = 0;

  constructor(engine: Engine) {
    this.engine = engine;
    const replica = Uint8Array.from(engine.origins.idOf(OWN_ORIGIN));
    this.quotaKey = new QuotaUsageKey(replica);
    this.limitKey = new LimitUsageKey(replica);
  }

  taken(policy: Policy, window: number, subject: Uint8Array, start: number, length: number, amount: number): boolean {
    if (policy.windowMs === 0 || isLeased(policy)) return true;
    return this.count(this.quotaKey.set(policy, window, subject, start, length), amount);
  }

  /** Never more than was counted here: usage that was taken before its export began was not. */
  returned(policy: Policy, { window, subject }: Allotment, amount: number): void {
    if (policy.windowMs === 0 || isLeased(policy)) return;
    this.uncount(this.quotaKey.set(policy, window, subject, 0, subject.length), amount);
  }

  admitted(window: LimitWindow, amount: number): boolean {
    return this.count(this.limitKey.set(window), amount);
  }

  withdrawn(window: LimitWindow, amount: number): void {
    this.uncount(this.limitKey.set(window), amount);
  }

  /** The last change since this was asked before: an answer that must not be lost waits for it. */
  takeLastMark(): ChangeMark | undefined {
    const { lastShard: shard, lastVersion: version } = this;
    this.lastShard = -1;
    return shard === -1 ? undefined : { shard, version };
  }

  private count(key: QuotaUsageKey | LimitUsageKey, amount: number): boolean {
    const { engine } = this;
    const isNew = !engine.openAny(key.input, 0, key.length);
    let status = engine.add(Math.floor(amount / TWO_POW_32), amount | 0);
    if (isNew && status === Status.Ok) {
      status = engine.expireAt(key.endMs + KEPT_MS);
      if (status !== Status.Ok) engine.remove();
    }
    this.note();
    engine.close();
    return status === Status.Ok;
  }

  private uncount(key: QuotaUsageKey | LimitUsageKey, amount: number): void {
    const { engine } = this;
    engine.openAny(key.input, 0, key.length);
    const uncounted = Math.min(amount, engine.ownAdded - engine.ownTaken);
    if (uncounted > 0) engine.add(...splitInt64(BigInt(-uncounted)));
    this.note();
    engine.close();
  }

  private note(): void {
    this.lastShard = this.engine.openShardIndex;
    this.lastVersion = this.engine.ownVersion;
  }
}
