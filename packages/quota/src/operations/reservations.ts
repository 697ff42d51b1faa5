import { type Allotment, nameOfAllotment } from '../allotments/allotment.js';
import { KeptKind, type KeptRecord, type KeptRecords } from '../ledger/kept-records.js';
import type { ChangeMark } from '../ledger/ledger.js';
import { Deadlines } from './deadlines.js';
import type { Operations } from './operations.js';
import type { Standing, TakeItem } from './take-request.js';

export const MAXIMUM_RESERVATION_MS = 3_600_000;
/** Reservations held at once. */
export const MAXIMUM_RESERVATIONS = 100_000;
/** How long settlements are kept, and how many, for callers that ask again. The oldest are dropped first. */
const SETTLED_MS = 600_000;
export const MAXIMUM_SETTLED = 100_000;

export type Settlement =
  | { readonly error: string }
  /** The cost that was charged, and the cost beyond it that the limit had no tokens for. */
  | { readonly charged: number; readonly uncharged: number };

export type Reserved =
  | { readonly error: string }
  | { readonly isAllowed: boolean; readonly id: string; readonly standing: Standing };

/**
 * What becomes of a reservation that is not settled in time. `refund` is for work that has not happened unless it is
 * settled; `charge` for callers that spend first and may die before they can report the cost, which must not come back.
 */
export type Lapse = 'refund' | 'charge';

export interface ReserveRequest {
  readonly item: TakeItem;
  readonly ttlMs: number;
  readonly waitMs?: number | undefined;
  readonly lapse?: Lapse | undefined;
  /** Where it has an id that its caller chose: the name of that. */
  readonly operation?: string | undefined;
}

interface Reservation {
  readonly item: TakeItem;
  readonly allotment: Allotment;
  readonly lapse: Lapse;
  readonly operation: string | undefined;
  /** The name of its record on disk; undefined where there is none. */
  readonly record: Uint8Array | undefined;
}

interface Settled {
  readonly actual: number;
  readonly untilMs: number;
  settlement: Settlement;
  /** Of its change on disk; undefined where it was never there. */
  mark: ChangeMark | undefined;
}

export interface ReservationsOptions {
  readonly operations: Operations;
  readonly monotonicMs: () => number;
  /** A name that cannot be guessed. */
  readonly newId: () => string;
  /** Undefined where there is no disk. */
  readonly records?: KeptRecords | undefined;
}

/**
 * Costs that are known only afterwards: an estimate is taken at once; the excess comes back when the true cost is
 * known, and all of it when the reservation is not settled in time, unless it lapses as charged. A reservation is a
 * take like any other, kept by the node that made it, and on its disk where there is one: then it outlives the process.
 * Its tokens come back only when the disk holds its end, so a crash restores it or has it settled, and no token is ever
 * spent twice.
 */
export class Reservations {
  private readonly options: ReservationsOptions;
  private readonly held = new Map<string, Reservation>();
  /** In the order in which they were settled. */
  private readonly settled = new Map<string, Settled>();
  /** By the name of the id that the caller chose; of those on disk. */
  private readonly byOperation = new Map<string, string>();
  private readonly deadlines: Deadlines;

  constructor(options: ReservationsOptions) {
    this.options = options;
    this.deadlines = new Deadlines(options.monotonicMs());
  }

  /** Takes up the reservations of the process before this one. */
  restore(): void {
    for (const record of this.options.records?.own(KeptKind.reservation) ?? []) this.restoreOne(record);
  }

  /** The reservation that was made under an id that the caller chose. */
  ofOperation(operation: string): string | undefined {
    return this.byOperation.get(operation);
  }

  reserve(
    { item, ttlMs, waitMs, lapse = 'refund', operation }: ReserveRequest,
    done: (reserved: Reserved) => void,
  ): void {
    if (!Number.isSafeInteger(ttlMs) || ttlMs < 1 || ttlMs > MAXIMUM_RESERVATION_MS) {
      done({ error: `a reservation holds for 1 to ${MAXIMUM_RESERVATION_MS} milliseconds` });
      return;
    }
    if (this.held.size >= MAXIMUM_RESERVATIONS) {
      done({ error: `there are ${MAXIMUM_RESERVATIONS} reservations already` });
      return;
    }
    this.options.operations.take({ items: [item], waitMs, isRecorded: true }, (answer) => {
      if ('error' in answer) {
        done(answer);
        return;
      }
      const { isAllowed, standings, allotments } = answer;
      const id = isAllowed ? this.hold(item, allotments[0], ttlMs, lapse, operation) : '';
      done({ isAllowed, id, standing: standings[0] });
    });
  }

  /**
   * Settles with the true cost: the excess goes back, or the missing tokens are taken as far as the limit has them; the
   * allotment of those is the second argument. It is answered when the disk holds it: the tokens of a commit that a
   * crash forgot would come back when the reservation lapses, though they were used.
   */
  commit(id: string, actual: number, done: (settlement: Settlement, moreFrom?: Allotment) => void): void {
    if (!Number.isSafeInteger(actual) || actual < 0) {
      done({ error: 'the actual cost is a whole number of at least 0' });
      return;
    }
    const before = this.settled.get(id);
    if (before !== undefined) {
      const isSame = before.actual === actual;
      if (isSame) this.options.operations.whenDurable(before.mark, () => done(before.settlement));
      else done({ error: 'the reservation is settled already' });
      return;
    }
    const reservation = this.held.get(id);
    if (reservation === undefined) {
      done({ error: 'there is no such reservation: it has lapsed, or was made in another region or before a restart' });
      return;
    }
    const { item, allotment } = reservation;
    const { operations } = this.options;
    const missing = actual - item.cost;
    if (missing <= 0) {
      const settlement = { charged: actual, uncharged: 0 };
      const mark = operations.endHold(allotment, -missing, () => this.settle(id, actual, settlement).mark);
      operations.whenDurable(mark, () => done({ charged: actual, uncharged: 0 }));
      return;
    }
    // Settled before it can lapse; how many more tokens can be had is known when the take is answered. Both are billed
    // as the settlement on disk says, whichever of them it is.
    const settled = this.settle(id, actual, { charged: item.cost, uncharged: missing });
    operations.take({ items: [{ ...item, cost: missing }], waitMs: 0, isRecorded: true }, (answer) => {
      const isAllowed = !('error' in answer) && answer.isAllowed;
      const more = isAllowed ? missing : operations.takeSome(allotment, missing);
      settled.settlement = { charged: item.cost + more, uncharged: missing - more };
      settled.mark = this.keepSettlement(reservation, actual, item.cost + more);
      const moreFrom = isAllowed ? answer.allotments[0] : allotment;
      operations.whenDurable(settled.mark, () => done(settled.settlement, moreFrom));
    });
  }

  /** Gives all of it back; false where there is no such reservation, or it is settled. */
  cancel(id: string): boolean {
    const reservation = this.held.get(id);
    if (reservation === undefined) return false;
    const { allotment, item } = reservation;
    this.options.operations.endHold(allotment, item.cost, () => this.settle(id, 0, { charged: 0, uncharged: 0 }).mark);
    return true;
  }

  /** Ends reservations that were not settled in time. */
  tick(): void {
    this.deadlines.pass(this.options.monotonicMs(), (id) => this.lapse(id));
    this.dropSettled();
  }

  has(id: string): boolean {
    return this.held.has(id);
  }

  /** Tokens in reservations that are not settled, by allotment. */
  outstanding(): Map<string, number> {
    const amounts = new Map<string, number>();
    for (const { allotment, item } of this.held.values()) {
      const name = nameOfAllotment(allotment);
      amounts.set(name, (amounts.get(name) ?? 0) + item.cost);
    }
    return amounts;
  }

  private hold(
    item: TakeItem,
    allotment: Allotment,
    ttlMs: number,
    lapse: Lapse,
    operation: string | undefined,
  ): string {
    const { newId, monotonicMs, operations } = this.options;
    const id = newId();
    const dueMs = operations.nowMs + ttlMs;
    const body = writeBody({ id, item, allotment, lapse, operation, dueMs });
    const overMs = operations.overMs(allotment);
    const mark = this.options.records?.set(
      KeptKind.reservation,
      body,
      { added: 1, taken: 0 },
      overMs === 0 ? 0 : Math.max(overMs, dueMs),
    );
    const record = mark === undefined ? undefined : body;
    this.put(id, { item, allotment, lapse, operation, record }, monotonicMs() + ttlMs);
    return id;
  }

  private put(id: string, reservation: Reservation, dueMs: number): void {
    this.held.set(id, reservation);
    if (reservation.operation !== undefined) this.byOperation.set(reservation.operation, id);
    this.deadlines.set(id, dueMs);
  }

  private restoreOne({ body, added, taken }: KeptRecord): void {
    const { monotonicMs, operations } = this.options;
    const { id, dueMs, ...reservation } = readBody(body);
    if (taken === 0) {
      const leftMs = Math.min(MAXIMUM_RESERVATION_MS, Math.max(0, dueMs - operations.nowMs));
      this.put(id, { ...reservation, record: body }, monotonicMs() + leftMs);
      return;
    }
    const actual = taken - 1;
    const charged = added - 1;
    const untilMs = monotonicMs() + SETTLED_MS;
    this.settled.set(id, { actual, settlement: { charged, uncharged: actual - charged }, untilMs, mark: undefined });
  }

  private settle(
    id: string,
    actual: number,
    settlement: { readonly charged: number; readonly uncharged: number },
  ): Settled {
    const mark = this.keepSettlement(this.forget(id), actual, settlement.charged);
    const settled: Settled = { actual, settlement, untilMs: this.options.monotonicMs() + SETTLED_MS, mark };
    this.settled.set(id, settled);
    this.dropSettled();
    return settled;
  }

  private keepSettlement({ record }: Reservation, actual: number, charged: number): ChangeMark | undefined {
    const { records, operations } = this.options;
    if (record === undefined || records === undefined) return undefined;
    const progress = { added: 1 + charged, taken: 1 + actual };
    // Without memory for it the record is gone, which ends the reservation just as well.
    return (
      records.set(KeptKind.reservation, record, progress, operations.nowMs + SETTLED_MS) ??
      records.remove(KeptKind.reservation, record)
    );
  }

  private forget(id: string): Reservation {
    const reservation = this.held.get(id) as Reservation;
    this.held.delete(id);
    this.deadlines.delete(id);
    if (reservation.operation !== undefined) this.byOperation.delete(reservation.operation);
    return reservation;
  }

  private dropSettled(): void {
    const nowMs = this.options.monotonicMs();
    for (const [id, { untilMs }] of this.settled) {
      if (untilMs > nowMs && this.settled.size <= MAXIMUM_SETTLED) return;
      this.settled.delete(id);
    }
  }

  private lapse(id: string): void {
    const reservation = this.forget(id);
    const { allotment, item, lapse, record } = reservation;
    const { operations, records } = this.options;
    const end = () => (record === undefined ? undefined : records?.remove(KeptKind.reservation, record));
    if (lapse === 'refund') operations.endHold(allotment, item.cost, end);
    else end();
  }
}

interface ReservationBody extends Omit<Reservation, 'record'> {
  readonly id: string;
  /** By the clock of the node. */
  readonly dueMs: number;
}

function writeBody({ id, item, allotment, lapse, operation, dueMs }: ReservationBody): Uint8Array {
  const { name, subject, cost } = item;
  const { policy, window } = allotment;
  const fields = [id, name, Buffer.from(subject).toString('base64'), cost, policy, window, lapse, dueMs, operation];
  return Buffer.from(JSON.stringify(fields));
}

function readBody(body: Uint8Array): ReservationBody {
  const [id, name, text, cost, policy, window, lapse, dueMs, operation] = JSON.parse(Buffer.from(body).toString());
  const subject = Uint8Array.from(Buffer.from(text, 'base64'));
  const item = { name, subject, cost };
  return { id, item, allotment: { policy, window, subject }, lapse, dueMs, operation: operation ?? undefined };
}
