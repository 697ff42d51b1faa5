import { FrameKind, isServerOf, type TokensAnswer, type TokensWanted } from '@quotadb/wire';
import { type Allotment, nameOfAllotment } from '../allotments/allotment.js';
import {
  type AllotmentState,
  AllotmentStates,
  type DemandOutcome,
  FIRST_DENIAL_MS,
  type Waiter,
} from '../ledger/allotment-states.js';
import { DurableQueue } from '../ledger/durable-queue.js';
import { type ChangeMark, Ledger } from '../ledger/ledger.js';
import { chunkOf, endlessPortionOf } from '../ledger/portions.js';
import type { Policy } from '../policies/policy.js';
import { MAXIMUM_HOPS } from '../policies/routes.js';
import type { TokenBrokerOptions } from './broker-options.js';
import { Taker } from './taker.js';
import { TokenGrantor } from './token-grantor.js';

/** A disk that takes longer counts as one that has nothing. */
const DISK_PATIENCE_MS = 2000;
/** A region that does not answer a request for this long counts as one that has nothing. */
const ANSWER_MS = 1000;
/** A region that had nothing is not asked again for this long. */
const EMPTY_MS = 100;
/** How long a caller is denied without another request to other regions: at most. */
const LONGEST_DENIAL_MS = 1000;
const IDLE_SCAN_MS = 250;
/** Allotments in one scan; the next goes on behind them. */
const IDLE_SCAN_ALLOTMENTS = 1000;
/** Of these, in one tick: all at once would keep the main thread for a millisecond, and its core from a lane. */
const IDLE_SCAN_PART = 50;

/**
 * Finds tokens for the demand of this region, and grants tokens to regions that need them more. Lanes spend from local
 * balances; when one runs low or is empty they turn to the broker, which
 *
 *   1  marks a part of this node's rights and, once the mark is on disk, puts it into the local balance;
 *   2  where that is too little, asks the allocator, and where that has nothing or is unreachable, all regions;
 *   3  where the allocator cannot be reached and the policy lets a region admit a part alone, admits that;
 *   4  where no region has tokens, denies: for a moment further callers are denied without asking.
 *
 * It is not trusted with the limit: the ledger never lets go of more than this node holds.
 */
export class TokenBroker {
  readonly ledger: Ledger;
  /** Waits for the disk. */
  readonly durable: DurableQueue;
  private readonly options: TokenBrokerOptions;
  private readonly taker: Taker;
  private readonly allotments = new AllotmentStates();
  private readonly grantor: TokenGrantor;
  private lastRequest = 0;
  private scannedAtMs = 0;
  /** Of the scan that has begun. */
  private leftToScan = 0;

  constructor(options: TokenBrokerOptions) {
    this.options = options;
    const { engine, region, book, skewBoundMs } = options;
    this.ledger = new Ledger({ engine, region, book, skewBoundMs });
    this.taker = new Taker(engine);
    this.grantor = new TokenGrantor(options, this.ledger, this.allotments);
    this.durable = new DurableQueue(options.durable, () => options.flushSoon?.());
  }

  /** A caller needs more tokens than the local balance has, and waits this long for those of other regions. */
  demand(allotment: Allotment, need: number, waitMs: number, done: (outcome: DemandOutcome) => void): void {
    const nowMs = this.options.monotonicMs();
    const state = this.allotments.use(allotment, nowMs);
    this.takeBackExcess(state);
    state.waiters.push({ need, untilMs: nowMs + waitMs, done });
    this.advance(state);
  }

  /** The local balance runs low. */
  requestRefill(allotment: Allotment, target: number): void {
    const state = this.allotments.use(allotment, this.options.monotonicMs());
    state.target = Math.max(state.target, target);
    this.advance(state);
  }

  /**
   * Tokens of a reservation or a lease come back when the disk holds its end, a change of this mark: a crash before
   * that restores it, with its tokens. Without a mark there is nothing on disk to restore.
   */
  giveBack(allotment: Allotment, amount: number, mark: ChangeMark | undefined): void {
    if (amount <= 0) return;
    if (mark === undefined) {
      this.refund(allotment, amount);
      return;
    }
    const state = this.allotments.use(allotment, this.options.monotonicMs());
    state.returning += amount;
    this.allotments.active.add(state);
    this.taker.stopDenying(allotment);
    this.durable.when(mark, () => {
      state.returning -= amount;
      this.refund(allotment, amount);
      this.advance(state);
    });
  }

  /**
   * Into the local balance or, where there is none, back to the rights. They are lost with a window that is over. Of a
   * quota without a window a crash would waste them for ever: they always go back to the rights.
   */
  private refund(allotment: Allotment, amount: number): void {
    const { book } = this.options;
    const policy = book.numbered(allotment.policy) ?? book.droppedNumbered(allotment.policy);
    const isUsable = policy !== undefined && !this.grantor.isOver(policy, allotment);
    if (policy?.windowMs === 0) this.taker.stopDenying(allotment);
    else if (this.taker.giveBack(allotment, amount)) {
      // The limit may have been lowered while they were held.
      if (isUsable) this.ledger.takeBackExcess(policy, allotment);
      return;
    }
    if (isUsable) this.ledger.unmark(policy, allotment, amount);
  }

  tick(): void {
    const nowMs = this.options.monotonicMs();
    this.durable.pass();
    for (const state of [...this.allotments.active]) this.advance(state);
    if (nowMs - this.scannedAtMs >= IDLE_SCAN_MS) {
      this.scannedAtMs = nowMs;
      this.leftToScan = Math.min(IDLE_SCAN_ALLOTMENTS, this.allotments.size);
    }
    const count = Math.min(this.leftToScan, IDLE_SCAN_PART);
    if (count === 0) return;
    this.leftToScan -= count;
    this.allotments.scan(count, (state) => this.grantor.isKept(state, nowMs));
  }

  /** A frame for another region is forwarded and not remembered: a region that gets no answer asks again. */
  hear(frame: TokensWanted | TokensAnswer): void {
    const { region, peers } = this.options;
    if (frame.toRegion !== region) {
      if (frame.hops < MAXIMUM_HOPS) peers.send(frame.toRegion, { ...frame, hops: frame.hops + 1 });
    } else if (frame.kind === FrameKind.tokensWanted) this.grantor.hearWanted(frame);
    else this.hearAnswer(frame);
  }

  /**
   * A limit may have been raised: callers that were denied may ask again. Or lowered: tokens that are not in it any
   * more leave the local balance.
   */
  policiesChanged(): void {
    const { book } = this.options;
    for (const state of this.allotments.values()) {
      this.takeBackExcess(state);
      if (state.denialMs === FIRST_DENIAL_MS) continue;
      state.denialMs = FIRST_DENIAL_MS;
      state.empty?.clear();
      const policy = book.numbered(state.allotment.policy);
      if (policy !== undefined) this.ledger.deny(policy, state.allotment, 0);
    }
  }

  /** A limit may have been lowered while the state of the allotment was forgotten: tokens beyond it are not spent. */
  private takeBackExcess({ allotment }: AllotmentState): void {
    const policy = this.options.book.numbered(allotment.policy);
    if (policy !== undefined && !this.grantor.isOver(policy, allotment)) this.ledger.takeBackExcess(policy, allotment);
  }

  /**
   * Before a clean shutdown, and before slots move, when no lane spends any more of these: unspent tokens become rights
   * again instead of waste.
   */
  returnLocalBalances(isMeant: (subject: Uint8Array) => boolean = () => true): void {
    for (const state of this.allotments.values()) {
      const { allotment, marked } = state;
      if (!isMeant(allotment.subject)) continue;
      const policy = this.options.book.numbered(allotment.policy);
      if (policy === undefined || this.grantor.isOver(policy, allotment)) continue;
      this.ledger.takeBack(policy, allotment, Number.POSITIVE_INFINITY);
      // Tokens that still wait for the disk never were in the local balance.
      if (marked !== undefined) this.ledger.unmark(policy, allotment, marked.amount);
      state.marked = undefined;
    }
  }

  /** Tokens that were set aside or came back, and wait for the disk. */
  waitingOf(allotment: Allotment): number {
    const state = this.allotments.get(nameOfAllotment(allotment));
    return state === undefined ? 0 : (state.marked?.amount ?? 0) + state.returning;
  }

  /** How far clocks may differ. */
  get skewBoundMs(): number {
    return this.options.skewBoundMs;
  }

  get allotmentCount(): number {
    return this.allotments.size;
  }

  get hasWork(): boolean {
    return this.allotments.active.size > 0;
  }

  // ---- demand of this region ----------------------------------------------------------------------------------------

  private advance(state: AllotmentState): void {
    const { allotment } = state;
    const { book } = this.options;
    const policy = book.numbered(allotment.policy);
    if (policy === undefined || this.grantor.isOver(policy, allotment)) {
      // Tokens on their way to the disk are not lost with a policy that is dropped: it may be defined again.
      const dropped = policy === undefined ? book.droppedNumbered(allotment.policy) : undefined;
      if (dropped !== undefined && !this.grantor.isOver(dropped, allotment)) this.fillMarked(dropped, state);
      else state.marked = undefined;
      this.finish(state, 'none');
      return;
    }
    this.fillMarked(policy, state);
    this.wakeSatisfied(state);
    const missing = this.missing(state);
    if (missing <= 0) {
      this.finish(state, 'ready');
      return;
    }
    this.allotments.active.add(state);
    if (state.marked === undefined) this.markSome(policy, state, missing);
    this.wakeSatisfied(state);
    const stillMissing = this.missing(state) - (state.marked?.amount ?? 0) - state.returning;
    if (stillMissing > 0) this.askRegions(policy, state, stillMissing);
    else if (this.missing(state) <= 0) this.finish(state, 'ready');
    this.wakeImpatient(state, isOnItsWay(state) ? DISK_PATIENCE_MS : 0);
  }

  private missing(state: AllotmentState): number {
    return Math.max(neededBy(state), state.target) - this.ledger.balance(state.allotment);
  }

  /** The tokens that callers wait for, beyond the local balance. */
  private awaited(state: AllotmentState): number {
    return neededBy(state) - this.ledger.balance(state.allotment);
  }

  /** Puts marked tokens into the local balance, once the disk holds the mark. */
  private fillMarked(policy: Policy, state: AllotmentState, rights?: number): void {
    const { marked, allotment } = state;
    const { durable, events } = this.options;
    if (marked === undefined || (durable !== undefined && durable(marked.shard) < marked.version)) return;
    state.marked = undefined;
    state.denialMs = FIRST_DENIAL_MS;
    this.ledger.fill(policy, allotment, marked.amount, rights);
    events?.filled(policy, marked.amount);
  }

  private markSome(policy: Policy, state: AllotmentState, missing: number): void {
    const isEndless = policy.windowMs === 0;
    const portionOf = (rights: number) =>
      isEndless
        ? endlessPortionOf(state, rights, this.awaited(state), this.options.monotonicMs())
        : chunkOf(rights, missing);
    const marked = this.ledger.mark(policy, state.allotment, portionOf);
    if (marked === undefined) return;
    state.marked = marked;
    // A refill gets one portion, and no more, however low the local balance is.
    if (isEndless && marked.rightsLeft > 0) state.target = 0;
    if (this.options.durable === undefined) this.fillMarked(policy, state, marked.rightsLeft);
    else this.options.flushSoon?.();
  }

  /** Wakes callers in their order, while the local balance has enough for them. */
  private wakeSatisfied(state: AllotmentState): void {
    let left = this.ledger.balance(state.allotment);
    while (state.waiters.length > 0 && state.waiters[0].need <= left) {
      const waiter = state.waiters.shift() as Waiter;
      left -= waiter.need;
      waiter.done('ready');
      left = Math.min(left, this.ledger.balance(state.allotment));
    }
  }

  /** Wakes callers that have waited long enough for other regions, and longer for tokens on their way to the disk. */
  private wakeImpatient(state: AllotmentState, longerMs: number): void {
    const nowMs = this.options.monotonicMs();
    const isOver = ({ untilMs }: Waiter) => untilMs + longerMs <= nowMs;
    if (!state.waiters.some(isOver)) return;
    const impatient = state.waiters.filter(isOver);
    state.waiters = state.waiters.filter((waiter) => !isOver(waiter));
    for (const waiter of impatient) waiter.done('none');
  }

  /** Nothing is left to do for now; callers that still wait get the outcome. */
  private finish(state: AllotmentState, outcome: DemandOutcome): void {
    state.target = 0;
    state.asked?.clear();
    // Tokens on their way to the disk still have to get into the local balance: otherwise they would be lost.
    if (!isOnItsWay(state)) this.allotments.active.delete(state);
    const { waiters } = state;
    state.waiters = [];
    for (const waiter of waiters) waiter.done(outcome);
  }

  private askRegions(policy: Policy, state: AllotmentState, missing: number): void {
    const { peers, region, monotonicMs, engine, events } = this.options;
    const nowMs = monotonicMs();
    state.asked ??= new Map();
    state.empty ??= new Map();
    const { asked, empty } = state;
    for (const [other, { atMs }] of asked) {
      if (nowMs - atMs < ANSWER_MS) continue;
      asked.delete(other);
      empty.set(other, nowMs + EMPTY_MS);
      if (isServerOf(other, policy.allocator)) state.isAllocatorSilent = true;
    }
    const open = [...peers.regions()].filter((other) => other !== region && (empty.get(other) ?? 0) <= nowMs);
    const allocators = open.filter((other) => isServerOf(other, policy.allocator));
    const targets = allocators.length > 0 ? allocators : open;
    for (const target of targets)
      if (!asked.has(target)) asked.set(target, { request: this.ask(state, target, missing), atMs: nowMs });
    if (asked.size > 0 || state.expectedUntilMs > nowMs || isOnItsWay(state)) return;
    const admissible = this.isCutOff(policy, state) ? this.ledger.admissible(policy, state.allotment) : 0;
    if (admissible > 0 && this.admitSome(policy, state, admissible)) return;
    events?.denied(policy);
    // Callers that need less may still be admitted.
    if (admissible === 0) {
      this.ledger.deny(policy, state.allotment, engine.nowMs + state.denialMs);
      state.denialMs = Math.min(state.denialMs * 2, LONGEST_DENIAL_MS);
    }
    this.finish(state, 'none');
  }

  /** Whether a region admits tokens alone now. */
  private isCutOff({ admitFraction, allocator }: Policy, { isAllocatorSilent }: AllotmentState): boolean {
    const { region, peers } = this.options;
    if (admitFraction === undefined || isServerOf(region, allocator)) return false;
    return isAllocatorSilent || ![...peers.regions()].some((other) => isServerOf(other, allocator));
  }

  /** For callers that wait; false where none does, or the first needs more than may be admitted. */
  private admitSome(policy: Policy, state: AllotmentState, admissible: number): boolean {
    const { durable, flushSoon, events } = this.options;
    const needed = this.awaited(state);
    if (needed <= 0 || state.waiters[0].need - this.ledger.balance(state.allotment) > admissible) return false;
    const amount = chunkOf(admissible, Math.min(needed, admissible));
    const mark = this.ledger.admit(policy, state.allotment, amount);
    if (mark === undefined) return false;
    events?.admitted(policy, amount);
    state.marked = { ...mark, amount };
    if (durable === undefined) this.fillMarked(policy, state);
    else flushSoon?.();
    this.wakeSatisfied(state);
    return true;
  }

  private ask({ allotment }: AllotmentState, toRegion: string, need: number): number {
    const { origin, region, book, peers } = this.options;
    const request = ++this.lastRequest;
    peers.send(toRegion, {
      kind: FrameKind.tokensWanted,
      origin,
      fromRegion: region,
      toRegion,
      request,
      policiesVersion: book.version,
      ...allotment,
      need,
      hops: 0,
    });
    return request;
  }

  private hearAnswer({ policy, window, subject, fromRegion, request, granted }: TokensAnswer): void {
    const state = this.allotments.get(nameOfAllotment({ policy, window, subject }));
    const asked = state?.asked?.get(fromRegion);
    if (asked?.request !== request || state?.asked === undefined) return;
    const { monotonicMs, book, events } = this.options;
    const nowMs = monotonicMs();
    state.asked.delete(fromRegion);
    const named = book.numbered(policy);
    if (named !== undefined && isServerOf(fromRegion, named.allocator)) state.isAllocatorSilent = false;
    if (named !== undefined) events?.received(named, fromRegion, granted, nowMs - asked.atMs);
    if (granted > 0) state.expectedUntilMs = nowMs + ANSWER_MS;
    else state.empty?.set(fromRegion, nowMs + EMPTY_MS);
    this.advance(state);
  }
}

function neededBy({ waiters }: AllotmentState): number {
  return waiters.reduce((sum, waiter) => sum + waiter.need, 0);
}

/** Tokens wait for the disk before they can be spent. */
function isOnItsWay({ marked, returning }: AllotmentState): boolean {
  return marked !== undefined || returning > 0;
}
