import { ByteInput, countedGenerations } from '@quotadb/engine';
import {
  type Allotment,
  AllotmentKey,
  type ChangeMark,
  limitOf,
  nameOfAllotment,
  type Policy,
  type Settlement,
} from '@quotadb/quota';
import { nameOfOrigin } from '@quotadb/replication';
import type { SimulatedNode } from '../world/node.js';
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
  /** The lost origins whose tokens were re-minted, with their marks, and what they had spent without being heard. */
  readonly inherited: Map<string, number>;
  unheard: number;
}

/**
 * Knows every answer that clients got: how many tokens of each allotment are in force, and that it is never too many.
 */
export class QuotaOracle {
  readonly allotments = new Map<string, AllotmentBook>();
  readonly held = new Map<string, Held>();
  /** By number of the policy: all versions that the home ever defined, without extra tokens. */
  private readonly versions = new Map<number, Policy[]>();
  /** By allotment and then by operation: extra tokens. */
  private readonly extras = new Map<string, Map<string, number>>();
  private readonly names = new Map<number, string>();
  private readonly admittedBy = new Map<SimulatedNode, Map<string, number>>();
  private readonly failed: (what: string) => void;
  /** The regions that ever were, those that run under the name of another one too. */
  private readonly regionsTotal: () => number;

  constructor(failed: (what: string) => void, regionsTotal: () => number) {
    this.failed = failed;
    this.regionsTotal = regionsTotal;
  }

  /**
   * Numbers are drawn from the clock, a second each. Where all regions lost their memory within seconds of a
   * definition, the number of one policy is given to another, or to the same one anew: it has nothing to do with the
   * one before.
   */
  defined({ extras: _, ...policy }: Policy, isForgotten = false): void {
    const { number, name } = policy;
    if (this.names.get(number) !== name || isForgotten) {
      this.versions.delete(number);
      for (const [key, { allotment }] of this.allotments)
        if (allotment.policy === number) {
          this.allotments.delete(key);
          this.extras.delete(key);
        }
    }
    this.names.set(number, name);
    this.versions.set(number, [...(this.versions.get(number) ?? []), policy]);
  }

  /** The highest limit that a policy ever had for subjects without one of their own. */
  highestOf(policy: number): number {
    return Math.max(0, ...(this.versions.get(policy) ?? []).map(({ limit }) => limit));
  }

  /** An operation gave a subject extra tokens, or did before: once in every window. */
  gaveExtra(allotment: Allotment, operation: string, amount: number): void {
    const name = nameOfAllotment(allotment);
    const given = this.extras.get(name) ?? new Map<string, number>();
    this.extras.set(name, given.set(operation, amount));
  }

  /**
   * The highest limit in force that an allotment ever had: while some regions know another version of the policy, they
   * give out no more than the higher limit of the two.
   */
  limitOf({ policy, subject, window }: Allotment): number {
    const limits = (this.versions.get(policy) ?? []).map((version) => limitOf(version, subject, window));
    const extras = [...(this.extras.get(nameOfAllotment({ policy, subject, window }))?.values() ?? [])];
    return extras.reduce((sum, amount) => sum + amount, Math.max(0, ...limits));
  }

  /** What regions that are cut off may admit beyond it, all together. */
  admissibleOf(allotment: Allotment): number {
    return this.regionsTotal() * this.admissibleByOne(allotment);
  }

  private admissibleByOne(allotment: Allotment): number {
    const fractions = (this.versions.get(allotment.policy) ?? []).map(({ admitFraction = 0 }) => admitFraction);
    return Math.floor(this.limitOf(allotment) * Math.max(0, ...fractions));
  }

  /** All incarnations of a region together admit its part once. */
  admitted(node: SimulatedNode, allotment: Allotment, amount: number): void {
    const name = nameOfAllotment(allotment);
    const byAllotment = this.admittedBy.get(node) ?? new Map<string, number>();
    const total = (byAllotment.get(name) ?? 0) + amount;
    this.admittedBy.set(node, byAllotment.set(name, total));
    const most = this.admissibleByOne(allotment);
    if (total > most) this.failed(`allotment ${name}: ${node.region} alone has admitted ${total} of ${most}`);
  }

  /**
   * A lost origin's tokens are the home's now. The limit may be exceeded by the tokens that it had spent without any
   * region hearing of it.
   */
  inherited(home: NodeProcess, policy: number, origin: string): void {
    for (const book of this.allotments.values()) {
      if (book.allotment.policy !== policy || book.inherited.has(origin)) continue;
      let spent = book.settled.get(origin) ?? 0;
      for (const { allotment, origin: by, state, cost } of this.held.values())
        if (by === origin && nameOfAllotment(allotment) === nameOfAllotment(book.allotment))
          if (state !== 'settled' && state !== 'lapsed') spent += cost;
      const known = markedBy(home, book.allotment, origin);
      book.inherited.set(origin, known);
      book.unheard += Math.max(0, spent - known);
    }
  }

  /** The most tokens that may be in force. */
  mostOf(allotment: Allotment): number {
    return this.limitOf(allotment) + this.admissibleOf(allotment) + this.bookOf(allotment).unheard;
  }

  /**
   * The most that may be in force from now on, where all regions know this version: the tokens in force, or its limit.
   */
  mostInForce(policy: Policy, allotment: Allotment): number {
    const { unheard, total } = this.bookOf(allotment);
    const limit = limitOf(policy, allotment.subject, allotment.window);
    return Math.max(total, limit + this.admissibleOf(allotment) + unheard);
  }

  private bookOf(allotment: Allotment): AllotmentBook {
    const name = nameOfAllotment(allotment);
    let book = this.allotments.get(name);
    if (book === undefined) {
      book = {
        allotment: { ...allotment, subject: Uint8Array.from(allotment.subject) },
        settled: new Map(),
        total: 0,
        inherited: new Map(),
        unheard: 0,
      };
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

  /** Tokens that were spent count as unspent from now on; what an earlier process wasted can be among them. */
  refunded(process: NodeProcess, allotment: Allotment, amount: number): void {
    this.taken(process, allotment, -amount);
    const settled = this.settledOf(allotment, process.origin) + this.unansweredOf(process, allotment);
    const hasWasted = process.node.processesTotal > 1 || process.wasFull;
    if (amount > 0 && settled < 0 && !hasWasted)
      this.failed(
        `${process.label}: ${amount} of ${nameOfAllotment(allotment)} are refunded, ${-settled} were not spent`,
      );
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
      const isThere = reservations.has(id);
      // One that has lapsed is over, also where the clock was set back to before its time since (seed 61000290).
      const isOver = state === 'lapsed' && !isThere;
      held.dueMs = process.monotonicMs() + (isOver ? 0 : Math.max(0, held.dueWallMs - process.engine.nowMs));
      if (isThere && !held.wasHeld) this.checkReturning(held, restored);
      if (!isThere && held.isOnDisk && book.tenure.isContinued && process.engine.nowMs < held.dueWallMs)
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
    const limit = this.mostOf(allotment);
    if (amount > 0 && book.total > limit)
      this.failed(`allotment ${nameOfAllotment(allotment)}: ${book.total} allowed of ${limit}`);
  }
}

/** The marks of an origin that a process knows. */
function markedBy({ engine }: NodeProcess, allotment: Allotment, origin: string): number {
  const { input, length } = new AllotmentKey().marksOf(allotment);
  const key = ByteInput.copyOf(input.bytes.subarray(0, length));
  const marks = countedGenerations(engine, key, 0, length, new Map());
  const own = marks.find(({ originIndex }) => nameOfOrigin(engine.origins.idOf(originIndex)) === origin);
  return own === undefined ? 0 : Number(own.positive - own.negative);
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
