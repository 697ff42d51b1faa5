import { type Allotment, nameOfAllotment } from '../allotments/allotment.js';
import type { ChangeMark } from './ledger.js';

/** The most allotments with a state; beyond that, the ones longest out of use lose theirs, which costs no tokens. */
const MAXIMUM_ALLOTMENTS = 65_536;
/** Dropped together: a Map keeps the places of deleted entries, and finding the first entry passes over all of them. */
const DROPPED_TOGETHER = 8192;
/** How long a caller is denied without another request to other regions: at first. */
export const FIRST_DENIAL_MS = 20;

/** What became of a demand: the caller may try again, or there is nothing to be had. */
export type DemandOutcome = 'ready' | 'none';

export interface Waiter {
  readonly need: number;
  /** Until then it waits for tokens of other regions; for tokens that this node holds it waits in any case. */
  readonly untilMs: number;
  readonly done: (outcome: DemandOutcome) => void;
}

/** The token broker's memory of one allotment. All of it can be lost without harm to the limit. */
export interface AllotmentState {
  readonly allotment: Allotment;
  waiters: Waiter[];
  /** The local balance that a refill request asked for, beside the needs of waiters. */
  target: number;
  /** Tokens that were marked and wait for the disk. */
  marked: (ChangeMark & { readonly amount: number }) | undefined;
  /** Tokens that come back to the local balance when the disk knows that they are not reserved any more. */
  returning: number;
  /** Requests without an answer, by region. Made with the first: most allotments never need another region. */
  asked: Map<string, { readonly request: number; readonly atMs: number }> | undefined;
  /** Regions that had nothing, and until when they are not asked again. */
  empty: Map<string, number> | undefined;
  /** The allocator had a route and did not answer the last request. */
  isAllocatorSilent: boolean;
  /** Until then a grant that was announced may arrive with the other changes of its region. */
  expectedUntilMs: number;
  denialMs: number;
  /** Of a quota without a window: the size of the last portion that was set aside, and when that was. */
  portion: number;
  markedAtMs: number;
  /** At the last scan for idle tokens. */
  balance: number;
  usedAtMs: number;
}

/** States by the name of their allotment, the one longest out of use first. */
export class AllotmentStates {
  private readonly states = new Map<string, AllotmentState>();
  /** Where the scan goes on. */
  private scanning = this.states.entries();
  /** Those with work in progress. */
  readonly active = new Set<AllotmentState>();

  get size(): number {
    return this.states.size;
  }

  get(name: string): AllotmentState | undefined {
    return this.states.get(name);
  }

  values(): Iterable<AllotmentState> {
    return this.states.values();
  }

  /** The state of an allotment that is used now. */
  use(allotment: Allotment, nowMs: number): AllotmentState {
    const name = nameOfAllotment(allotment);
    const state = this.states.get(name) ?? newState(allotment);
    state.usedAtMs = nowMs;
    this.states.delete(name);
    this.states.set(name, state);
    if (this.states.size > MAXIMUM_ALLOTMENTS) this.dropOldest();
    return state;
  }

  /**
   * Looks at the next `count` states and drops those that need not be kept. The others stay in their places: a Map in
   * which entries move is made anew again and again, which takes tens of milliseconds for one of this size.
   */
  scan(count: number, isKept: (state: AllotmentState) => boolean): void {
    for (let left = Math.min(count, this.states.size); left > 0; left--) {
      let next = this.scanning.next();
      if (next.done) {
        this.scanning = this.states.entries();
        next = this.scanning.next();
      }
      if (next.done) return;
      const [name, state] = next.value;
      if (!this.active.has(state) && !isKept(state)) this.states.delete(name);
    }
  }

  private dropOldest(): void {
    let left = DROPPED_TOGETHER;
    for (const [name, state] of this.states) {
      if (left-- <= 0) return;
      if (!this.active.has(state)) this.states.delete(name);
    }
  }
}

function newState(allotment: Allotment): AllotmentState {
  return {
    allotment: { ...allotment, subject: Uint8Array.from(allotment.subject) },
    waiters: [],
    target: 0,
    marked: undefined,
    returning: 0,
    asked: undefined,
    empty: undefined,
    isAllocatorSilent: false,
    expectedUntilMs: 0,
    denialMs: FIRST_DENIAL_MS,
    portion: 0,
    markedAtMs: Number.NEGATIVE_INFINITY,
    balance: -1,
    usedAtMs: 0,
  };
}
