import { type ClusterMap, HELD, HERE, SLOT_COUNT, type SlotRange } from '@quotadb/cluster';
import type { Fence } from '@quotadb/cluster/etcd';
import { cellKindOf } from '@quotadb/rate';
import type { Mistake } from '../world/cluster.js';
import type { NodeProcess } from '../world/process.js';
import { type MoveMember, memberOf } from './move-member.js';

type Send = (entries: Uint8Array) => Promise<void>;

export const MOVE_MISTAKES: readonly Mistake[] = [
  {
    name: 'both groups keep a slot that has moved',
    plant: inMember((member) => alterStates(member, (map, at) => map.moves.some(isOf(member, 'left', at)))),
  },
  {
    name: 'the old group goes on with slots that are held',
    plant: inMember((member) =>
      alterStates(member, (map, at, state) => state === HELD && map.groupOf(at)?.name === member.own.group),
    ),
  },
  {
    name: 'the old group forgets slots before they are handed over',
    plant: inMember(({ keys }) => {
      const send = keys.send.bind(keys);
      keys.send = async (slots: readonly SlotRange[], one: Send) => {
        const sent = await send(slots, one);
        await keys.drop(slots, () => true);
        return sent;
      };
    }),
  },
  {
    name: 'the old group does not drop its copies',
    plant: inMember(({ mover }) => {
      const { source } = Reflect.get(mover, 'options') as { source: { drop: () => Promise<void> } };
      source.drop = async () => {};
    }),
  },
  {
    name: 'a receiver takes what was sent under a stale map',
    plant: inMember(({ receiver }) => {
      const heldSince = () => ({ from: '', held: [{ first: 0, last: SLOT_COUNT - 1 }] });
      Object.assign(receiver, { heldSince, preparedFor: () => ({ isMeant: () => true, members: [] }) });
    }),
  },
  {
    name: 'a member states a map before commands that began under another have ended',
    plant: inMember((member) => {
      member.settle = async () => {
        member.mover.notice();
        return true;
      };
    }),
  },
  {
    name: 'a receiver empties nothing',
    plant: inMember(({ receiver }) => {
      const { sink } = Reflect.get(receiver, 'options') as { sink: { empty: () => Promise<void> } };
      sink.empty = async () => {};
    }),
  },
  {
    name: 'keys are sent before the changes of other members have arrived',
    plant: inMember(({ mover }) => Object.assign(mover, { awaitCovered: async () => {} })),
  },
  {
    name: 'slots are handed over before all members of the new group have the keys',
    plant: inMember(({ receiver }) => {
      receiver.finish = async () => {};
    }),
  },
  {
    name: 'a batch is sent before all members have stated that the slots are held',
    plant: inMember(({ mover }) => Object.assign(mover, { awaitStated: async () => {} })),
  },
  { name: 'a statement that comes late replaces a newer one', plant: inMember(ignoring('/members/', 'mod_revision')) },
  {
    name: 'the counters of limits stay where they were',
    plant: inMember(({ keys }) => {
      const note = Reflect.get(keys, 'note').bind(keys);
      Reflect.set(keys, 'note', (key: Uint8Array, slot: number) => {
        if (cellKindOf(key) === undefined) note(key, slot);
      });
    }),
  },
  {
    name: 'tokens are minted by a move: what was used is forgotten',
    plant: inMember(({ quotas }) => {
      const { ledger } = quotas.broker;
      const adopt = ledger.adopt.bind(ledger);
      ledger.adopt = (policy, allotment) => adopt(policy, allotment, 0);
    }),
  },
];

function inMember(plant: (member: MoveMember) => void): (process: NodeProcess) => void {
  return (process) => plant(memberOf(process));
}

/** Slots of which this is true are served. */
function alterStates(member: MoveMember, isKept: (map: ClusterMap, slot: number, state: number) => boolean): void {
  const statesOf = member.statesOf.bind(member);
  member.statesOf = (map) => statesOf(map).map((state, slot) => (isKept(map, slot, state) ? HERE : state));
}

function isOf({ own }: MoveMember, part: 'left' | 'held', slot: number) {
  return (move: ClusterMap['moves'][number]): boolean =>
    move.from === own.group && move[part].some(({ first, last }) => first <= slot && slot <= last);
}

/** The store does not look at these fences. */
function ignoring(part: string, field: Fence['field']) {
  return ({ client }: MoveMember): void => {
    const change = client.change.bind(client);
    client.change = (fences, key, ...given) =>
      change(key.includes(part) ? fences.filter((fence) => fence.field !== field) : fences, key, ...given);
  };
}
