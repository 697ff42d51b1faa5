import type { Allotment, AllotmentKey } from '../allotment.js';
import type { LeasesOptions } from '../leases.js';
import type { Ledger } from '../ledger.js';
import { type Policy, windowAt, windowStartMs } from '../policy.js';
import type { PolicyBookOptions } from '../policy-book.js';
import type { TokenBroker, TokenBrokerOptions } from '../token-broker.js';
import type { QuotaNode } from './quota-node.js';

/** Mistakes that somebody could make. Each breaks a rule that nothing but the search for bad schedules would miss. */
export const mistakes: Readonly<Record<string, (node: QuotaNode) => void>> = {
  'a pocket is filled before the disk has its mark': ({ broker }) => {
    const inside = broker as unknown as { options: TokenBrokerOptions };
    const { durable: _, ...options } = inside.options;
    inside.options = options;
  },
  'a grant is told before the disk has it': ({ replica }) => {
    const inside = replica as unknown as { durable: ((shard: number) => number) | undefined };
    if (inside.durable !== undefined) inside.durable = () => Number.POSITIVE_INFINITY;
  },
  'a new life begins with what an earlier one had': ({ book }) => {
    book.mayStart = () => true;
  },
  'what goes back goes back twice': ({ broker }) => {
    const ledger = broker.ledger as unknown as Pick<Ledger, 'takeBack'> & {
      key: AllotmentKey;
      add(policy: Policy, allotment: Allotment, key: AllotmentKey, amount: number): unknown;
    };
    const takeBack = ledger.takeBack.bind(ledger);
    ledger.takeBack = (policy, allotment, atMost) => {
      const amount = takeBack(policy, allotment, atMost);
      if (amount > 0) ledger.add(policy, allotment, ledger.key.marksOf(allotment), -amount);
      return amount;
    };
  },
  'the grantor looks at its own window and grants in another': ({ broker, engine }) => {
    const { ledger } = broker as TokenBroker;
    const rights = ledger.rights.bind(ledger);
    ledger.rights = (policy, allotment) => rights(policy, { ...allotment, window: windowAt(policy, engine.nowMs) });
  },
  'whom something was granted to is not written down': ({ book }) => {
    const inside = book as unknown as { options: PolicyBookOptions };
    const { options } = inside;
    inside.options = { ...options, save: (saved) => options.save({ ...saved, grantees: [] }) };
  },
};

export const leaseMistakes: Readonly<Record<string, (node: QuotaNode) => void>> = {
  'a lease holds nothing of the windows that it reaches into': ({ leases }) => {
    const { operations } = (leases as unknown as { options: LeasesOptions }).options;
    const inside = operations as unknown as { partsOf(item: unknown): unknown[] };
    const partsOf = inside.partsOf.bind(operations);
    inside.partsOf = (item) => partsOf(item).slice(0, 1);
  },
  'a new life begins with windows that leases of the last one reach into': ({ book, engine }) => {
    const beganMs = engine.nowMs;
    const mayStart = book.mayStart.bind(book);
    book.mayStart = (policy, window) => mayStart(policy, window) || windowStartMs(policy, window) >= beganMs;
  },
  'a lease goes back before its time': ({ leases }) => {
    const { tick } = leases;
    const inside = leases as unknown as { options: LeasesOptions };
    const { monotonicMs } = inside.options;
    leases.tick = () => {
      inside.options = { ...inside.options, monotonicMs: () => monotonicMs() + 1000 };
      tick.call(leases);
      inside.options = { ...inside.options, monotonicMs };
    };
  },
};
