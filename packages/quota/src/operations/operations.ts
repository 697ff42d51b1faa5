import { ByteInput, type Engine } from '@quotadb/engine';
import { type Allotment, AllotmentKey, MAXIMUM_SUBJECT_BYTES } from '../allotments/allotment.js';
import type { PolicyBook } from '../home/policy-book.js';
import type { DemandOutcome } from '../ledger/allotment-states.js';
import type { ChangeMark } from '../ledger/ledger.js';
import { isLeased, MAXIMUM_WAIT_MS, type Policy, windowAt, windowEndMs } from '../policies/policy.js';
import { costTooSmall, noLeases, noSuchPolicy, onlyLeases, SUBJECT_TOO_LONG } from '../policies/request-mistakes.js';
import { Taker, Verdict } from '../tokens/taker.js';
import type { TokenBroker } from '../tokens/token-broker.js';
import type { HoldRequest, Standing, TakeAnswer, TakeItem, TakeRequest } from './take-request.js';

export interface OperationsOptions {
  readonly engine: Engine;
  readonly book: PolicyBook;
  readonly broker: TokenBroker;
  readonly monotonicMs: () => number;
}

/** More limits than one request needs. */
export const MAXIMUM_ITEMS = 16;
/** A take always waits for tokens that this node holds: a flush or two. */
const LOCAL_PATIENCE_MS = 2000;
/** A take is denied after this many attempts in which other takes were faster. */
const MAXIMUM_ATTEMPTS = 50;

interface ResolvedItem {
  readonly policy: Policy;
  readonly subject: Uint8Array;
  readonly cost: number;
  /** Of a lease: it holds a token of every window until it ends. */
  readonly hold?: { readonly ms: number; readonly after: number };
}

/** The part of an item that is taken from one allotment. */
interface Part {
  readonly item: ResolvedItem;
  readonly allotment: Allotment;
}

/** An attempt to take tokens: nothing was taken where the verdict is not `allowed`. */
export interface Attempt {
  readonly verdict: Verdict;
  /** The tokens that local balances have too few of. */
  readonly missing: readonly { readonly allotment: Allotment; readonly cost: number }[];
}

interface Patience {
  /** Until then it waits for tokens of other regions. */
  readonly untilMs: number;
  readonly lastMs: number;
  attemptsLeft: number;
}

/** Takes that may have to wait, from one limit or from several at once, on the thread of the token broker. */
export class Operations {
  readonly taker: Taker;
  private readonly options: OperationsOptions;
  private readonly keys = Array.from({ length: MAXIMUM_ITEMS }, () => new AllotmentKey());

  constructor(options: OperationsOptions) {
    this.options = options;
    this.taker = new Taker(options.engine);
  }

  /** Takes from all limits or from none. */
  take({ items, waitMs, isRecorded = false }: TakeRequest, done: (answer: TakeAnswer) => void): void {
    const resolved = this.resolve(items);
    if (typeof resolved === 'string') {
      done({ error: resolved });
      return;
    }
    this.begin(resolved, waitMs, isRecorded, done);
  }

  /** Takes a token of every window from now, or from the last one that is held, until the hold is over by any clock. */
  hold({ name, subject, holdMs, held, waitMs }: HoldRequest, done: (answer: TakeAnswer) => void): void {
    const policy = this.options.book.named(name);
    const mistake = this.findMistake(policy, name, subject, holdMs);
    if (policy === undefined || mistake !== undefined) {
      done({ error: mistake as string });
      return;
    }
    if (held !== undefined && held.policy !== policy.number) {
      done({ error: `the quota '${name}' was dropped and defined anew since the lease was given` });
      return;
    }
    const hold = { ms: holdMs, after: held?.upTo ?? Number.NEGATIVE_INFINITY };
    this.begin([{ policy, subject, cost: 1, hold }], waitMs, false, done);
  }

  /** What a lease that is given now, for as long as its policy says, takes a token of; or why there can be none. */
  allotmentsOfLease(policy: Policy, subject: Uint8Array): readonly Allotment[] | string {
    const { name, leaseMs = 0 } = policy;
    const mistake = this.findMistake(policy, name, subject, leaseMs);
    if (mistake !== undefined) return mistake;
    const hold = { ms: leaseMs, after: Number.NEGATIVE_INFINITY };
    return this.partsOf({ policy, subject, cost: 1, hold }).map(({ allotment }) => allotment);
  }

  /** Whether a window is over by this node's clock. */
  isOver(policyNumber: number, window: number): boolean {
    const policy = this.options.book.numbered(policyNumber);
    return policy === undefined || this.options.engine.nowMs >= windowEndMs(policy, window);
  }

  /** See TokenBroker.giveBack. */
  giveBack(allotment: Allotment, amount: number, mark: ChangeMark | undefined): void {
    this.uncountUsage(allotment, amount);
    this.options.broker.giveBack(allotment, amount, mark);
  }

  /**
   * The same for tokens that were held until now: `end` writes that they no longer are. That, and that they are not
   * billed, are on disk together, or neither is.
   */
  endHold(allotment: Allotment, amount: number, end: () => ChangeMark | undefined): ChangeMark | undefined {
    const mark = this.together(() => {
      this.uncountUsage(allotment, amount);
      return end();
    });
    this.options.broker.giveBack(allotment, amount, mark);
    return mark;
  }

  /** Takes as many tokens as the local balance of an allotment has, at most these; returns how many. */
  takeSome(allotment: Allotment, atMost: number): number {
    const amount = this.taker.takeSome(allotment, atMost);
    const policy = this.known(allotment.policy);
    if (amount > 0 && policy !== undefined) this.countUsage(policy, allotment, amount);
    return amount;
  }

  /** Calls back when the disk holds a change; at once where there is none to wait for. */
  whenDurable(mark: ChangeMark | undefined, done: () => void): void {
    if (mark === undefined) done();
    else this.options.broker.durable.when(mark, done);
  }

  get nowMs(): number {
    return this.options.engine.nowMs;
  }

  /** When a window is over by every clock; 0 where it never is. */
  overMs({ policy: number, window }: Pick<Allotment, 'policy' | 'window'>): number {
    const policy = this.known(number);
    const endMs = policy === undefined ? this.nowMs : windowEndMs(policy, window);
    return endMs === Number.POSITIVE_INFINITY ? 0 : endMs + this.options.broker.skewBoundMs;
  }

  /** The windows from now to a last one. */
  allotmentsUpTo(number: number, subject: Uint8Array, last: number): Allotment[] {
    const policy = this.known(number);
    const allotments: Allotment[] = [];
    if (policy === undefined || last - windowAt(policy, this.nowMs) > MAXIMUM_ITEMS) return [];
    for (let window = windowAt(policy, this.nowMs); window <= last; window++)
      allotments.push({ policy: number, window, subject });
    return allotments;
  }

  private known(number: number): Policy | undefined {
    const { book } = this.options;
    return book.numbered(number) ?? book.droppedNumbered(number);
  }

  private begin(
    items: readonly ResolvedItem[],
    waitMs: number | undefined,
    isRecorded: boolean,
    done: (answer: TakeAnswer) => void,
  ): void {
    this.persist(
      () => this.takeAll(items),
      waitMs ?? Math.max(...items.map(({ policy }) => policy.waitMs)),
      ({ verdict, standings, allotments }) => {
        const finish = () => {
          const isAllowed = verdict === Verdict.allowed && this.countAll(items, allotments);
          done({ isAllowed, standings, allotments });
        };
        if (isRecorded) this.together(finish);
        else finish();
      },
    );
  }

  /** Where usage is billed, all changes of the work are one transaction: the disk has them whole or not at all. */
  private together<Result>(work: () => Result): Result {
    const { engine } = this.options;
    if (this.taker.usage === undefined) return work();
    engine.lockAll();
    try {
      return work();
    } finally {
      engine.unlock();
    }
  }

  /**
   * Repeats an attempt until its verdict is known or there is nothing more to be had; in between it waits, at most this
   * long, for the tokens that were missing.
   */
  persist<Result extends Attempt>(attempt: () => Result, waitMs: number, done: (result: Result) => void): void {
    const untilMs = this.options.monotonicMs() + Math.min(waitMs, MAXIMUM_WAIT_MS);
    const patience = { untilMs, lastMs: untilMs + LOCAL_PATIENCE_MS, attemptsLeft: MAXIMUM_ATTEMPTS };
    this.attempt(attempt, patience, done);
  }

  peek(name: string, subject: Uint8Array): Standing | { readonly error: string } {
    const resolved = this.resolve([{ name, subject, cost: 0 }], 0);
    if (typeof resolved === 'string') return { error: resolved };
    this.taker.peek(resolved[0].policy, subject, 0, subject.length);
    return this.standing();
  }

  private attempt<Result extends Attempt>(
    attempt: () => Result,
    patience: Patience,
    done: (result: Result) => void,
  ): void {
    const { broker, monotonicMs } = this.options;
    const result = attempt();
    const { verdict, missing } = result;
    if (verdict !== Verdict.unknown || patience.attemptsLeft-- <= 0) {
      done(result);
      return;
    }
    let waitingFor = missing.length;
    let isHopeless = false;
    const heard = (outcome: DemandOutcome) => {
      if (outcome === 'none') isHopeless = true;
      if (--waitingFor > 0) return;
      if (isHopeless || monotonicMs() >= patience.lastMs) patience.attemptsLeft = 0;
      this.attempt(attempt, patience, done);
    };
    const waitMs = Math.max(0, patience.untilMs - monotonicMs());
    for (const { allotment, cost } of missing) broker.demand(allotment, cost, waitMs, heard);
  }

  /** Counts the usage of all items, or gives everything back where there is no memory to count it. */
  private countAll(items: readonly ResolvedItem[], allotments: readonly Allotment[]): boolean {
    if (this.taker.usage === undefined || items[0].hold !== undefined) return true;
    // Without leases an item is taken from one allotment, in its order.
    const failed = items.findIndex(({ policy, cost }, index) => !this.countUsage(policy, allotments[index], cost));
    if (failed === -1) return true;
    for (const [index, { cost }] of items.entries()) {
      if (index < failed) this.giveBack(allotments[index], cost, undefined);
      else this.options.broker.giveBack(allotments[index], cost, undefined);
    }
    return false;
  }

  private uncountUsage(allotment: Allotment, amount: number): void {
    const policy = this.known(allotment.policy);
    if (policy !== undefined) this.taker.usage?.returned(policy, allotment, amount);
  }

  private countUsage(policy: Policy, { window, subject }: Allotment, amount: number): boolean {
    return this.taker.usage?.taken(policy, window, subject, 0, subject.length, amount) ?? true;
  }

  /**
   * Under the locks of all their shards, taken in one order: no other take sees a part of it, and no two wait for each
   * other.
   */
  private takeAll(items: readonly ResolvedItem[]): Attempt & {
    allotments: readonly Allotment[];
    standings: readonly Standing[];
  } {
    const { engine, broker } = this.options;
    const parts = items.flatMap((item) => this.partsOf(item));
    const allotments = parts.map(({ allotment }) => allotment);
    const low: { allotment: Allotment; target: number }[] = [];
    // A take from one allotment needs only the lock of its key.
    const isLocked = allotments.length > 1;
    if (isLocked) this.lock(allotments);
    try {
      let verdict: Verdict = Verdict.allowed;
      const missing: { allotment: Allotment; cost: number }[] = [];
      const taken: number[] = [];
      const standings = new Map<ResolvedItem, Standing>();
      for (const [index, { item, allotment }] of parts.entries()) {
        const { policy, cost } = item;
        const found = this.taker.takeFrom(policy, allotment, cost);
        standings.set(item, scarcer(standings.get(item), this.standing()));
        if (found === Verdict.allowed) taken.push(index);
        if (found === Verdict.denied) verdict = Verdict.denied;
        if (found === Verdict.unknown && verdict !== Verdict.denied) verdict = Verdict.unknown;
        if (found === Verdict.unknown) missing.push({ allotment, cost });
        if (this.taker.refillTarget > 0) low.push({ allotment, target: this.taker.refillTarget });
      }
      if (verdict !== Verdict.allowed)
        for (const index of taken) this.taker.giveBack(allotments[index], parts[index].item.cost);
      return { verdict, missing, allotments, standings: [...standings.values()] };
    } finally {
      if (isLocked) engine.unlock();
      for (const { allotment, target } of low) broker.requestRefill(allotment, target);
    }
  }

  private partsOf(item: ResolvedItem): Part[] {
    const { policy, subject, hold } = item;
    const { nowMs } = this.options.engine;
    const current = windowAt(policy, nowMs);
    const first = hold === undefined ? current : Math.max(current, hold.after + 1);
    const last = hold === undefined ? current : windowAt(policy, nowMs + hold.ms + this.options.broker.skewBoundMs);
    const parts: Part[] = [];
    for (let window = first; window <= last; window++)
      parts.push({ item, allotment: { policy: policy.number, window, subject } });
    return parts;
  }

  private lock(allotments: readonly Allotment[]): void {
    const parts = allotments.map((allotment, index) => this.keys[index].marksOf(allotment));
    const bytes = Buffer.concat(parts.map(({ input, length }) => input.bytes.subarray(0, length)));
    const lengths = Int32Array.from(parts, ({ length }) => length);
    const starts = new Int32Array(lengths.length);
    for (let index = 1; index < starts.length; index++) starts[index] = starts[index - 1] + lengths[index - 1];
    this.options.engine.lockKeys(ByteInput.copyOf(bytes), starts, lengths, 0, lengths.length, 1);
  }

  private standing(): Standing {
    const { limit, remainingHere, remainingEverywhere, resetMs, retryAfterMs } = this.taker;
    return { limit, remainingHere, remainingEverywhere, resetMs, retryAfterMs };
  }

  /** The policies of the items, or the error of the first item that cannot be taken. */
  private resolve(items: readonly TakeItem[], leastCost = 1): readonly ResolvedItem[] | string {
    if (items.length === 0 || items.length > MAXIMUM_ITEMS)
      return `1 to ${MAXIMUM_ITEMS} limits can be taken from at once`;
    const resolved: ResolvedItem[] = [];
    for (const { name, subject, cost } of items) {
      const policy = this.options.book.named(name);
      if (policy === undefined) return noSuchPolicy(name);
      if (isLeased(policy) && leastCost > 0) return onlyLeases(policy);
      if (subject.length > MAXIMUM_SUBJECT_BYTES) return SUBJECT_TOO_LONG;
      if (!Number.isSafeInteger(cost) || cost < leastCost) return costTooSmall(cost);
      resolved.push({ policy, subject, cost });
    }
    if (items.length === 1) return resolved;
    const allotments = new Set(items.map(({ name, subject }) => `${name}\0${Buffer.from(subject).toString('latin1')}`));
    if (allotments.size !== items.length) return 'the same subject of the same quota is there twice: add the costs up';
    return resolved;
  }

  private findMistake(
    policy: Policy | undefined,
    name: string,
    subject: Uint8Array,
    holdMs: number,
  ): string | undefined {
    if (policy === undefined) return noSuchPolicy(name);
    const { leaseMs = 0, windowMs } = policy;
    if (leaseMs === 0) return noLeases(policy);
    if (subject.length > MAXIMUM_SUBJECT_BYTES) return SUBJECT_TOO_LONG;
    if (!Number.isSafeInteger(holdMs) || holdMs < 1 || holdMs > leaseMs)
      return `a lease of '${name}' holds for 1 to ${leaseMs} milliseconds`;
    // The bound on clocks here is far above the home's.
    if ((holdMs + this.options.broker.skewBoundMs) / windowMs + 2 > MAXIMUM_ITEMS)
      return `the clock skew bound of this region is too large for leases of '${name}'`;
    return undefined;
  }
}

/** Of a lease in several windows the one with the least left counts. */
function scarcer(one: Standing | undefined, other: Standing): Standing {
  if (one === undefined) return other;
  return {
    limit: other.limit,
    remainingHere: Math.min(one.remainingHere, other.remainingHere),
    remainingEverywhere: Math.min(one.remainingEverywhere, other.remainingEverywhere),
    resetMs: other.resetMs,
    retryAfterMs: Math.max(one.retryAfterMs, other.retryAfterMs),
  };
}
