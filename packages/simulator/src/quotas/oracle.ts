import { type Allotment, nameOfAllotment, type Settlement } from '@quotadb/quota';
import type { NodeProcess } from '../world/process.js';

/**
 * A reservation as its client sees it.
 *
 *   state       | its tokens are
 *   ------------|---------------------------------------------------------------------------------
 *   held        | in force, until it is settled or its time is over by the clock of its process
 *   committing  | in force, and more of them may be on their way
 *   settled     | in force as far as they were charged
 *   lapsed      | not in force any more: its time is over
 *   wasted      | in force for ever: its process ended, and no other can give them back
 */
export interface Held {
  readonly id: string;
  readonly process: NodeProcess;
  readonly allotment: Allotment;
  readonly cost: number;
  readonly dueMs: number;
  state: 'held' | 'committing' | 'settled' | 'lapsed' | 'wasted';
  /** The cost that it was settled with, and the answer, for when it is settled again. */
  actual: number;
  settlement: Settlement | undefined;
}

interface AllotmentBook {
  readonly allotment: Allotment;
  /** By origin: the tokens that its clients spent, without reservations that are not settled. */
  readonly settled: Map<string, number>;
  total: number;
}

/**
 * Knows every answer that clients got: how many tokens of each allotment are in force, and that it is never too many.
 */
export class QuotaOracle {
  readonly allotments = new Map<string, AllotmentBook>();
  readonly held = new Map<string, Held>();
  /** By number of the policy: the highest limit it ever had. */
  private readonly limits = new Map<number, number>();
  private readonly failed: (what: string) => void;

  constructor(failed: (what: string) => void) {
    this.failed = failed;
  }

  defined(policy: number, limit: number): void {
    this.limits.set(policy, Math.max(limit, this.limits.get(policy) ?? 0));
  }

  limitOf(allotment: Pick<Allotment, 'policy'>): number {
    return this.limits.get(allotment.policy) ?? 0;
  }

  private bookOf(allotment: Allotment): AllotmentBook {
    const name = nameOfAllotment(allotment);
    let book = this.allotments.get(name);
    if (book === undefined) {
      book = { allotment: { ...allotment, subject: Uint8Array.from(allotment.subject) }, settled: new Map(), total: 0 };
      this.allotments.set(name, book);
    }
    return book;
  }

  inForce(allotment: Allotment): number {
    return this.bookOf(allotment).total;
  }

  /** The tokens that an origin's clients spent. */
  settledOf(allotment: Allotment, origin: string): number {
    return this.bookOf(allotment).settled.get(origin) ?? 0;
  }

  taken(process: NodeProcess, allotment: Allotment, amount: number): void {
    const { settled } = this.bookOf(allotment);
    settled.set(process.origin, (settled.get(process.origin) ?? 0) + amount);
    this.change(allotment, amount);
  }

  reserved(process: NodeProcess, id: string, allotment: Allotment, cost: number, ttlMs: number): void {
    const dueMs = process.monotonicMs() + ttlMs;
    this.held.set(id, { id, process, allotment, cost, dueMs, state: 'held', actual: 0, settlement: undefined });
    this.change(allotment, cost);
  }

  /** From here on it cannot lapse, and its tokens are charged at least as far as they were used. */
  committing(held: Held, actual: number): void {
    if (held.state === 'lapsed') this.change(held.allotment, held.cost);
    held.state = 'committing';
    held.actual = actual;
    this.change(held.allotment, -held.cost);
    this.taken(held.process, held.allotment, Math.min(actual, held.cost));
  }

  /** `moreFrom`: the allotment of the tokens that were charged beyond the reservation. */
  committed(held: Held, settlement: Settlement, moreFrom: Allotment): void {
    held.state = 'settled';
    held.settlement = settlement;
    if ('charged' in settlement && settlement.charged > held.cost)
      this.taken(held.process, moreFrom, settlement.charged - held.cost);
  }

  cancelled(held: Held): void {
    if (held.state === 'held') this.change(held.allotment, -held.cost);
    held.state = 'settled';
    held.actual = 0;
  }

  /** Reservations that are due by the clock of their process may come back from now on. */
  pass(): void {
    for (const held of this.held.values()) {
      if (held.state !== 'held' || held.process.isOver || held.process.monotonicMs() < held.dueMs) continue;
      held.state = 'lapsed';
      this.change(held.allotment, -held.cost);
    }
  }

  /** A process is gone: its reservations are never settled. */
  ended(process: NodeProcess): void {
    for (const held of this.held.values())
      if (held.process === process && (held.state === 'held' || held.state === 'committing')) held.state = 'wasted';
  }

  private change(allotment: Allotment, amount: number): void {
    const book = this.bookOf(allotment);
    book.total += amount;
    const limit = this.limitOf(allotment);
    if (amount > 0 && book.total > limit)
      this.failed(`allotment ${nameOfAllotment(allotment)}: ${book.total} allowed of ${limit}`);
  }
}
