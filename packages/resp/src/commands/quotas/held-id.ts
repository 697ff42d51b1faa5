import { slotOfKey, slotTag, withoutSlotTag } from '@quotadb/cluster';
import type { Request } from '@quotadb/wire';
import { textArgument } from '../../request/arguments.js';
import type { Call } from '../../session/command.js';

/**
 * Makes the id of a reservation or a lease that the client gets, when it is known; called while the request is there.
 * In a cluster it ends with a hash tag of its subject's slot, so that the commands that settle it, whose key it is, go
 * to the group that holds it. Nothing but these commands, and the operations of HTTP that do the same, knows of the
 * tag.
 */
export function idsFor({ server, request }: Call, subjectAt: number): (id: string) => string {
  if (server.cluster === undefined) return (id) => id;
  const slot = slotOfKey(request.input.bytes, request.argumentStart[subjectAt], request.argumentLength[subjectAt]);
  return (id) => (id === '' ? '' : `${id}${slotTag(slot)}`);
}

/** The id without its tag. */
export function heldIdArgument(request: Request, index: number): string {
  return withoutSlotTag(textArgument(request, index));
}
