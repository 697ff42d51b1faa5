import { portFor } from '@quotadb/cluster';
import { Need } from '@quotadb/config';
import { errors } from '../errors/errors.js';
import { copyArgument } from '../request/arguments.js';
import { HERE, UNOWNED } from '../services/cluster-board.js';
import type { ForwardAnswer, LaneCluster } from '../services/lane-cluster.js';
import { awaitAnswer } from './await-answer.js';
import type { Client } from './client.js';
import type { Call } from './command.js';
import type { CommandEntry } from './command-index.js';
import { awaitSlot, heldSlotOf } from './held-slot.js';
import type { PostponedCall } from './postpone.js';
import { redirect } from './rejection.js';
import type { ServerState } from './server-state.js';
import { NO_SLOT, SEVERAL_SLOTS, slotOfRequest, slotOfTransaction } from './slots.js';
import { partsOf, runParts } from './split-command.js';

/** A call that can also run a command by the words of another request. */
export interface RoutedCall extends PostponedCall {
  /** Runs it and returns the bytes of its reply, which is not sent. */
  runApart(entry: CommandEntry, words: readonly Uint8Array[]): Uint8Array;
}

/** Whether the command's keys are this node's; where not, its client has been sent to the owner or waits for it. */
export function isHere(call: RoutedCall, entry: CommandEntry): boolean {
  const { client, server } = call;
  const { cluster } = server;
  if (cluster === undefined || (entry.needs & Need.slot) === 0) return true;
  const slot = entry.firstKey === 0 ? slotOfTransaction(client.transaction) : slotOfRequest(entry, call.request);
  if (slot >= 0 ? cluster.owners[slot] === HERE : slot === NO_SLOT) {
    client.slot = slot;
    client.slotCommand = client.lastCommand;
    return true;
  }
  client.slot = NO_SLOT;
  return goElsewhere(call, cluster, entry, slot);
}

/**
 * A command whose keys are not all in one slot of this group. True where it can run here after all; otherwise its
 * client has been redirected, or waits for the reply of the group that owns the keys.
 */
function goElsewhere(call: RoutedCall, cluster: LaneCluster, entry: CommandEntry, slot: number): boolean {
  const { client, request, server } = call;
  const held = heldSlotOf(cluster, entry, request, slot);
  if (held !== NO_SLOT) {
    // Where the commands of a transaction run is decided at its EXEC.
    if (client.transaction !== undefined && !entry.neverQueued) return true;
    awaitSlot(call, entry, held);
    return false;
  }
  const isCarried = mayBeCarried(cluster, client, entry);
  if (slot !== SEVERAL_SLOTS) {
    if (!isCarried) redirect(call, entry, redirection(cluster, client, server, slot));
    else if (cluster.owners[slot] === UNOWNED) redirect(call, entry, errors.slotNotServed);
    else forward(call, slot);
    return false;
  }
  const isSplit = entry.command.splits !== undefined && (isCarried || client.isNode);
  const parts = isSplit ? partsOf(cluster.owners, entry, request) : undefined;
  if (parts === 'here') return true;
  if (parts === 'unowned') redirect(call, entry, errors.slotNotServed);
  else if (parts === undefined || !isCarried) redirect(call, entry, errors.crossSlot);
  else runParts(call, entry, parts);
  return false;
}

/** What a transaction has queued runs here or not at all. */
function mayBeCarried(cluster: LaneCluster, client: Client, entry: CommandEntry): boolean {
  return cluster.forwards && !client.isRedirected && client.transaction === undefined && !entry.neverQueued;
}

function redirection(cluster: LaneCluster, client: Client, server: ServerState, slot: number): string {
  const node = cluster.nodeOf(slot);
  if (node === undefined) return errors.slotNotServed;
  return errors.moved(slot, node.host, portFor(node, isSecure(client, server)));
}

/** Whether the client came over TLS: it is sent to ports of TLS. */
export function isSecure({ localAddress }: Client, { identity }: ServerState): boolean {
  return identity.respTlsPort !== undefined && localAddress.endsWith(`:${identity.respTlsPort}`);
}

function forward(call: Call, slot: number): void {
  const { request, client, server } = call;
  const words = Array.from({ length: request.argumentCount }, (_, index) => copyArgument(request, index));
  awaitAnswer<ForwardAnswer>(
    call,
    Number.POSITIVE_INFINITY,
    (answered) => server.askMain('forward', { slot, words, protocol: client.protocol }, answered),
    ({ reply }, answer) => {
      if (answer === undefined) reply.error(errors.forwardStopped);
      else if ('error' in answer.value) reply.error(answer.value.error);
      else reply.raw(answer.value.reply);
    },
  );
}
