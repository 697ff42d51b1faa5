import type { Engine } from '@quotadb/engine';
import { FrameKind, type TokensAnswer, type TokensWanted } from '@quotadb/wire';
import { type Allotment, MAXIMUM_SUBJECT_BYTES, nameOfAllotment } from './allotment.js';
import { type ChangeMark, Ledger } from './ledger.js';
import { type Policy, windowEndMs } from './policy.js';
import type { PolicyBook } from './policy-book.js';
import { MAXIMUM_HOPS } from './routes.js';

/** The other regions, as far as they can be reached now. */
export interface QuotaPeers {
  /** Regions that there is a link to, or a way through others. */
  regions(): Iterable<string>;
  /** The incarnation that a region is in. */
  originOf(region: string): Uint8Array | undefined;
  /** To the region, or to the next one on the way. */
  send(region: string, frame: TokensWanted | TokensAnswer): void;
}

export interface TokenBrokerOptions {
  readonly engine: Engine;
  readonly region: string;
  readonly origin: Uint8Array;
  readonly book: PolicyBook;
  readonly peers: QuotaPeers;
  readonly skewBoundMs: number;
  /** Milliseconds that never go back. */
  readonly monotonicMs: () => number;
  /** Undefined where there is no disk. */
  readonly durable?: (shard: number) => number;
  /** Somebody waits for what was just changed to be on disk. */
  readonly flushSoon?: () => void;
  readonly events?: TokenBrokerEvents;
}

/** What becomes of tokens, for whoever keeps figures. Must not throw. */
export interface TokenBrokerEvents {
  /** So much was put into a pocket. */
  filled(policy: Policy, amount: number): void;
  /** Nobody had anything. */
  denied(policy: Policy): void;
  /** Given to a region that had asked. */
  granted(policy: Policy, region: string, amount: number): void;
  /** Given back to the allocator: nobody used it here. */
  returned(policy: Policy, region: string, amount: number): void;
  /** A region that was asked so long ago gives so much. */
  received(policy: Policy, region: string, amount: number, waitedMs: number): void;
}

/** Of what is held, so much is set aside to spend at a time: a crash wastes no more, and others can be granted the rest. */
const CHUNK_FRACTION = 8;
/** A disk that takes longer counts as one that has nothing. */
const DISK_PATIENCE_MS = 2000;
/** Who was asked and says nothing for so long has nothing. */
const ANSWER_MS = 1000;
/** Who has said that there is nothing is not asked again for so long. */
const EMPTY_MS = 100;
/** How long a caller is denied without asking around again: at first, and at most. */
const FIRST_DENIAL_MS = 20;
const LONGEST_DENIAL_MS = 1000;
/** Tokens that nobody used here for so long go back to the allocator. */
const IDLE_MS = 2000;
const IDLE_SCAN_MS = 250;
/** Allotments looked at in one such scan; the next goes on behind them. */
const IDLE_SCAN_ALLOTMENTS = 1000;
/** Allotments that are looked after at once; the ones longest out of use are let go, and with them nothing but the memory of them. */
const MAXIMUM_ALLOTMENTS = 65_536;
/** So many are let go together: a Map keeps the places of what was deleted, and the first that is left is found by passing them. */
const LET_GO_TOGETHER = 8192;

/** What has become of a demand: it is worth trying again, or there is nothing to be had. */
export type DemandOutcome = 'ready' | 'none';

interface Waiter {
  readonly need: number;
  /** Until then it waits for what others have; for what is held here it waits in any case. */
  readonly untilMs: number;
  readonly done: (outcome: DemandOutcome) => void;
}

interface Asked {
  readonly request: number;
  readonly atMs: number;
}

interface AllotmentState {
  readonly allotment: Allotment;
  waiters: Waiter[];
  /** How much there should be in the pocket, beside what waiters need. */
  target: number;
  marked: (ChangeMark & { readonly amount: number }) | undefined;
  /** Made when somebody is asked: most allotments never ask anybody. */
  asked: Map<string, Asked> | undefined;
  /** Regions that had nothing, and until when they are not asked again. */
  empty: Map<string, number> | undefined;
  /** A grant was announced; it comes with the other changes of the region that made it. */
  expectedUntilMs: number;
  denialMs: number;
  balance: number;
  usedAtMs: number;
}

/**
 * Gets tokens for the allotments that are in demand here, and gives to others what they need more. Lanes spend from pockets; when
 * one runs low or is empty they turn to the broker, which
 *
 *   1  sets a part of what this node holds aside and puts it into the pocket, when the disk knows;
 *   2  where that is not enough, asks the allocator, and where that has nothing or is away, everybody;
 *   3  when nobody has anything, denies: whoever asks again within a moment is told so at once.
 *
 * It decides nothing about what is right: the ledger does not let go of more than is held, whoever asks.
 */
export class TokenBroker {
  readonly ledger: Ledger;
  private readonly options: TokenBrokerOptions;
  private readonly allotments = new Map<string, AllotmentState>();
  /** Those that something is under way for. */
  private readonly active = new Set<AllotmentState>();
  private lastRequest = 0;
  private scannedAtMs = 0;

  constructor(options: TokenBrokerOptions) {
    this.options = options;
    const { engine, region, book, skewBoundMs } = options;
    this.ledger = new Ledger({ engine, region, book, skewBoundMs });
  }

  /** A caller needs tokens that the pocket does not have, and waits so long for those of others. Returns what ends that. */
  demand(allotment: Allotment, need: number, waitMs: number, done: (outcome: DemandOutcome) => void): () => void {
    const state = this.stateOf(allotment);
    const waiter: Waiter = { need, untilMs: this.options.monotonicMs() + waitMs, done };
    state.waiters.push(waiter);
    this.advance(state);
    return () => {
      state.waiters = state.waiters.filter((other) => other !== waiter);
    };
  }

  /** The pocket runs low. */
  requestRefill(allotment: Allotment, target: number): void {
    const state = this.stateOf(allotment);
    state.target = Math.max(state.target, target);
    this.advance(state);
  }

  tick(): void {
    const nowMs = this.options.monotonicMs();
    for (const state of [...this.active]) this.advance(state);
    if (nowMs - this.scannedAtMs < IDLE_SCAN_MS) return;
    this.scannedAtMs = nowMs;
    this.returnIdle(nowMs);
  }

  hear(frame: TokensWanted | TokensAnswer): void {
    const isForOthers = frame.toRegion !== this.options.region;
    if (isForOthers) this.passOn(frame);
    else if (frame.kind === FrameKind.tokensWanted) this.hearWanted(frame);
    else this.hearAnswer(frame);
  }

  /** A limit may have been raised: whoever was told that there is nothing may ask again. */
  policiesChanged(): void {
    const { book } = this.options;
    for (const state of this.allotments.values()) {
      if (state.denialMs === FIRST_DENIAL_MS) continue;
      state.denialMs = FIRST_DENIAL_MS;
      state.empty?.clear();
      const policy = book.numbered(state.allotment.policy);
      if (policy !== undefined) this.ledger.deny(policy, state.allotment, 0);
    }
  }

  /** Before an end that was announced: what nobody has spent need not be lost. Nobody spends any more. */
  returnLocalBalances(): void {
    for (const state of this.allotments.values()) {
      const { allotment, marked } = state;
      const policy = this.options.book.numbered(allotment.policy);
      if (policy === undefined || this.isOver(policy, allotment)) continue;
      this.ledger.takeBack(policy, allotment, Number.POSITIVE_INFINITY);
      // What still waits for the disk never was in the pocket.
      if (marked !== undefined) this.ledger.unmark(policy, allotment, marked.amount);
      state.marked = undefined;
    }
  }

  /** How far clocks may differ. */
  get skewBoundMs(): number {
    return this.options.skewBoundMs;
  }

  /** Allotments that are looked after. */
  get allotmentCount(): number {
    return this.allotments.size;
  }

  get hasWork(): boolean {
    return this.active.size > 0;
  }

  // ---- what is wanted here ----------------------------------------------------------------------------------------------

  private stateOf(allotment: Allotment): AllotmentState {
    const name = nameOfAllotment(allotment);
    let state = this.allotments.get(name);
    if (state !== undefined) this.allotments.delete(name);
    else {
      state = {
        allotment: { ...allotment, subject: Uint8Array.from(allotment.subject) },
        waiters: [],
        target: 0,
        marked: undefined,
        asked: undefined,
        empty: undefined,
        expectedUntilMs: 0,
        denialMs: FIRST_DENIAL_MS,
        balance: -1,
        usedAtMs: 0,
      };
    }
    state.usedAtMs = this.options.monotonicMs();
    this.allotments.set(name, state);
    if (this.allotments.size > MAXIMUM_ALLOTMENTS) this.letGoOldest();
    return state;
  }

  private letGoOldest(): void {
    let left = LET_GO_TOGETHER;
    for (const [name, state] of this.allotments) {
      if (left-- <= 0) return;
      if (!this.active.has(state)) this.allotments.delete(name);
    }
  }

  private advance(state: AllotmentState): void {
    const { book } = this.options;
    const policy = book.numbered(state.allotment.policy);
    if (policy === undefined || this.isOver(policy, state.allotment)) {
      state.marked = undefined;
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
    this.active.add(state);
    if (state.marked === undefined) this.markSome(policy, state, missing);
    this.wakeSatisfied(state);
    const stillMissing = this.missing(state) - (state.marked?.amount ?? 0);
    if (stillMissing > 0) this.askAround(policy, state, stillMissing);
    else if (this.missing(state) <= 0) this.finish(state, 'ready');
    this.wakeImpatient(state, state.marked === undefined ? 0 : DISK_PATIENCE_MS);
  }

  private isOver(policy: Policy, allotment: Allotment): boolean {
    return this.options.engine.nowMs >= windowEndMs(policy, allotment.window) + this.options.skewBoundMs;
  }

  private missing(state: AllotmentState): number {
    const needed = state.waiters.reduce((sum, waiter) => sum + waiter.need, 0);
    return Math.max(needed, state.target) - this.ledger.balance(state.allotment);
  }

  /** What was marked and is on disk by now goes into the pocket. */
  private fillMarked(policy: Policy, state: AllotmentState): void {
    const { marked } = state;
    const { durable } = this.options;
    if (marked === undefined || (durable !== undefined && durable(marked.shard) < marked.version)) return;
    state.marked = undefined;
    state.denialMs = FIRST_DENIAL_MS;
    this.ledger.fill(policy, state.allotment, marked.amount);
    this.options.events?.filled(policy, marked.amount);
  }

  private markSome(policy: Policy, state: AllotmentState, missing: number): void {
    const rights = this.ledger.rights(policy, state.allotment);
    if (rights <= 0) return;
    const amount = Math.min(rights, Math.max(missing, Math.ceil(rights / CHUNK_FRACTION)));
    const mark = this.ledger.mark(policy, state.allotment, amount);
    if (mark === undefined) return;
    state.marked = { ...mark, amount };
    if (this.options.durable === undefined) this.fillMarked(policy, state);
    else this.options.flushSoon?.();
  }

  /** Callers that there is enough for, in their order. */
  private wakeSatisfied(state: AllotmentState): void {
    let left = this.ledger.balance(state.allotment);
    while (state.waiters.length > 0 && state.waiters[0].need <= left) {
      const waiter = state.waiters.shift() as Waiter;
      left -= waiter.need;
      waiter.done('ready');
      left = Math.min(left, this.ledger.balance(state.allotment));
    }
  }

  /** Who has waited long enough: for others, and so much longer for the own disk where something is on its way to it. */
  private wakeImpatient(state: AllotmentState, longerMs: number): void {
    const nowMs = this.options.monotonicMs();
    const isOver = ({ untilMs }: Waiter) => untilMs + longerMs <= nowMs;
    if (!state.waiters.some(isOver)) return;
    const impatient = state.waiters.filter(isOver);
    state.waiters = state.waiters.filter((waiter) => !isOver(waiter));
    for (const waiter of impatient) waiter.done('none');
  }

  /** Nothing is left to do for now; who still waits hears how it is. */
  private finish(state: AllotmentState, outcome: DemandOutcome): void {
    state.target = 0;
    state.asked?.clear();
    // What is on its way to the disk still has to get into the pocket: who stops looking now has lost it.
    if (state.marked === undefined) this.active.delete(state);
    const waiters = state.waiters;
    state.waiters = [];
    for (const waiter of waiters) waiter.done(outcome);
  }

  private askAround(policy: Policy, state: AllotmentState, missing: number): void {
    const { peers, region, monotonicMs } = this.options;
    const nowMs = monotonicMs();
    state.asked ??= new Map();
    state.empty ??= new Map();
    const { asked, empty } = state;
    for (const [other, { atMs }] of asked) {
      if (nowMs - atMs < ANSWER_MS) continue;
      asked.delete(other);
      empty.set(other, nowMs + EMPTY_MS);
    }
    const { allocator } = policy;
    const open = [...peers.regions()].filter((other) => other !== region && (empty.get(other) ?? 0) <= nowMs);
    const isReachable = open.includes(allocator);
    const targets = isReachable ? [allocator] : open;
    for (const target of targets) if (!asked.has(target)) asked.set(target, this.ask(state, target, missing, nowMs));
    if (asked.size > 0 || state.expectedUntilMs > nowMs || state.marked !== undefined) return;
    this.options.events?.denied(policy);
    this.ledger.deny(policy, state.allotment, this.options.engine.nowMs + state.denialMs);
    state.denialMs = Math.min(state.denialMs * 2, LONGEST_DENIAL_MS);
    this.finish(state, 'none');
  }

  private ask(state: AllotmentState, toRegion: string, need: number, nowMs: number): Asked {
    const { origin, region, book, peers } = this.options;
    const request = ++this.lastRequest;
    peers.send(toRegion, {
      kind: FrameKind.tokensWanted,
      origin,
      fromRegion: region,
      toRegion,
      request,
      policy: state.allotment.policy,
      policiesVersion: book.version,
      window: state.allotment.window,
      subject: state.allotment.subject,
      need,
      hops: 0,
    });
    return { request, atMs: nowMs };
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

  // ---- what is wanted elsewhere -----------------------------------------------------------------------------------------

  /** Nothing is remembered of it: the answer finds its own way, and whoever hears none asks again. */
  private passOn(frame: TokensWanted | TokensAnswer): void {
    if (frame.hops >= MAXIMUM_HOPS) return;
    this.options.peers.send(frame.toRegion, { ...frame, hops: frame.hops + 1 });
  }

  private hearWanted(wanted: TokensWanted): void {
    const { peers, region, book } = this.options;
    if (!Number.isSafeInteger(wanted.window) || wanted.subject.length > MAXIMUM_SUBJECT_BYTES) return;
    const policy = book.numbered(wanted.policy);
    const allotment: Allotment = { policy: wanted.policy, window: wanted.window, subject: wanted.subject };
    const granted = policy === undefined ? 0 : this.grantTo(policy, allotment, wanted.origin, wanted.need);
    if (policy !== undefined && granted > 0) this.options.events?.granted(policy, wanted.fromRegion, granted);
    peers.send(wanted.fromRegion, {
      kind: FrameKind.tokensAnswer,
      origin: wanted.origin,
      fromRegion: region,
      toRegion: wanted.fromRegion,
      request: wanted.request,
      policy: wanted.policy,
      window: wanted.window,
      subject: wanted.subject,
      granted,
      hops: 0,
    });
  }

  /** The allocator gives a part of what it has, more to who needs more; who is in need itself gives what it can spare. */
  private grantTo(policy: Policy, allotment: Allotment, to: Uint8Array, need: number): number {
    const state = this.allotments.get(nameOfAllotment(allotment));
    const isInNeed = state !== undefined && state.waiters.length > 0;
    let rights = this.ledger.rights(policy, allotment);
    if (isInNeed) rights = Math.floor(rights / 2);
    else if (rights < need) {
      const balance = this.ledger.balance(allotment);
      const spare = this.isIdle(state) ? balance : Math.floor(balance / 2);
      this.ledger.takeBack(policy, allotment, Math.min(spare, need - Math.max(0, rights)));
      rights = this.ledger.rights(policy, allotment);
    }
    const amount = Math.min(rights, Math.max(need, Math.ceil(rights / CHUNK_FRACTION)));
    if (amount <= 0 || this.ledger.grant(policy, allotment, to, amount) === undefined) return 0;
    this.options.flushSoon?.();
    return amount;
  }

  private isIdle(state: AllotmentState | undefined): boolean {
    if (state === undefined) return true;
    const balance = this.ledger.balance(state.allotment);
    return balance === state.balance || this.options.monotonicMs() - state.usedAtMs >= IDLE_MS;
  }

  /** What nobody uses here may be needed elsewhere. */
  private returnIdle(nowMs: number): void {
    let left = Math.min(IDLE_SCAN_ALLOTMENTS, this.allotments.size);
    for (const [name, state] of this.allotments) {
      if (left-- <= 0) return;
      this.allotments.delete(name);
      if (this.active.has(state) || this.isKept(state, nowMs)) this.allotments.set(name, state);
    }
  }

  /** Whether there is more to do for an allotment. Where there is not, what is left of it has been given back. */
  private isKept(state: AllotmentState, nowMs: number): boolean {
    const { book, peers, region } = this.options;
    const policy = book.numbered(state.allotment.policy);
    if (policy === undefined || this.isOver(policy, state.allotment)) return false;
    if (policy.allocator === region) return true;
    const balance = this.ledger.balance(state.allotment);
    if (balance !== state.balance) {
      state.balance = balance;
      state.usedAtMs = nowMs;
      return true;
    }
    if (nowMs - state.usedAtMs < IDLE_MS) return true;
    const to = peers.originOf(policy.allocator);
    if (to === undefined) return true;
    this.ledger.takeBack(policy, state.allotment, balance);
    const rights = this.ledger.rights(policy, state.allotment);
    if (rights > 0 && this.ledger.grant(policy, state.allotment, to, rights) !== undefined)
      this.options.events?.returned(policy, policy.allocator, rights);
    return false;
  }
}
