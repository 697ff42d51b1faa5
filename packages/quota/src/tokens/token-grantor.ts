import { FrameKind, isServerOf, type TokensWanted } from '@quotadb/wire';
import { type Allotment, nameOfAllotment } from '../allotments/allotment.js';
import type { AllotmentState, AllotmentStates } from '../ledger/allotment-states.js';
import type { Ledger } from '../ledger/ledger.js';
import { chunkOf } from '../ledger/portions.js';
import { type Policy, windowEndMs } from '../policies/policy.js';
import type { TokenBrokerOptions } from './broker-options.js';

/** Tokens that were not used for this long go back to the allocator. */
const IDLE_MS = 2000;

/** The demand of other regions: grants them tokens that they ask for, and the allocator those that lie idle here. */
export class TokenGrantor {
  private readonly options: TokenBrokerOptions;
  private readonly ledger: Ledger;
  private readonly allotments: AllotmentStates;

  constructor(options: TokenBrokerOptions, ledger: Ledger, allotments: AllotmentStates) {
    this.options = options;
    this.ledger = ledger;
    this.allotments = allotments;
  }

  hearWanted({ origin, fromRegion, request, policy: number, window, subject, need }: TokensWanted): void {
    const { peers, region, book, events } = this.options;
    const policy = book.numbered(number);
    const allotment: Allotment = { policy: number, window, subject };
    const granted = policy === undefined ? 0 : this.grantTo(policy, allotment, origin, need);
    if (policy !== undefined && granted > 0) events?.granted(policy, fromRegion, granted);
    const answer = { origin, fromRegion: region, toRegion: fromRegion, request, ...allotment, granted, hops: 0 };
    peers.send(fromRegion, { kind: FrameKind.tokensAnswer, ...answer });
  }

  isOver(policy: Policy, allotment: Allotment): boolean {
    return this.options.engine.nowMs >= windowEndMs(policy, allotment.window) + this.options.skewBoundMs;
  }

  /** Grants a part of the rights, at least the need if there is as much. A node whose own callers wait keeps a half. */
  private grantTo(policy: Policy, allotment: Allotment, to: Uint8Array, need: number): number {
    const state = this.allotments.get(nameOfAllotment(allotment));
    let rights = this.ledger.rights(policy, allotment);
    if (state !== undefined && state.waiters.length > 0) rights = Math.floor(rights / 2);
    else if (rights < need) {
      const balance = this.ledger.balance(allotment);
      const spare = this.isIdle(state) ? balance : Math.floor(balance / 2);
      this.ledger.takeBack(policy, allotment, Math.min(spare, need - Math.max(0, rights)));
      rights = this.ledger.rights(policy, allotment);
    }
    const amount = chunkOf(rights, need);
    if (amount <= 0 || this.ledger.grant(policy, allotment, to, amount) === undefined) return 0;
    this.options.flushSoon?.();
    return amount;
  }

  private isIdle(state: AllotmentState | undefined): boolean {
    if (state === undefined) return true;
    const balance = this.ledger.balance(state.allotment);
    return balance === state.balance || this.options.monotonicMs() - state.usedAtMs >= IDLE_MS;
  }

  /**
   * Whether an allotment needs its state. Where it does not, its idle tokens have been granted back to the allocator.
   */
  isKept(state: AllotmentState, nowMs: number): boolean {
    const { book, peers, region, events } = this.options;
    const { allotment } = state;
    const policy = book.numbered(allotment.policy);
    if (policy === undefined || this.isOver(policy, allotment)) return false;
    // A lower limit may have come before the marks of other regions that leave nothing of it.
    this.ledger.takeBackExcess(policy, allotment);
    const isAllocator = isServerOf(region, policy.allocator);
    if (isAllocator && policy.windowMs > 0) return true;
    const balance = this.ledger.balance(allotment);
    if (balance !== state.balance) {
      state.balance = balance;
      state.usedAtMs = nowMs;
      return true;
    }
    if (isAllocator) {
      // Of a quota without a window a crash would waste them for ever.
      if (nowMs - state.usedAtMs >= IDLE_MS) this.ledger.takeBack(policy, allotment, balance);
      return true;
    }
    // Of a region with members any, the first that can be reached.
    const allocator = [...peers.regions()].find((other) => isServerOf(other, policy.allocator));
    const to = allocator === undefined ? undefined : peers.originOf(allocator);
    if (nowMs - state.usedAtMs < IDLE_MS || allocator === undefined || to === undefined) return true;
    this.ledger.takeBack(policy, allotment, balance);
    const rights = this.ledger.rights(policy, allotment);
    if (rights > 0 && this.ledger.grant(policy, allotment, to, rights) !== undefined)
      events?.returned(policy, allocator, rights);
    return false;
  }
}
