import { type Allotment, type ChangeMark, nameOfAllotment, type Settlement } from '@quotadb/quota';
import type { NodeProcess } from '../world/process.js';
import { quotasOf } from './quota-service.js';

/**
 * A reservation as its client sees it.
 *
 *   state       | its tokens are
 *   ------------|---------------------------------------------------------------------------------
 *   held        | in force, until it is settled or its time is over by the clock of its process
 *   committing  | in force, and more of them may be on their way
 *   settled     | in force as far as they were charged
 *   lapsed      | not in force any more: its time is over
 *   down        | in force: its process ended, and the next one of its node may take it up from the disk
 *   wasted      | in force for ever: its process ended, and no other can give them back
 */
export interface Held {
  readonly id: string;
  process: NodeProcess;
  /** The incarnation that made it. */
  readonly origin: string;
  readonly allotment: Allotment;
  readonly cost: number;
  dueMs: number;
  /** By the clock of its node. */
  readonly dueWallMs: number;
  /** Of its record; undefined where it has none. */
  readonly mark: ChangeMark | undefined;
  /** The disk held its record when its process ended. */
  isOnDisk: boolean;
  /** Its process ended before its client heard of its settlement. */
  wasCommitting: boolean;
  /** When its process ended: whether that still held it, and the tokens of its allotment that waited for the disk. */
  wasHeld: boolean;
  returning: number;
  state: 'held' | 'committing' | 'settled' | 'lapsed' | 'down' | 'wasted';
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
  private readonly names = new Map<number, string>();
  private readonly failed: (what: string) => void;

  constructor(failed: (what: string) => void) {
    this.failed = failed;
  }

  /**
   * Numbers are drawn from the clock, a second each. Where all regions lost their memory within seconds of a definition,
   * the number of one policy is given to another: it has nothing to do with the one before.
   */
  defined(policy: number, name: string, limit: number): void {
    if (this.names.get(policy) !== name) {
      this.limits.delete(policy);
      for (const [key, { allotment }] of this.allotments) if (allotment.policy === policy) this.allotments.delete(key);
    }
    this.names.set(policy, name);
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

  /** The most that commits without an answer can have taken beyond their reservations, in whichever window. */
  unansweredOf(process: NodeProcess, { policy, subject }: Allotment): number {
    let most = 0;
    for (const { process: by, state, allotment, actual, cost } of this.held.values()) {
      const isSame = allotment.policy === policy && Buffer.compare(allotment.subject, subject) === 0;
      if (by === process && state === 'committing' && isSame) most += Math.max(0, actual - cost);
    }
    return most;
  }

  taken(process: NodeProcess, allotment: Allotment, amount: number): void {
    const { settled } = this.bookOf(allotment);
    settled.set(process.origin, (settled.get(process.origin) ?? 0) + amount);
    this.change(allotment, amount);
  }

  reserved(process: NodeProcess, reserved: Pick<Held, 'id' | 'allotment' | 'cost' | 'mark'>, ttlMs: number): void {
    const { id, allotment, cost } = reserved;
    const times = { dueMs: process.monotonicMs() + ttlMs, dueWallMs: process.engine.nowMs + ttlMs };
    const state = {
      isOnDisk: false,
      wasCommitting: false,
      wasHeld: true,
      returning: 0,
      state: 'held',
      actual: 0,
      settlement: undefined,
    } as const;
    this.held.set(id, { ...reserved, process, origin: process.origin, ...times, ...state });
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

  /** A process is gone: its reservations are on the disk, or are never settled. */
  ended(process: NodeProcess): void {
    for (const held of this.held.values()) {
      if (held.process !== process) continue;
      held.isOnDisk = held.state === 'held' && isOnDisk(process, held.mark);
      held.wasCommitting = held.state === 'committing';
      held.wasHeld = quotasOf(process).reservations.has(held.id);
      held.returning = returningOf(process, held.allotment);
      if (held.state === 'held' || held.state === 'committing') held.state = held.mark ? 'down' : 'wasted';
    }
  }

  /** The next process of a node takes up the reservations that are on its disk. */
  restarted(process: NodeProcess): void {
    const { reservations, book } = quotasOf(process);
    const restored = new Map<string, number>();
    for (const held of this.held.values()) {
      const { process: before, id, state } = held;
      if (before.node !== process.node || held.origin !== process.origin || state === 'wasted') continue;
      held.process = process;
      held.dueMs = process.monotonicMs() + Math.max(0, held.dueWallMs - process.engine.nowMs);
      const isThere = reservations.has(id);
      if (isThere && !held.wasHeld) this.checkReturning(held, restored);
      if (!isThere && held.isOnDisk && book.isContinued && process.engine.nowMs < held.dueWallMs)
        this.failed(`${process.label}: the reservation ${id} was on disk and is gone`);
      if (!isThere && state === 'down') held.state = 'wasted';
      else if (isThere && state === 'down') this.takeUp(held);
      else if (isThere && state === 'settled') this.unsettle(held);
    }
  }

  /** The process before let go of it, and the disk did not know: then its tokens cannot have come back. */
  private checkReturning(
    { allotment, cost, actual, wasCommitting, returning, id }: Held,
    restored: Map<string, number>,
  ) {
    const name = nameOfAllotment(allotment);
    const amount = (restored.get(name) ?? 0) + (wasCommitting ? Math.max(0, cost - actual) : cost);
    restored.set(name, amount);
    if (amount > returning) this.failed(`the tokens of ${id} came back, and are reserved again after a restart`);
  }

  /** The disk has it as it was before a commit whose answer its client never got. */
  private takeUp(held: Held): void {
    const { process, allotment, cost, actual, wasCommitting } = held;
    held.state = 'held';
    if (!wasCommitting) return;
    this.taken(process, allotment, -Math.min(actual, cost));
    this.change(allotment, cost);
  }

  /** The answer to a cancel does not wait for the disk; that to a commit does, so a committed one stays settled. */
  private unsettle(held: Held): void {
    if (held.settlement !== undefined) this.failed(`${held.process.label}: ${held.id} was settled, and is held again`);
    held.state = 'lapsed';
  }

  private change(allotment: Allotment, amount: number): void {
    const book = this.bookOf(allotment);
    book.total += amount;
    const limit = this.limitOf(allotment);
    if (amount > 0 && book.total > limit)
      this.failed(`allotment ${nameOfAllotment(allotment)}: ${book.total} allowed of ${limit}`);
  }
}

/** Tokens of an allotment that come back when the disk holds the end of their reservations. */
export function returningOf(process: NodeProcess, allotment: Allotment): number {
  // Private to the broker: only checks need it.
  const states = Reflect.get(quotasOf(process).broker, 'allotments') as ReadonlyMap<string, { returning: number }>;
  return states.get(nameOfAllotment(allotment))?.returning ?? 0;
}

/** Whether a change was on disk when its process ended; a crash may leave more there. */
export function isOnDisk({ disk }: NodeProcess, mark: ChangeMark | undefined): boolean {
  return mark !== undefined && disk !== undefined && disk.durable(mark.shard) >= mark.version;
}
