import { type ByteInput, type Engine, LocalBalances } from '@quotadb/engine';
import { type Allotment, AllotmentKey } from './allotment.js';
import { isLeased, type Policy, windowAt, windowEndMs } from './policy.js';

const NOBODY = new Uint8Array(0);

/** What became of a take. With `unknown` it is up to the broker: there is too little here, and nobody has been asked yet. */
export const Verdict = { allowed: 0, denied: 1, unknown: 2 } as const;
export type Verdict = (typeof Verdict)[keyof typeof Verdict];

/**
 * Spends from pockets, on whatever thread it is. A take is a look-up and a subtraction under the lock of one shard; nothing
 * here allocates. What is to be said about the last one is left in the fields.
 */
export class Taker {
  /** What this node can still give: what is in the pocket, and what it held beyond it when that was filled. */
  remainingHere = 0;
  /** What is left of the limit everywhere, as far as is known here. */
  remainingEverywhere = 0;
  /** Until the window is over; -1 where there is none. */
  resetMs = 0;
  /** When it is worth trying again; 0 = now, -1 = never. */
  retryAfterMs = 0;
  window = 0;
  /** The pocket has just run low: so much should be in it. 0 = it has not. */
  refillTarget = 0;
  private readonly engine: Engine;
  private readonly pockets: LocalBalances;
  private readonly key = new AllotmentKey();
  /** The policy and the moment of the last take, and what follows from them. */
  private hotPolicy: Policy | undefined = undefined;
  private hotMs = Number.NaN;
  private hotWindow = 0;
  private hotResetMs = 0;
  private readonly hotKey = new AllotmentKey();

  constructor(engine: Engine) {
    this.engine = engine;
    this.pockets = new LocalBalances(engine);
  }

  /** The subject lies in a request. */
  take(policy: Policy, subject: ByteInput, start: number, length: number, cost: number): Verdict {
    const { nowMs } = this.engine;
    // Many requests come at the same moment for the same policy.
    if (policy !== this.hotPolicy || nowMs !== this.hotMs) this.heat(policy, nowMs);
    this.window = this.hotWindow;
    this.resetMs = this.hotResetMs;
    return this.takeOf(policy, this.hotKey.sameMarksOf(subject, start, length), cost);
  }

  takeFrom(policy: Policy, allotment: Allotment, cost: number): Verdict {
    this.window = allotment.window;
    this.resetMs = this.resetOf(policy);
    return this.takeOf(policy, this.key.marksOf(allotment), cost);
  }

  private heat(policy: Policy, nowMs: number): void {
    this.hotPolicy = policy;
    this.hotMs = nowMs;
    this.window = windowAt(policy, nowMs);
    this.hotWindow = this.window;
    this.hotResetMs = this.resetOf(policy);
    this.hotKey.marks(policy.number, this.window, NOBODY, 0, 0);
  }

  private takeOf(policy: Policy, key: AllotmentKey, cost: number): Verdict {
    const { pockets } = this;
    pockets.open(key.input, 0, key.length);
    const before = pockets.balance;
    const isTaken = before >= cost && pockets.take(cost);
    if (isTaken) {
      const low = pockets.lowWatermark;
      this.refillTarget = before >= low && before - cost < low ? 2 * low : 0;
      this.note(policy, before - cost);
      this.retryAfterMs = 0;
      pockets.close();
      return Verdict.allowed;
    }
    this.refillTarget = 0;
    const isDenied = pockets.deniedUntilMs > this.engine.nowMs;
    this.note(policy, before);
    this.retryAfterMs = this.retryAfter(policy, cost);
    pockets.close();
    return isDenied ? Verdict.denied : Verdict.unknown;
  }

  /** Looks, and takes nothing. */
  peek(policy: Policy, subject: Uint8Array, start: number, length: number): void {
    this.window = windowAt(policy, this.engine.nowMs);
    this.resetMs = this.resetOf(policy);
    const { input, length: keyLength } = this.key.marks(policy.number, this.window, subject, start, length);
    this.pockets.open(input, 0, keyLength);
    this.note(policy, this.pockets.balance);
    this.retryAfterMs = 0;
    this.pockets.close();
  }

  /** Takes as much as is in the pocket, at most so much, out of an allotment; returns how much that was. */
  takeSome(allotment: Allotment, atMost: number): number {
    const { pockets } = this;
    const { input, length } = this.key.marksOf(allotment);
    pockets.open(input, 0, length);
    const amount = Math.max(0, Math.min(pockets.balance, atMost));
    if (amount > 0) pockets.take(amount);
    pockets.close();
    return amount;
  }

  /** Puts back what was taken and not used. Where the allotment is gone by now it is lost, with its window. */
  giveBack(allotment: Allotment, amount: number): void {
    if (amount <= 0) return;
    const { pockets } = this;
    const { input, length } = this.key.marksOf(allotment);
    if (pockets.open(input, 0, length)) pockets.give(amount);
    pockets.denyUntil(0);
    pockets.close();
  }

  /** The allotment's key is open: what all have marked of it is its value. */
  private note(policy: Policy, balance: number): void {
    const { engine } = this;
    const marked = engine.valueHigh * 2 ** 32 + (engine.valueLow >>> 0);
    this.remainingHere = balance + this.pockets.reserve;
    this.remainingEverywhere = Math.max(0, policy.limit - marked) + balance;
  }

  private resetOf(policy: Policy): number {
    const isEndless = policy.windowMs === 0 || isLeased(policy);
    return isEndless ? -1 : Math.max(1, windowEndMs(policy, this.window) - this.engine.nowMs);
  }

  private retryAfter(policy: Policy, cost: number): number {
    // A lease may be given back at any moment.
    if (this.remainingEverywhere < cost && !isLeased(policy)) return this.resetMs;
    const soonMs = Math.max(1, this.pockets.deniedUntilMs - this.engine.nowMs);
    return this.resetMs === -1 ? soonMs : Math.min(soonMs, this.resetMs);
  }
}
