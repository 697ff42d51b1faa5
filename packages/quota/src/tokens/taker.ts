import { type ByteInput, type Engine, KeyPrefix, LocalBalances } from '@quotadb/engine';
import { type Allotment, AllotmentKey } from '../allotments/allotment.js';
import { limitOf } from '../policies/override-table.js';
import { isLeased, type Policy, windowAt, windowEndMs } from '../policies/policy.js';
import type { UsageRecorder } from './usage-recorder.js';

const NO_SUBJECT = new Uint8Array(0);

/** The outcome of a take. `unknown`: the local balance has too little, and the token broker has to find more. */
export const Verdict = { allowed: 0, denied: 1, unknown: 2 } as const;
export type Verdict = (typeof Verdict)[keyof typeof Verdict];

/**
 * Spends from local balances, on any thread. A take is a look-up and a subtraction under the lock of one shard, and
 * allocates nothing: the fields describe the last one.
 */
export class Taker {
  /** The tokens that this node can still give: the local balance, and its rights when that was filled. */
  remainingHere = 0;
  /** The rest of the limit in all regions, as far as is known here. */
  remainingEverywhere = 0;
  /** Until the window is over; -1 where there is none. */
  resetMs = 0;
  /** When it is worth trying again; 0 = now, -1 = never. */
  retryAfterMs = 0;
  window = 0;
  /** Of the allotment: an override's, where there is one. */
  limit = 0;
  /** The refill target of a local balance that has just run low; 0 = it has not. */
  refillTarget = 0;
  /** Where usage is exported. */
  usage: UsageRecorder | undefined = undefined;
  private readonly engine: Engine;
  private readonly balances: LocalBalances;
  private readonly key = new AllotmentKey();
  /** The policy and the time of the last take, and the values that follow from them. */
  private hotPolicy: Policy | undefined = undefined;
  private hotMs = Number.NaN;
  private hotWindow = 0;
  private hotResetMs = 0;
  private readonly hotKey = new AllotmentKey();
  private readonly hotPrefix = new KeyPrefix();

  constructor(engine: Engine) {
    this.engine = engine;
    this.balances = new LocalBalances(engine);
  }

  /** The subject lies in a request. */
  take(policy: Policy, subject: ByteInput, start: number, length: number, cost: number): Verdict {
    const { nowMs } = this.engine;
    // Many requests come at the same moment for the same policy.
    if (policy !== this.hotPolicy || nowMs !== this.hotMs) this.heat(policy, nowMs);
    this.window = this.hotWindow;
    this.resetMs = this.hotResetMs;
    const key = this.hotKey.sameMarksOf(subject, start, length);
    this.balances.openBehind(this.hotPrefix, key.input, 0, key.length);
    const verdict = this.takeOpen(policy, key, cost);
    if (verdict !== Verdict.allowed || this.usage === undefined) return verdict;
    if (this.usage.taken(policy, this.window, subject.bytes, start, length, cost)) return verdict;
    this.putBack(this.hotKey, cost);
    return Verdict.denied;
  }

  takeFrom(policy: Policy, allotment: Allotment, cost: number): Verdict {
    this.window = allotment.window;
    this.resetMs = this.resetOf(policy);
    const key = this.key.marksOf(allotment);
    this.balances.open(key.input, 0, key.length);
    return this.takeOpen(policy, key, cost);
  }

  private heat(policy: Policy, nowMs: number): void {
    this.hotPolicy = policy;
    this.hotMs = nowMs;
    this.window = windowAt(policy, nowMs);
    this.hotWindow = this.window;
    this.hotResetMs = this.resetOf(policy);
    const { input } = this.hotKey.marks(policy.number, this.window, NO_SUBJECT, 0, 0);
    this.engine.hashPrefix(this.hotPrefix, input, 0, AllotmentKey.PREFIX_BYTES);
  }

  /** Takes from the open local balance, and closes it. */
  private takeOpen(policy: Policy, key: AllotmentKey, cost: number): Verdict {
    const { balances } = this;
    const { balance } = balances;
    const usable = this.note(policy, key, balance);
    if (usable >= cost && balances.take(cost)) {
      const low = balances.lowWatermark;
      this.refillTarget = balance >= low && balance - cost < low ? 2 * low : 0;
      this.remainingHere -= cost;
      this.remainingEverywhere -= cost;
      this.retryAfterMs = 0;
      balances.close();
      return Verdict.allowed;
    }
    this.refillTarget = 0;
    const isDenied = balances.deniedUntilMs > this.engine.nowMs || cost > this.limit;
    this.retryAfterMs = this.retryAfter(policy, cost);
    balances.close();
    return isDenied ? Verdict.denied : Verdict.unknown;
  }

  /** Looks, and takes nothing. */
  peek(policy: Policy, subject: Uint8Array, start: number, length: number): void {
    this.window = windowAt(policy, this.engine.nowMs);
    this.resetMs = this.resetOf(policy);
    const key = this.key.marks(policy.number, this.window, subject, start, length);
    this.balances.open(key.input, 0, key.length);
    this.note(policy, key, this.balances.balance);
    this.retryAfterMs = 0;
    this.balances.close();
  }

  /** Takes up to `atMost` tokens from the local balance of an allotment; returns how many it took. */
  takeSome(allotment: Allotment, atMost: number): number {
    const { balances } = this;
    const { input, length } = this.key.marksOf(allotment);
    balances.open(input, 0, length);
    const amount = Math.max(0, Math.min(balances.balance, atMost));
    if (amount > 0) balances.take(amount);
    balances.close();
    return amount;
  }

  /** Puts back tokens that were not used. False where the allotment has no local balance, as after a restart. */
  giveBack(allotment: Allotment, amount: number): boolean {
    return amount <= 0 || this.putBack(this.key.marksOf(allotment), amount);
  }

  private putBack({ input, length }: AllotmentKey, amount: number): boolean {
    const { balances } = this;
    const isThere = balances.open(input, 0, length);
    if (isThere) balances.give(amount);
    balances.denyUntil(0);
    balances.close();
    return isThere;
  }

  /** A take that finds too little asks the token broker, which knows of more: it is not denied at once. */
  stopDenying(allotment: Allotment): void {
    const { input, length } = this.key.marksOf(allotment);
    this.balances.open(input, 0, length);
    this.balances.denyUntil(0);
    this.balances.close();
  }

  /**
   * The allotment's key is open: its value is the marks of all origins. Returns how many tokens of the local balance
   * may be spent: where a limit was lowered after they were set aside, those that are beyond it may not.
   */
  private note(policy: Policy, key: AllotmentKey, balance: number): number {
    const { engine } = this;
    const marked = engine.valueHigh * 2 ** 32 + (engine.valueLow >>> 0);
    this.limit = limitOf(policy, key.input.bytes, this.window, AllotmentKey.SUBJECT_AT, key.subjectLength);
    const left = this.limit - marked;
    const usable = left >= 0 || policy.admitFraction !== undefined ? balance : Math.max(0, balance + left);
    this.remainingHere = usable + this.balances.reserve;
    this.remainingEverywhere = Math.max(0, left) + usable;
    return usable;
  }

  private resetOf(policy: Policy): number {
    const isEndless = policy.windowMs === 0 || isLeased(policy);
    return isEndless ? -1 : Math.max(1, windowEndMs(policy, this.window) - this.engine.nowMs);
  }

  private retryAfter(policy: Policy, cost: number): number {
    if (cost > this.limit) return -1;
    // A lease may be given back at any moment.
    if (this.remainingEverywhere < cost && !isLeased(policy)) return this.resetMs;
    const soonMs = Math.max(1, this.balances.deniedUntilMs - this.engine.nowMs);
    return this.resetMs === -1 ? soonMs : Math.min(soonMs, this.resetMs);
  }
}
