import { type Engine, Pockets } from '@quotadb/engine';
import { type Cell, CellKey } from './cell.js';
import { isLeased, type Policy, windowAt, windowEndMs } from './policy.js';

/** What became of a take. With `unknown` it is up to the keeper: there is too little here, and nobody has been asked yet. */
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
  private readonly pockets: Pockets;
  private readonly key = new CellKey();

  constructor(engine: Engine) {
    this.engine = engine;
    this.pockets = new Pockets(engine);
  }

  take(policy: Policy, subject: Uint8Array, start: number, length: number, cost: number): Verdict {
    return this.takeIn(windowAt(policy, this.engine.nowMs), policy, subject, start, length, cost);
  }

  takeIn(window: number, policy: Policy, subject: Uint8Array, start: number, length: number, cost: number): Verdict {
    const { pockets } = this;
    this.open(window, policy, subject, start, length);
    const before = pockets.balance;
    const isTaken = pockets.take(cost);
    const low = pockets.lowWatermark;
    this.refillTarget = isTaken && before >= low && before - cost < low ? 2 * low : 0;
    const isDenied = !isTaken && pockets.deniedUntilMs > this.engine.nowMs;
    this.note(policy);
    this.retryAfterMs = isTaken ? 0 : this.retryAfter(policy, cost);
    pockets.close();
    return isTaken ? Verdict.allowed : isDenied ? Verdict.denied : Verdict.unknown;
  }

  /** Looks, and takes nothing. */
  peek(policy: Policy, subject: Uint8Array, start: number, length: number): void {
    this.open(windowAt(policy, this.engine.nowMs), policy, subject, start, length);
    this.note(policy);
    this.retryAfterMs = 0;
    this.pockets.close();
  }

  /** Takes as much as is in the pocket, at most so much, out of a cell; returns how much that was. */
  takeSome(cell: Cell, atMost: number): number {
    const { pockets } = this;
    const { input, length } = this.key.marksOf(cell);
    pockets.open(input, 0, length);
    const amount = Math.max(0, Math.min(pockets.balance, atMost));
    if (amount > 0) pockets.take(amount);
    pockets.close();
    return amount;
  }

  /** Puts back what was taken and not used. Where the cell is gone by now it is lost, with its window. */
  giveBack(cell: Cell, amount: number): void {
    if (amount <= 0) return;
    const { pockets } = this;
    const { input, length } = this.key.marksOf(cell);
    if (pockets.open(input, 0, length)) pockets.give(amount);
    pockets.denyUntil(0);
    pockets.close();
  }

  private open(window: number, policy: Policy, subject: Uint8Array, start: number, length: number): void {
    this.window = window;
    const { key } = this;
    key.marks(policy.number, window, subject, start, length);
    this.pockets.open(key.input, 0, key.length);
  }

  /** The cell's key is open: what all have marked of it is its value. */
  private note(policy: Policy): void {
    const { engine, pockets } = this;
    const marked = engine.valueHigh * 2 ** 32 + (engine.valueLow >>> 0);
    this.remainingHere = pockets.balance + pockets.reserve;
    this.remainingEverywhere = Math.max(0, policy.limit - marked) + pockets.balance;
    const isEndless = policy.windowMs === 0 || isLeased(policy);
    this.resetMs = isEndless ? -1 : Math.max(1, windowEndMs(policy, this.window) - engine.nowMs);
  }

  private retryAfter(policy: Policy, cost: number): number {
    // A lease may be given back at any moment.
    if (this.remainingEverywhere < cost && !isLeased(policy)) return this.resetMs;
    const soonMs = Math.max(1, this.pockets.deniedUntilMs - this.engine.nowMs);
    return this.resetMs === -1 ? soonMs : Math.min(soonMs, this.resetMs);
  }
}
