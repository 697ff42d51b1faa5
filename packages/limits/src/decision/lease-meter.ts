import { type Engine, Status } from '@quotadb/engine';
import { type Allotment, AllotmentKey, limitOf, type Policy, type Taker, Verdict } from '@quotadb/quota';
import { Charge, type KeyList } from '@quotadb/rate';
import type { Item } from './decision.js';
import { ExactMeter, type Tokens } from './exact-meter.js';

/** The windows that a lease given now reaches into; undefined on threads that give none. */
export type LeaseWindows = (policy: Policy, subject: Uint8Array) => readonly Allotment[];

/** A token in every window that a lease reaches into: all of them or none. */
export class LeaseMeter extends ExactMeter {
  /** Of the lease; taken where it is allowed and has a cost. */
  allotments: readonly Allotment[] = [];
  private wanting: Allotment[] = [];
  private running: Tokens[] = [];
  private readonly windows: LeaseWindows | undefined;
  private readonly windowKey = new AllotmentKey();

  constructor(taker: Taker, policyOf: (name: string) => Policy | undefined, windows: LeaseWindows | undefined) {
    super(taker, policyOf);
    this.windows = windows;
  }

  override locate(engine: Engine, item: Item): void {
    super.locate(engine, item);
    this.allotments = this.windows?.(this.policy, item.subject) ?? [this.allotment];
  }

  override addKeys(keys: KeyList): void {
    for (const allotment of this.allotments) {
      const { input, length } = this.windowKey.marksOf(allotment);
      keys.add(input, 0, length);
    }
  }

  /** The locks of all windows are held where it charges. */
  override decide(engine: Engine, item: Item, charge: Charge): Status {
    const { taker, policy } = this;
    this.wanting = [];
    this.running = [];
    const limit = limitOf(policy, item.subject, this.allotment.window);
    const cost = Math.min(item.cost, 1);
    if (charge === Charge.Never || cost === 0 || limit === 0)
      return super.decide(engine, { ...item, cost }, Charge.Never);
    this.limit = limit;
    this.remaining = limit;
    this.resetMs = -1;
    this.retryAfterMs = 0;
    const taken: Allotment[] = [];
    let isDenied = false;
    for (const allotment of this.allotments) {
      const verdict = taker.takeFrom(policy, allotment, 1);
      this.remaining = Math.min(this.remaining, taker.remainingEverywhere);
      this.retryAfterMs = Math.max(this.retryAfterMs, taker.retryAfterMs);
      if (verdict === Verdict.allowed) taken.push(allotment);
      else if (verdict === Verdict.unknown) this.wanting.push(allotment);
      else isDenied = true;
      if (taker.refillTarget > 0) this.running.push({ allotment, cost: taker.refillTarget });
    }
    // Without a window that it reaches into, this region can give no lease.
    const isTaken = taken.length > 0 && taken.length === this.allotments.length;
    this.verdict = isTaken ? Verdict.allowed : isDenied || this.wanting.length === 0 ? Verdict.denied : Verdict.unknown;
    if (!isTaken) for (const allotment of taken) taker.giveBack(allotment, 1);
    return Status.Ok;
  }

  override undo(cost: number): void {
    if (cost > 0) for (const allotment of this.allotments) this.taker.giveBack(allotment, 1);
    this.remaining += Math.min(cost, 1);
  }

  override missing(): readonly Tokens[] {
    return this.wanting.map((allotment) => ({ allotment, cost: 1 }));
  }

  override low(): readonly Tokens[] {
    return this.running;
  }
}
