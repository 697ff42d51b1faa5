import { slotOfKey } from '@quotadb/cluster';
import type { Request } from '@quotadb/wire';
import { errors } from '../errors/errors.js';
import { HELD } from '../services/cluster-board.js';
import type { LaneCluster } from '../services/lane-cluster.js';
import { awaitAnswer } from './await-answer.js';
import type { CommandEntry } from './command-index.js';
import { lastKeyOf } from './key-positions.js';
import type { PostponedCall } from './postpone.js';
import { redirect } from './rejection.js';
import { NO_SLOT, SEVERAL_SLOTS } from './slots.js';
import { copyRequest } from './transaction.js';

/** A command waits this long for its slot. A hold takes less, or goes back. */
const HELD_PATIENCE_MS = 2000;

/** The slot of the request that is on its way between groups; NO_SLOT where none is. */
export function heldSlotOf(cluster: LaneCluster, entry: CommandEntry, request: Request, slot: number): number {
  const { owners } = cluster;
  if (slot !== SEVERAL_SLOTS) return owners[slot] === HELD ? slot : NO_SLOT;
  // Without parts it is refused wherever its keys are.
  if (entry.command.splits === undefined) return NO_SLOT;
  const { argumentStart, argumentLength } = request;
  const lastKey = lastKeyOf(entry, request);
  for (let index = entry.firstKey; index <= lastKey; index += entry.keyStep) {
    const one = slotOfKey(request.input.bytes, argumentStart[index], argumentLength[index]);
    if (owners[one] === HELD) return one;
  }
  return NO_SLOT;
}

/** This connection waits until the slot is where it belongs: then the command begins anew, or is refused. */
export function awaitSlot(call: PostponedCall, entry: CommandEntry, slot: number): void {
  const { server, client } = call;
  const request = copyRequest(call.request);
  // It has not begun: the hold does not wait for it.
  client.slot = NO_SLOT;
  awaitAnswer<boolean>(
    call,
    HELD_PATIENCE_MS,
    (answered) => server.askMain('awaitSlot', slot, answered),
    (_, answer) => {
      if (answer?.value === true) call.beginAnew(request);
      else redirect(call, entry, errors.slotHeld(slot));
    },
  );
}
