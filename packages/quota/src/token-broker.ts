import { FrameKind, type TokensAnswer, type TokensWanted } from '@quotadb/wire';
import { type Allotment, nameOfAllotment } from './allotment.js';
import {
  type AllotmentState,
  AllotmentStates,
  type DemandOutcome,
  FIRST_DENIAL_MS,
  type Waiter,
} from './allotment-states.js';
import type { TokenBrokerOptions } from './broker-options.js';
import { DurableQueue } from './durable-queue.js';
import { type ChangeMark, Ledger } from './ledger.js';
import { type Policy, windowEndMs } from './policy.js';
import { chunkOf, portionOf } from './portions.js';
import { MAXIMUM_HOPS } from './routes.js';
import { Taker } from './taker.js';

/** A disk that takes longer counts as one that has nothing. */
const DISK_PATIENCE_MS = 2000;
/** A region that does not answer a request for this long counts as one that has nothing. */
const ANSWER_MS = 1000;
/** A region that had nothing is not asked again for this long. */
const EMPTY_MS = 100;
/** How long a caller is denied without another request to other regions: at most. */
const LONGEST_DENIAL_MS = 1000;
/** Tokens that were not used for this long go back to the allocator. */
const IDLE_MS = 2000;
const IDLE_SCAN_MS = 250;
/** Allotments in one scan; the next goes on behind them. */
const IDLE_SCAN_ALLOTMENTS = 1000;

/**
 * Finds tokens for the demand of this region, and grants tokens to regions that need them more. Lanes spend from local
 * balances; when one runs low or is empty they turn to the broker, which
 *
 *   1  marks a part of this node's rights and, once the mark is on disk, puts it into the local balance;
 *   2  where that is too little, asks the allocator, and where that has nothing or is unreachable, all regions;
 *   3  where no region has tokens, denies: for a moment further callers are denied without asking.
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
  private lastRequest = 0;
  private scannedAtMs = 0;

  constructor(options: TokenBrokerOptions) {
    this.options = options;
    const { engine, region, book, skewBoundMs } = options;
    this.ledger = new Ledger({ engine, region, book, skewBoundMs });
    this.taker = new Taker(engine);
    this.durable = new DurableQueue(options.durable, () => options.flushSoon?.());
  }

  /** A caller needs more tokens than the local balance has, and waits this long for those of other regions. */
  demand(allotment: Allotment, need: number, waitMs: number, done: (outcome: DemandOutcome) => void): void {
    const nowMs = this.options.monotonicMs();
    const state = this.allotments.use(allotment, nowMs);
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
   * Tokens of a reservation or a lease come back when the disk holds its end, a change of this mark: a crash before that
   * restores it, with its tokens. Without a mark there is nothing on disk to restore.
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

  /** Into the local balance or, where there is none, back to the rights. They are lost with a window that is over. */
  private refund(allotment: Allotment, amount: number): void {
    const { book } = this.options;
    if (this.taker.giveBack(allotment, amount)) return;
    const policy = book.numbered(allotment.policy) ?? book.droppedNumbered(allotment.policy);
    if (policy !== undefined && !this.isOver(policy, allotment)) this.ledger.unmark(policy, allotment, amount);
  }

  tick(): void {
    const nowMs = this.options.monotonicMs();
    this.durable.pass();
    for (const state of [...this.allotments.active]) this.advance(state);
    if (nowMs - this.scannedAtMs < IDLE_SCAN_MS) return;
    this.scannedAtMs = nowMs;
    this.allotments.scan(IDLE_SCAN_ALLOTMENTS, (state) => this.isKept(state, nowMs));
  }

  /** A frame for another region is forwarded and not remembered: a region that gets no answer asks again. */
  hear(frame: TokensWanted | TokensAnswer): void {
    const { region, peers } = this.options;
    if (frame.toRegion !== region) {
      if (frame.hops < MAXIMUM_HOPS) peers.send(frame.toRegion, { ...frame, hops: frame.hops + 1 });
    } else if (frame.kind === FrameKind.tokensWanted) this.hearWanted(frame);
    else this.hearAnswer(frame);
  }

  /**
   * A limit may have been raised: callers that were denied may ask again. Or lowered: tokens that are not in it any more
   * leave the local balance.
   */
  policiesChanged(): void {
    const { book } = this.options;
    for (const state of this.allotments.values()) {
      const policy = book.numbered(state.allotment.policy);
      if (policy !== undefined && !this.isOver(policy, state.allotment))
        this.ledger.takeBackExcess(policy, state.allotment);
      if (state.denialMs === FIRST_DENIAL_MS) continue;
      state.denialMs = FIRST_DENIAL_MS;
      state.empty?.clear();
      if (policy !== undefined) this.ledger.deny(policy, state.allotment, 0);
    }
  }

  /** Before a clean shutdown, when no lane spends any more: unspent tokens become rights again instead of waste. */
  returnLocalBalances(): void {
    for (const state of this.allotments.values()) {
      const { allotment, marked } = state;
      const policy = this.options.book.numbered(allotment.policy);
      if (policy === undefined || this.isOver(policy, allotment)) continue;
      this.ledger.takeBack(policy, allotment, Number.POSITIVE_INFINITY);
      // Tokens that still wait for the disk never were in the local balance.
      if (marked !== undefined) this.ledger.unmark(policy, allotment, marked.amount);
      state.marked = undefined;
    }
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
    if (policy === undefined || this.isOver(policy, allotment)) {
      // Tokens on their way to the disk are not lost with a policy that is dropped: it may be defined again.
      const dropped = policy === undefined ? book.droppedNumbered(allotment.policy) : undefined;
      if (dropped !== undefined && !this.isOver(dropped, allotment)) this.fillMarked(dropped, state);
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

  private isOver(policy: Policy, allotment: Allotment): boolean {
    return this.options.engine.nowMs >= windowEndMs(policy, allotment.window) + this.options.skewBoundMs;
  }

  private missing(state: AllotmentState): number {
    const needed = state.waiters.reduce((sum, waiter) => sum + waiter.need, 0);
    return Math.max(needed, state.target) - this.ledger.balance(state.allotment);
  }

  /** Puts marked tokens into the local balance, once the disk holds the mark. */
  private fillMarked(policy: Policy, state: AllotmentState): void {
    const { marked, allotment } = state;
    const { durable, events } = this.options;
    if (marked === undefined || (durable !== undefined && durable(marked.shard) < marked.version)) return;
    state.marked = undefined;
    state.denialMs = FIRST_DENIAL_MS;
    this.ledger.fill(policy, allotment, marked.amount);
    events?.filled(policy, marked.amount);
  }

  private markSome(policy: Policy, state: AllotmentState, missing: number): void {
    const rights = this.ledger.rights(policy, state.allotment);
    if (rights <= 0) return;
    const amount = portionOf(policy, state, rights, missing, this.options.monotonicMs());
    const mark = this.ledger.mark(policy, state.allotment, amount);
    if (mark === undefined) return;
    state.marked = { ...mark, amount };
    if (this.options.durable === undefined) this.fillMarked(policy, state);
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
    }
    const open = [...peers.regions()].filter((other) => other !== region && (empty.get(other) ?? 0) <= nowMs);
    const targets = open.includes(policy.allocator) ? [policy.allocator] : open;
    for (const target of targets)
      if (!asked.has(target)) asked.set(target, { request: this.ask(state, target, missing), atMs: nowMs });
    if (asked.size > 0 || state.expectedUntilMs > nowMs || isOnItsWay(state)) return;
    events?.denied(policy);
    this.ledger.deny(policy, state.allotment, engine.nowMs + state.denialMs);
    state.denialMs = Math.min(state.denialMs * 2, LONGEST_DENIAL_MS);
    this.finish(state, 'none');
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
    if (named !== undefined) events?.received(named, fromRegion, granted, nowMs - asked.atMs);
    if (granted > 0) state.expectedUntilMs = nowMs + ANSWER_MS;
    else state.empty?.set(fromRegion, nowMs + EMPTY_MS);
    this.advance(state);
  }

  // ---- demand of other regions --------------------------------------------------------------------------------------

  private hearWanted({ origin, fromRegion, request, policy: number, window, subject, need }: TokensWanted): void {
    const { peers, region, book, events } = this.options;
    const policy = book.numbered(number);
    const allotment: Allotment = { policy: number, window, subject };
    const granted = policy === undefined ? 0 : this.grantTo(policy, allotment, origin, need);
    if (policy !== undefined && granted > 0) events?.granted(policy, fromRegion, granted);
    const answer = { origin, fromRegion: region, toRegion: fromRegion, request, ...allotment, granted, hops: 0 };
    peers.send(fromRegion, { kind: FrameKind.tokensAnswer, ...answer });
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
  private isKept(state: AllotmentState, nowMs: number): boolean {
    const { book, peers, region, events } = this.options;
    const { allotment } = state;
    const policy = book.numbered(allotment.policy);
    if (policy === undefined || this.isOver(policy, allotment)) return false;
    const { allocator } = policy;
    if (allocator === region && policy.windowMs > 0) return true;
    const balance = this.ledger.balance(allotment);
    if (balance !== state.balance) {
      state.balance = balance;
      state.usedAtMs = nowMs;
      return true;
    }
    if (allocator === region) {
      // Of a quota without a window a crash would waste them for ever.
      if (nowMs - state.usedAtMs >= IDLE_MS) this.ledger.takeBack(policy, allotment, balance);
      return true;
    }
    const to = peers.originOf(allocator);
    if (nowMs - state.usedAtMs < IDLE_MS || to === undefined) return true;
    this.ledger.takeBack(policy, allotment, balance);
    const rights = this.ledger.rights(policy, allotment);
    if (rights > 0 && this.ledger.grant(policy, allotment, to, rights) !== undefined)
      events?.returned(policy, allocator, rights);
    return false;
  }
}

/** Tokens wait for the disk before they can be spent. */
function isOnItsWay({ marked, returning }: AllotmentState): boolean {
  return marked !== undefined || returning > 0;
}
