import { type Allotment, AllotmentKey, type TakeAnswer, windowAt } from '@quotadb/quota';
import type { Mistake } from '../mistakes.js';
import type { NodeProcess } from '../simulated-node.js';
import type { QuotaParts } from './quota-parts.js';

/** A mistake in the quotas of every process. */
function mistake(name: string, plant: (quotas: QuotaParts, process: NodeProcess) => void): Mistake {
  return { name, plant: (process) => plant(process.quotas as QuotaParts, process) };
}

/** What is private to others, by name: mistakes are made where nobody is meant to reach. */
function inside<T>(owner: object): T {
  return owner as T;
}

type Options = { options: Record<string, unknown> };
type Settles = {
  settle(
    id: string,
    reservation: { dueMs: number; item: { cost: number }; allotment: Allotment },
    ...how: unknown[]
  ): void;
};
type Lapses = {
  lapse(id: string, bucket: number): void;
  held: Map<string, { item: { cost: number }; allotment: Allotment }>;
};

export const QUOTA_MISTAKES: readonly Mistake[] = [
  mistake('a grant is told before the disk holds it', (_, { replica }) => {
    Object.assign(replica, { durable: undefined });
  }),
  mistake('a pocket is filled before the disk holds its mark', ({ broker }) => {
    const { durable: _, ...options } = inside<Options>(broker).options;
    inside<Options>(broker).options = options;
  }),
  mistake('what a pocket gives back is given back twice', ({ broker }) => {
    const takeBack = broker.ledger.takeBack.bind(broker.ledger);
    broker.ledger.takeBack = (policy, allotment, atMost) => {
      const amount = takeBack(policy, allotment, atMost);
      if (amount > 0) broker.ledger.unmark(policy, allotment, amount);
      return amount;
    };
  }),
  mistake('a cancelled reservation is refunded twice', ({ reservations, operations }) => {
    const cancel = reservations.cancel.bind(reservations);
    reservations.cancel = (id) => {
      const held = inside<Lapses>(reservations).held.get(id);
      const isCancelled = cancel(id);
      if (isCancelled && held !== undefined) operations.taker.giveBack(held.allotment, held.item.cost);
      return isCancelled;
    };
  }),
  mistake('a commit refunds all that was reserved', ({ reservations, operations }) => {
    const commit = reservations.commit.bind(reservations);
    reservations.commit = (id, actual, done) => {
      const held = inside<Lapses>(reservations).held.get(id);
      commit(id, actual, (settlement) => {
        if (held !== undefined && actual < held.item.cost) operations.taker.giveBack(held.allotment, actual);
        done(settlement);
      });
    };
  }),
  mistake('a reservation lapses though it was settled', ({ reservations, operations }) => {
    const lapses = inside<Lapses>(reservations);
    const lapse = lapses.lapse.bind(reservations);
    const { settle } = inside<Settles>(reservations);
    // When it was due first, what it was given comes back all the same.
    inside<Settles>(reservations).settle = (id, reservation, ...how) => {
      const bucket = Math.ceil(reservation.dueMs / 100);
      settle.call(reservations, id, reservation, ...how);
      early.set(`${id}:${bucket}`, reservation);
    };
    const early = new Map<string, Parameters<Settles['settle']>[1]>();
    lapses.lapse = (id, bucket) => {
      const reservation = early.get(`${id}:${bucket}`);
      if (reservation !== undefined) operations.taker.giveBack(reservation.allotment, reservation.item.cost);
      lapse(id, bucket);
    };
  }),
  mistake('a reservation never lapses', ({ reservations }) => {
    inside<Lapses>(reservations).lapse = () => {};
  }),
  mistake('a reservation lapses too early', ({ reservations }) => {
    const schedules = inside<{ schedule(id: string, inMs: number): void }>(reservations);
    const schedule = schedules.schedule.bind(reservations);
    schedules.schedule = (id, inMs) => schedule(id, inMs / 4);
  }),
  mistake('a commit charges what the limit does not have', ({ reservations }) => {
    const commit = reservations.commit.bind(reservations);
    reservations.commit = (id, actual, done) =>
      commit(id, actual, (settlement) =>
        done('charged' in settlement ? { charged: actual, uncharged: 0 } : settlement),
      );
  }),
  mistake('a retry is done again', ({ repeats }) => {
    repeats.run = (_id, _payload, work, done) => {
      work((answer: TakeAnswer) => done(answer));
      return true;
    };
  }),
  mistake('of several limits one that was taken is not given back where another has too little', ({ operations }) => {
    operations.taker.giveBack = () => {};
  }),
  mistake('the grantor looks at its own window and grants in the one it was asked for', ({ broker }, { engine }) => {
    const { ledger } = broker;
    const rights = ledger.rights.bind(ledger);
    ledger.rights = (policy, allotment) => rights(policy, { ...allotment, window: windowAt(policy, engine.nowMs) });
  }),
  mistake('tokens are put into the window that is now, not the one they are of', ({ broker }, { engine }) => {
    const { ledger } = broker;
    const fill = ledger.fill.bind(ledger);
    ledger.fill = (policy, allotment, amount) =>
      fill(policy, { ...allotment, window: windowAt(policy, engine.nowMs) }, amount);
  }),
  mistake('a new life begins with what an earlier one began with', ({ book }) => {
    book.mayStart = () => true;
  }),
  mistake('a new life has what was granted to an earlier one', (quotas, process) => receiveForAll(quotas, process)),
  mistake('whom something was granted to is not written down', ({ book }) => {
    const { options } = inside<Options>(book);
    const save = options.save as (saved: object) => void;
    inside<Options>(book).options = { ...options, save: (saved: object) => save({ ...saved, grantees: [] }) };
  }),
];

/** Of all incarnations of the own region, this one and those before. */
function receiveForAll({ broker }: QuotaParts, { engine, node }: NodeProcess): void {
  const key = new AllotmentKey();
  const ledger = inside<{ received(allotment: Allotment): number }>(broker.ledger);
  ledger.received = (allotment) => {
    let received = 0;
    for (const origin of node.allOrigins) {
      const { input, length } = key.grantsTo(allotment, origin);
      engine.openAny(input, 0, length);
      received += engine.valueHigh * 2 ** 32 + (engine.valueLow >>> 0);
      engine.close();
    }
    return received;
  };
}
