import { isRoleMissing, Need, STATE_NEEDS } from '@quotadb/config';
import { isReservedName } from '@quotadb/rate';
import type { Request } from '@quotadb/wire';
import { errors } from '../errors/errors.js';
import { type Client, NO_DATABASE } from './client.js';
import type { CommandEntry } from './command-index.js';
import { lastKeyOf } from './key-positions.js';

/** Why this client may not run this command; undefined where it may. Called only where `needs` and `lacks` overlap. */
export function refusal(client: Client, entry: CommandEntry, request: Request): string | undefined {
  const missing = entry.needs & client.lacks;
  if ((missing & ~STATE_NEEDS) === 0) return refusalInState(client, missing);
  if ((missing & Need.authentication) !== 0) return errors.authenticationRequired;
  if (client.user?.isWithout(entry.fullName)) return errors.commandNotPermitted(entry.fullName);
  if (isRoleMissing(needsOfCall(entry, request), client.lacks)) return errors.commandNotPermitted(entry.fullName);
  return keysArePermitted(client, entry, request) ? refusalInState(client, missing) : errors.keyNotPermitted;
}

function refusalInState(client: Client, missing: number): string | undefined {
  if ((missing & Need.noMonitor) !== 0) return errors.monitoring;
  return (missing & Need.database) !== 0 && client.database === NO_DATABASE ? errors.databaseNotSelected : undefined;
}

/** Some commands need the role read only with certain arguments. */
function needsOfCall({ command, needs }: CommandEntry, request: Request): number {
  return typeof command.alsoReads === 'function' && !command.alsoReads(request) ? needs & ~Need.read : needs;
}

/** The same inside EXEC, for commands that were permitted when they were queued. */
export function refusalInTransaction(client: Client, entry: CommandEntry, request: Request): string | undefined {
  const reason = refusal(client, entry, request);
  if (reason === undefined || reason === errors.databaseNotSelected) return reason;
  return errors.noLongerPermitted(
    reason === errors.keyNotPermitted
      ? 'no permission to touch the specified keys'
      : 'no permission to execute the command or subcommand',
  );
}

/** Whether the client may see a key, by its name in its database; undefined where it may see all. */
export function visibleKeys({ user }: Client): ((key: Uint8Array) => boolean) | undefined {
  if (user === undefined || !user.hasPrefixes) return undefined;
  return (key) => user.mayTouch(key, 0, key.length);
}

/** A command on keys that it does not name needs a user without prefixes, unless it leaves out the hidden keys. */
function keysArePermitted({ user }: Client, entry: CommandEntry, request: Request): boolean {
  if (user === undefined || !user.hasPrefixes) return true;
  if (entry.firstKey === 0) return entry.command.leavesOutKeys === true;
  const end = lastKeyOf(entry, request);
  for (let index = entry.firstKey; index <= end; index += entry.keyStep) {
    if (!user.mayTouch(request.input.bytes, request.argumentStart[index], request.argumentLength[index])) return false;
  }
  return true;
}

/** Whether the request names the key of a cell, which only the commands of windows and limits may use. */
export function namesReservedKey(request: Request, entry: CommandEntry): boolean {
  const { argumentStart, argumentLength } = request;
  const { bytes } = request.input;
  const { firstKey, keyStep } = entry;
  const end = firstKey === entry.lastKey ? firstKey : lastKeyOf(entry, request);
  for (let index = firstKey; index <= end; index += keyStep) {
    if (bytes[argumentStart[index]] === 0 && isReservedName(bytes, argumentStart[index], argumentLength[index]))
      return true;
  }
  return false;
}
