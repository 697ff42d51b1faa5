import { type Cell, nameOfCell } from './cell.js';
import { Deadlines } from './deadlines.js';
import type { Operations, Standing, TakeItem } from './operations.js';

export const MAXIMUM_RESERVATION_MS = 3_600_000;
/** Reservations held at once, with those that were settled not long ago. */
const MAXIMUM_RESERVATIONS = 100_000;
/** How long it is remembered what became of one: whoever has not heard the answer asks again. */
const SETTLED_MS = 600_000;

export type Settlement =
  | { readonly error: string }
  /** What was charged in the end, and what was used and could not be: the limit had no more. */
  | { readonly charged: number; readonly uncharged: number };

export type Reserved =
  | { readonly error: string }
  | { readonly isAllowed: boolean; readonly id: string; readonly standing: Standing };

interface Reservation {
  readonly item: TakeItem;
  readonly cell: Cell;
  /** Once it is settled: for what, and how that went. */
  settled: { readonly actual: number; readonly settlement: Settlement } | undefined;
}

export interface ReservationsOptions {
  readonly operations: Operations;
  readonly monotonicMs: () => number;
  /** A name that nobody can guess. */
  readonly newId: () => string;
}

/**
 * Costs that are known only afterwards: an estimate is taken at once; what was too much comes back when the true cost is
 * known, and all of it when nobody has said so in time. A reservation is a take like any other, held by the node that made it and
 * in its memory alone: a crash wastes it for the window, and nothing is ever spent twice.
 */
export class Reservations {
  private readonly options: ReservationsOptions;
  private readonly held = new Map<string, Reservation>();
  /** When they lapse, and once they are settled, when that is forgotten. */
  private readonly deadlines: Deadlines;

  constructor(options: ReservationsOptions) {
    this.options = options;
    this.deadlines = new Deadlines(options.monotonicMs());
  }

  reserve(item: TakeItem, ttlMs: number, waitMs: number | undefined, done: (reserved: Reserved) => void): void {
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
      const { isAllowed, standings, cells } = answer;
      const id = isAllowed ? this.hold(item, cells[0], ttlMs) : '';
      done({ isAllowed, id, standing: standings[0] });
    });
  }

  /** The true cost: what was too much goes back, what is missing is taken, as far as the limit has it. */
  commit(id: string, actual: number, done: (settlement: Settlement) => void): void {
    const reservation = this.held.get(id);
    if (!Number.isSafeInteger(actual) || actual < 0) {
      done({ error: 'the actual cost is a whole number of at least 0' });
      return;
    }
    if (reservation === undefined) {
      done({ error: 'there is no such reservation: it has lapsed, or was made in another region or before a restart' });
      return;
    }
    const { item, cell, settled } = reservation;
    if (settled !== undefined) {
      done(settled.actual === actual ? settled.settlement : { error: 'the reservation is settled already' });
      return;
    }
    const { operations } = this.options;
    const missing = actual - item.cost;
    if (missing <= 0) {
      this.settle(id, reservation, actual, { charged: actual, uncharged: 0 });
      operations.taker.giveBack(cell, -missing);
      done({ charged: actual, uncharged: 0 });
      return;
    }
    // Settled before anything else can happen to it; how much more can be had is seen then.
    this.settle(id, reservation, actual, { charged: item.cost, uncharged: missing });
    operations.take({ items: [{ ...item, cost: missing }], waitMs: 0 }, (answer) => {
      const isAllowed = !('error' in answer) && answer.isAllowed;
      const more = isAllowed ? missing : operations.taker.takeSome(cell, missing);
      const settlement = { charged: item.cost + more, uncharged: missing - more };
      reservation.settled = { actual, settlement };
      done(settlement);
    });
  }

  /** All of it goes back; false where there is no such reservation, or it is settled. */
  cancel(id: string): boolean {
    const reservation = this.held.get(id);
    if (reservation === undefined || reservation.settled !== undefined) return false;
    this.settle(id, reservation, 0, { charged: 0, uncharged: 0 });
    this.options.operations.taker.giveBack(reservation.cell, reservation.item.cost);
    return true;
  }

  /** What nobody has settled in time comes back. */
  tick(): void {
    this.deadlines.pass(this.options.monotonicMs(), (id) => this.lapse(id));
  }

  /** What is held and not settled, by cell. */
  outstanding(): Map<string, number> {
    const amounts = new Map<string, number>();
    for (const { cell, item, settled } of this.held.values()) {
      if (settled !== undefined) continue;
      const name = nameOfCell(cell);
      amounts.set(name, (amounts.get(name) ?? 0) + item.cost);
    }
    return amounts;
  }

  private hold(item: TakeItem, cell: Cell, ttlMs: number): string {
    const id = this.options.newId();
    this.held.set(id, { item, cell, settled: undefined });
    this.deadlines.set(id, this.options.monotonicMs() + ttlMs);
    return id;
  }

  private settle(id: string, reservation: Reservation, actual: number, settlement: Settlement): void {
    reservation.settled = { actual, settlement };
    this.deadlines.set(id, this.options.monotonicMs() + SETTLED_MS);
  }

  private lapse(id: string): void {
    const reservation = this.held.get(id);
    this.held.delete(id);
    if (reservation !== undefined && reservation.settled === undefined)
      this.options.operations.taker.giveBack(reservation.cell, reservation.item.cost);
  }
}
