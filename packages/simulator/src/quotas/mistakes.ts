import {
  type Allotment,
  AllotmentKey,
  type Policy,
  type Seals,
  type TakeAnswer,
  windowAt,
  windowStartMs,
} from '@quotadb/quota';
import type { Mistake } from '../world/cluster.js';
import type { NodeProcess } from '../world/process.js';
import { type QuotaService, quotasOf } from './quota-service.js';

/** A mistake in the quotas of every process. */
export function mistake(name: string, plant: (quotas: QuotaService, process: NodeProcess) => void): Mistake {
  return { name, plant: (process) => plant(quotasOf(process), process) };
}

/** An object with its private members: mistakes reach into members that are closed to other code. */
export function inside<T>(owner: object): T {
  return owner as T;
}

interface Inheritances {
  inherited(policy: Policy, allotment: Allotment): number;
}
type Options = { options: Record<string, unknown> };
interface ReservationParts {
  readonly held: ReadonlyMap<string, { readonly item: { readonly cost: number }; readonly allotment: Allotment }>;
  readonly deadlines: { set(id: string, atMs: number): void; delete(id: string): void };
  lapse(id: string): void;
  settle(id: string, ...how: unknown[]): unknown;
}

export const QUOTA_MISTAKES: readonly Mistake[] = [
  mistake('a grant is sent before the disk holds it', (_, { replica }) => {
    Object.assign(replica, { durable: undefined });
  }),
  mistake('a local balance is filled before the disk holds its mark', ({ broker }) => {
    const { durable: _, ...options } = inside<Options>(broker).options;
    inside<Options>(broker).options = options;
  }),
  mistake('tokens that a local balance gives back are given back twice', ({ broker }) => {
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
      const held = inside<ReservationParts>(reservations).held.get(id);
      const isCancelled = cancel(id);
      if (isCancelled && held !== undefined) operations.taker.giveBack(held.allotment, held.item.cost);
      return isCancelled;
    };
  }),
  mistake('a commit refunds all that was reserved', ({ reservations, operations }) => {
    const commit = reservations.commit.bind(reservations);
    reservations.commit = (id, actual, done) => {
      const held = inside<ReservationParts>(reservations).held.get(id);
      commit(id, actual, (settlement) => {
        if (held !== undefined && actual < held.item.cost) operations.taker.giveBack(held.allotment, actual);
        done(settlement);
      });
    };
  }),
  mistake('a reservation lapses though it was settled', ({ reservations, operations }) => {
    const parts = inside<ReservationParts>(reservations);
    const settle = parts.settle.bind(reservations);
    const lapse = parts.lapse.bind(reservations);
    const settled = new Map<string, { item: { cost: number }; allotment: Allotment }>();
    parts.deadlines.delete = () => {};
    parts.settle = (id, ...how) => {
      const reservation = parts.held.get(id);
      if (reservation !== undefined) settled.set(id, reservation);
      return settle(id, ...how);
    };
    parts.lapse = (id) => {
      const reservation = settled.get(id);
      if (reservation === undefined) lapse(id);
      else operations.taker.giveBack(reservation.allotment, reservation.item.cost);
    };
  }),
  mistake('a reservation never lapses', ({ reservations }) => {
    inside<ReservationParts>(reservations).lapse = () => {};
  }),
  mistake('a reservation lapses too early', ({ reservations }, process) => {
    const { deadlines } = inside<ReservationParts>(reservations);
    const set = deadlines.set.bind(deadlines);
    deadlines.set = (id, atMs) => set(id, process.monotonicMs() + (atMs - process.monotonicMs()) / 4);
  }),
  mistake('a commit charges what the limit does not have', ({ reservations }) => {
    const commit = reservations.commit.bind(reservations);
    reservations.commit = (id, actual, done) =>
      commit(id, actual, (settlement) =>
        done('charged' in settlement ? { charged: actual, uncharged: 0 } : settlement),
      );
  }),
  mistake('a retry is done again', ({ repeats }) => {
    repeats.run = ({ work }, done) => {
      work((answer: TakeAnswer) => done(answer));
      return true;
    };
  }),
  mistake('of several limits one that was taken is not given back where another has too little', ({ operations }) => {
    operations.taker.giveBack = () => true;
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
  mistake('a new incarnation begins with the rights that an earlier one began with', ({ book }) => {
    book.tenure.mayStart = () => true;
  }),
  mistake('a new incarnation has the grants to an earlier one', (quotas, process) => receiveForAll(quotas, process)),
  mistake('what a lost region had is minted twice', ({ broker }) => {
    const { inheritances } = inside<{ inheritances: Inheritances }>(broker.ledger);
    const inherited = inheritances.inherited.bind(inheritances);
    inheritances.inherited = (policy, allotment) => 2 * inherited(policy, allotment);
  }),
  mistake('what a lost region had granted is minted again', ({ book }) => {
    const remint = book.remint.bind(book);
    book.remint = (name, lost, nowMs) =>
      remint(
        name,
        lost.map((one) => ({ ...one, grantees: [] })),
        nowMs,
      );
  }),
  mistake('the grantees are not saved', ({ book }) => {
    const { options } = inside<Options>(book);
    const save = options.save as (saved: object) => void;
    inside<Options>(book).options = { ...options, save: (saved: object) => save({ ...saved, grantees: [] }) };
  }),
];

/** Rules of what outlives a process. */
export const RESTART_MISTAKES: readonly Mistake[] = [
  mistake('tokens come back before the disk holds the end of their reservation', ({ broker }) => {
    const giveBack = broker.giveBack.bind(broker);
    broker.giveBack = (allotment, amount) => giveBack(allotment, amount, undefined);
  }),
  mistake('a commit is answered before the disk holds it', ({ operations }) => {
    operations.whenDurable = (_, done) => done();
  }),
  mistake('a restart forgets reservations', ({ reservations }, { node }) => {
    if (node.processesTotal > 1) inside<{ held: Map<string, unknown> }>(reservations).held.clear();
  }),
  mistake('a restart forgets the ids of operations', ({ records }, { node }) => {
    if (node.processesTotal > 1) records.valuesOf = () => [];
  }),
];

/** Rules of the gate for frames: schedules with a hostile region find them. */
export const GATE_MISTAKES: readonly Mistake[] = [
  mistake('policies are taken over from any region', ({ gate }) => {
    gate.findSetFault = () => undefined;
  }),
  mistake('policies are taken over with any seal', ({ gate }) => {
    const { options } = inside<Options>(gate);
    const seals = (options.seals as () => Seals | undefined)();
    if (seals !== undefined)
      inside<Options>(gate).options = { ...options, seals: () => ({ ...seals, findFault: () => undefined }) };
  }),
  mistake('tokens are granted to an incarnation that is not at the other end of the link', ({ gate }) => {
    gate.findTokenFault = () => undefined;
  }),
];

export const LEASE_MISTAKES: readonly Mistake[] = [
  mistake('a lease holds nothing of the windows that it reaches into', ({ operations }) => {
    const holds = inside<{ partsOf(item: unknown): unknown[] }>(operations);
    const partsOf = holds.partsOf.bind(operations);
    holds.partsOf = (item) => partsOf(item).slice(0, 1);
  }),
  mistake('a new incarnation begins with windows that leases of the last one reach into', ({ book }, { engine }) => {
    const beganMs = engine.nowMs;
    const mayStart = book.tenure.mayStart.bind(book.tenure);
    book.tenure.mayStart = (policy, window) => mayStart(policy, window) || windowStartMs(policy, window) >= beganMs;
  }),
  mistake('a restart forgets leases', ({ leases }, { node }) => {
    if (node.processesTotal > 1) inside<{ held: Map<string, unknown> }>(leases).held.clear();
  }),
  mistake('a renewal is answered before the disk holds it', ({ operations }) => {
    operations.whenDurable = (_, done) => done();
  }),
  mistake('a lease goes back before its time', ({ leases }) => {
    const { options } = inside<Options>(leases);
    const monotonicMs = options.monotonicMs as () => number;
    const tick = leases.tick.bind(leases);
    leases.tick = () => {
      inside<Options>(leases).options = { ...options, monotonicMs: () => monotonicMs() + 1000 };
      tick();
      inside<Options>(leases).options = options;
    };
  }),
];

/** Counts the grants to all incarnations of the own region, this one and those before. */
function receiveForAll({ broker }: QuotaService, { engine, node }: NodeProcess): void {
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
