import { type Allotment, nameOfAllotment } from './allotment.js';
import { Deadlines } from './deadlines.js';
import type { Operations, Standing, TakeItem } from './operations.js';

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
}

interface Reservation {
  readonly item: TakeItem;
  readonly allotment: Allotment;
  readonly lapse: Lapse;
}

interface Settled {
  readonly actual: number;
  readonly untilMs: number;
  settlement: Settlement;
}

export interface ReservationsOptions {
  readonly operations: Operations;
  readonly monotonicMs: () => number;
  /** A name that cannot be guessed. */
  readonly newId: () => string;
}

/**
 * Costs that are known only afterwards: an estimate is taken at once; the excess comes back when the true cost is
 * known, and all of it when the reservation is not settled in time, unless it lapses as charged. A reservation is a
 * take like any other, kept by the node that made it, in memory only: a crash wastes it for the window, and no token is
 * ever spent twice.
 */
export class Reservations {
  private readonly options: ReservationsOptions;
  private readonly held = new Map<string, Reservation>();
  /** In the order in which they were settled. */
  private readonly settled = new Map<string, Settled>();
  private readonly deadlines: Deadlines;

  constructor(options: ReservationsOptions) {
    this.options = options;
    this.deadlines = new Deadlines(options.monotonicMs());
  }

  reserve({ item, ttlMs, waitMs, lapse = 'refund' }: ReserveRequest, done: (reserved: Reserved) => void): void {
    if (!Number.isSafeInteger(ttlMs) || ttlMs < 1 || ttlMs > MAXIMUM_RESERVATION_MS) {
      done({ error: `a reservation holds for 1 to ${MAXIMUM_RESERVATION_MS} milliseconds` });
      return;
    }
    if (this.held.size >= MAXIMUM_RESERVATIONS) {
      done({ error: `there are ${MAXIMUM_RESERVATIONS} reservations already` });
      return;
    }
    this.options.operations.take({ items: [item], waitMs }, (answer) => {
      if ('error' in answer) {
        done(answer);
        return;
      }
      const { isAllowed, standings, allotments } = answer;
      const id = isAllowed ? this.hold(item, allotments[0], ttlMs, lapse) : '';
      done({ isAllowed, id, standing: standings[0] });
    });
  }

  /** Settles with the true cost: the excess goes back, or the missing tokens are taken as far as the limit has them. */
  commit(id: string, actual: number, done: (settlement: Settlement) => void): void {
    if (!Number.isSafeInteger(actual) || actual < 0) {
      done({ error: 'the actual cost is a whole number of at least 0' });
      return;
    }
    const before = this.settled.get(id);
    if (before !== undefined) {
      done(before.actual === actual ? before.settlement : { error: 'the reservation is settled already' });
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
      this.settle(id, actual, { charged: actual, uncharged: 0 });
      operations.taker.giveBack(allotment, -missing);
      done({ charged: actual, uncharged: 0 });
      return;
    }
    // Settled before it can lapse; how many more tokens can be had is known when the take is answered.
    const settled = this.settle(id, actual, { charged: item.cost, uncharged: missing });
    operations.take({ items: [{ ...item, cost: missing }], waitMs: 0 }, (answer) => {
      const isAllowed = !('error' in answer) && answer.isAllowed;
      const more = isAllowed ? missing : operations.taker.takeSome(allotment, missing);
      settled.settlement = { charged: item.cost + more, uncharged: missing - more };
      done(settled.settlement);
    });
  }

  /** Gives all of it back; false where there is no such reservation, or it is settled. */
  cancel(id: string): boolean {
    const reservation = this.held.get(id);
    if (reservation === undefined) return false;
    this.settle(id, 0, { charged: 0, uncharged: 0 });
    this.options.operations.taker.giveBack(reservation.allotment, reservation.item.cost);
    return true;
  }

  /** Ends reservations that were not settled in time. */
  tick(): void {
    this.deadlines.pass(this.options.monotonicMs(), (id) => this.lapse(id));
    this.dropSettled();
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

  private hold(item: TakeItem, allotment: Allotment, ttlMs: number, lapse: Lapse): string {
    const id = this.options.newId();
    this.held.set(id, { item, allotment, lapse });
    this.deadlines.set(id, this.options.monotonicMs() + ttlMs);
    return id;
  }

  private settle(id: string, actual: number, settlement: Settlement): Settled {
    const settled = { actual, settlement, untilMs: this.options.monotonicMs() + SETTLED_MS };
    this.held.delete(id);
    this.deadlines.delete(id);
    this.settled.set(id, settled);
    this.dropSettled();
    return settled;
  }

  private dropSettled(): void {
    const nowMs = this.options.monotonicMs();
    for (const [id, { untilMs }] of this.settled) {
      if (untilMs > nowMs && this.settled.size <= MAXIMUM_SETTLED) return;
      this.settled.delete(id);
    }
  }

  private lapse(id: string): void {
    const reservation = this.held.get(id) as Reservation;
    this.held.delete(id);
    if (reservation.lapse === 'refund')
      this.options.operations.taker.giveBack(reservation.allotment, reservation.item.cost);
  }
}
