import { type Allotment, nameOfAllotment, type Settlement } from '@quotadb/quota';
import type { NodeProcess } from '../simulated-node.js';

/**
 * A reservation as its client sees it.
 *
 *   state       | what it was given is
 *   ------------|---------------------------------------------------------------------------------
 *   held        | in force, until it is settled or its time is over by the clock of its process
 *   committing  | in force, and more of it may be on its way
 *   settled     | in force as far as it was charged
 *   lapsed      | not in force any more: its time is over
 *   wasted      | in force for ever: its process ended, and nobody can give it back
 */
export interface Held {
  readonly id: string;
  readonly process: NodeProcess;
  readonly allotment: Allotment;
  readonly cost: number;
  readonly dueMs: number;
  state: 'held' | 'committing' | 'settled' | 'lapsed' | 'wasted';
  /** What it was settled for, and how that went, to be heard again. */
  actual: number;
  settlement: Settlement | undefined;
}

interface AllotmentBook {
  readonly allotment: Allotment;
  /** What every origin's clients were allowed and have for good, reservations that are not settled aside. */
  readonly settled: Map<string, number>;
  total: number;
}

/** Who knows everything that clients were told: what is in force of every allotment, and that it is never too much. */
export class QuotaOracle {
  readonly allotments = new Map<string, AllotmentBook>();
  readonly held = new Map<string, Held>();
  /** By number of the policy: the highest limit it ever had. */
  private readonly limits = new Map<number, number>();
  private readonly failed: (what: string) => void;
  allowedTotal = 0;

  constructor(failed: (what: string) => void) {
    this.failed = failed;
  }

  defined(policy: number, limit: number): void {
    this.limits.set(policy, Math.max(limit, this.limits.get(policy) ?? 0));
  }

  limitOf(allotment: Allotment): number {
    return this.limits.get(allotment.policy) ?? 0;
  }

  bookOf(allotment: Allotment): AllotmentBook {
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

  /** What an origin's clients have for good. */
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

  /** From here on it cannot lapse; what it was given is charged at least as far as it was used. */
  committing(held: Held, actual: number): void {
    if (held.state === 'lapsed') this.change(held.allotment, held.cost);
    held.state = 'committing';
    held.actual = actual;
    this.change(held.allotment, -held.cost);
    this.taken(held.process, held.allotment, Math.min(actual, held.cost));
  }

  /** More was charged than had been reserved, from this allotment. */
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

  /** What is due by the clock of its process may come back from now on. */
  pass(): void {
    for (const held of this.held.values()) {
      if (held.state !== 'held' || held.process.isOver || held.process.monotonicMs() < held.dueMs) continue;
      held.state = 'lapsed';
      this.change(held.allotment, -held.cost);
    }
  }

  /** Its process is gone: nobody will ever settle what it held. */
  ended(process: NodeProcess): void {
    for (const held of this.held.values())
      if (held.process === process && (held.state === 'held' || held.state === 'committing')) held.state = 'wasted';
  }

  private change(allotment: Allotment, amount: number): void {
    const book = this.bookOf(allotment);
    book.total += amount;
    if (amount > 0) this.allowedTotal += amount;
    const limit = this.limitOf(allotment);
    if (amount > 0 && book.total > limit)
      this.failed(`allotment ${nameOfAllotment(allotment)}: ${book.total} allowed of ${limit}`);
  }
}
