import { type Engine, Status } from '@quotadb/engine';
import {
  type Allotment,
  AllotmentKey,
  limitOf,
  type Policy,
  type Taker,
  type UsageRecorder,
  Verdict,
  windowAt,
} from '@quotadb/quota';
import { Charge, type KeyList } from '@quotadb/rate';
import type { Item } from './decision.js';
import type { BilledMeter } from './meter.js';

/** Tokens of a quota: how many of which allotment. */
export interface Tokens {
  readonly allotment: Allotment;
  readonly cost: number;
}

/** Tokens of a quota, from the local balance of this node. */
export class ExactMeter implements BilledMeter {
  /** Unknown: the local balance has too little, and the token broker has to find more. */
  verdict: Verdict = Verdict.unknown;
  allotment: Allotment = { policy: 0, window: 0, subject: new Uint8Array(0) };
  /** As the quota has it for the subject in this window, extra tokens too. */
  limit = 0;
  remaining = 0;
  resetMs = 0;
  retryAfterMs = 0;
  protected policy!: Policy;
  protected readonly taker: Taker;
  private readonly policyOf: (name: string) => Policy | undefined;
  private readonly key = new AllotmentKey();
  /** The refill target of a local balance that has just run low; 0 = it has not. */
  private refillTarget = 0;

  constructor(taker: Taker, policyOf: (name: string) => Policy | undefined) {
    this.taker = taker;
    this.policyOf = policyOf;
  }

  /** The policy must be known here: see `isKnown`. */
  locate(engine: Engine, { name, subject }: Item): void {
    this.policy = this.policyOf(name) as Policy;
    this.allotment = { policy: this.policy.number, window: windowAt(this.policy, engine.nowMs), subject };
  }

  isKnown({ name }: Item): boolean {
    return this.policyOf(name) !== undefined;
  }

  addKeys(keys: KeyList): void {
    const { input, length } = this.key.marksOf(this.allotment);
    keys.add(input, 0, length);
  }

  decide(_engine: Engine, { cost, subject }: Item, charge: Charge): Status {
    const { taker, policy } = this;
    const limit = limitOf(policy, subject, this.allotment.window);
    this.limit = limit;
    this.refillTarget = 0;
    // The broker finds no tokens beyond the limit: it is not asked.
    if (charge === Charge.Never || cost > limit) {
      taker.peek(policy, subject, 0, subject.length);
      this.verdict = taker.remainingEverywhere >= cost && cost <= limit ? Verdict.allowed : Verdict.denied;
    } else if (cost === 0) {
      taker.peek(policy, subject, 0, subject.length);
      this.verdict = Verdict.allowed;
    } else {
      this.verdict = taker.takeFrom(policy, this.allotment, cost);
      this.refillTarget = taker.refillTarget;
    }
    this.remaining = Math.min(taker.remainingEverywhere, limit);
    this.resetMs = taker.resetMs;
    this.retryAfterMs = this.retryAfter(cost, limit);
    return Status.Ok;
  }

  /** Tokens are taken or not, there is nothing to make. */
  prepare(): Status {
    return Status.Ok;
  }

  undo(cost: number): void {
    if (cost > 0) this.taker.giveBack(this.allotment, cost);
    this.remaining += cost;
  }

  /** What an unknown verdict is about. */
  missing(cost: number): readonly Tokens[] {
    return [{ allotment: this.allotment, cost }];
  }

  /** Local balances that have just run low, and their refill targets. */
  low(): readonly Tokens[] {
    return this.refillTarget > 0 ? [{ allotment: this.allotment, cost: this.refillTarget }] : [];
  }

  countUsage(usage: UsageRecorder, cost: number): boolean {
    const { window, subject } = this.allotment;
    return usage.taken(this.policy, window, subject, 0, subject.length, cost);
  }

  uncountUsage(usage: UsageRecorder, cost: number): void {
    usage.returned(this.policy, this.allotment, cost);
  }

  get allowed(): boolean {
    return this.verdict === Verdict.allowed;
  }

  private retryAfter(cost: number, limit: number): number {
    if (this.allowed) return 0;
    if (cost > limit) return -1;
    return this.taker.retryAfterMs === 0 ? this.taker.resetMs : this.taker.retryAfterMs;
  }
}
