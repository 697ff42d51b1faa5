import { errors } from '../errors/errors.js';
import type { Call } from './command.js';
import type { CommandEntry } from './command-index.js';
import { namesReservedKey } from './permission.js';
import { queueCommand } from './queue-command.js';
import { reject } from './rejection.js';

/** Whether the command does not run now, after a reply that says so: it is refused, or queued. */
export function isHeldBack(call: Call, entry: CommandEntry): boolean {
  const { client, server, request } = call;
  if (entry.isWrite && server.disk.refusesWrites) {
    reject(call, entry, errors.diskFailed);
  } else if (entry.firstKey !== 0 && namesReservedKey(request, entry)) {
    reject(call, entry, errors.reservedKey);
  } else if (client.transaction !== undefined && !entry.neverQueued) {
    queueCommand(call, client.transaction, entry);
  } else {
    return false;
  }
  return true;
}
