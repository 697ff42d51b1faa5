import { type Allotment, limitOf, type Policy, windowAt } from '@quotadb/quota';
import { type Member, nameOfOrigin } from '@quotadb/replication';
import type { Mistake } from '../world/cluster.js';
import { inside, mistake } from './mistakes.js';

/** Rules of overrides, extra tokens, refunds, calendars, and of regions that admit a part by themselves. */
export const ADJUSTMENT_MISTAKES: readonly Mistake[] = [
  mistake('an override in the middle of a window is minted by every region', ({ broker }, { region }) => {
    const { ledger } = broker;
    const rights = ledger.rights.bind(ledger);
    ledger.rights = (policy, allotment) => {
      const more = limitOf(policy, allotment.subject, allotment.window) - policy.limit;
      return rights(policy, allotment) + (policy.allocator === region ? 0 : Math.max(0, more));
    };
  }),
  mistake('extra tokens are given for a repetition too', ({ book }) => {
    const giveExtra = book.giveExtra.bind(book);
    book.giveExtra = (name, request, nowMs) => giveExtra(name, { ...request, operation: undefined }, nowMs);
  }),
  mistake('tokens are taken of the window that follows', ({ operations }, { engine }) => {
    const parts = inside<{ partsOf(item: { readonly policy: Policy }): { readonly allotment: Allotment }[] }>(
      operations,
    );
    const partsOf = parts.partsOf.bind(operations);
    parts.partsOf = (item) =>
      partsOf(item).map((part) => ({
        ...part,
        allotment: { ...part.allotment, window: windowAt(item.policy, engine.nowMs + 500) },
      }));
  }),
  mistake('a refund gives back tokens that are reserved', ({ refunds, reservations }) => {
    const { options } = inside<{ options: Record<string, unknown> }>(refunds);
    const blind = { outstanding: () => new Map<string, number>(), has: reservations.has.bind(reservations) };
    inside<{ options: Record<string, unknown> }>(refunds).options = { ...options, reservations: blind };
  }),
  mistake('a refund gives back tokens of the local balance', ({ broker }) => {
    const { ledger } = broker;
    const ownMarks = ledger.ownMarks.bind(ledger);
    ledger.ownMarks = (allotment) => ownMarks(allotment) + ledger.balance(allotment);
  }),
  mistake('a region that is cut off admits its part again and again', ({ broker }) => {
    const { ledger } = broker;
    const admissible = ledger.admissible.bind(ledger);
    ledger.admissible = (policy, allotment) => {
      const most = Math.floor(limitOf(policy, allotment.subject, allotment.window) * (policy.admitFraction ?? 0));
      return admissible(policy, allotment) + ledger.admitted(policy, allotment).own > 0 ? most : 0;
    };
  }),
  mistake('a new incarnation admits what an earlier one has admitted', ({ book }) => {
    book.tenure.mayAdmit = () => true;
  }),
  mistake('a re-mint compares the watermarks of the regions, not what they hold', (_, { replica }) => {
    replica.antiEntropy.comparison.compare = (origins) => {
      const isSame = ({ seen }: Member, origin: string) =>
        covers(seen.of(origin), replica.seenOf(origin)) && covers(replica.seenOf(origin), seen.of(origin));
      const linked = [...replica.members.values()].filter(({ link }) => link !== undefined);
      const differing = linked.filter((member) => !origins.every((origin) => isSame(member, nameOfOrigin(origin))));
      const held = differing.length > 0 ? undefined : 'the same watermarks';
      return { held, unanswered: [], differing: differing.map(({ region }) => region) };
    };
  }),
];

function covers(one: Float64Array, other: Float64Array): boolean {
  return one.every((version, shard) => version >= other[shard]);
}
