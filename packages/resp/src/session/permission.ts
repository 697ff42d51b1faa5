import { isRoleMissing, Need } from '@quotadb/config';
import { isReservedName } from '@quotadb/rate';
import type { Request } from '@quotadb/wire';
import { errors } from '../errors/errors.js';
import type { Client } from './client.js';
import type { CommandEntry } from './command-index.js';

/** Why this client may not run this command; undefined where it may. Called only where `needs` and `lacks` overlap. */
export function refusal(client: Client, entry: CommandEntry, request: Request): string | undefined {
  if ((entry.needs & client.lacks & Need.authentication) !== 0) return errors.authenticationRequired;
  if (client.user?.isWithout(entry.fullName)) return errors.commandNotPermitted(entry.fullName);
  if (isRoleMissing(needsOfCall(entry, request), client.lacks)) return errors.commandNotPermitted(entry.fullName);
  return keysArePermitted(client, entry, request) ? undefined : errors.keyNotPermitted;
}

/** Some commands need the role read only with certain arguments. */
function needsOfCall({ command, needs }: CommandEntry, request: Request): number {
  return typeof command.alsoReads === 'function' && !command.alsoReads(request) ? needs & ~Need.read : needs;
}

/** The same inside EXEC, for commands that were permitted when they were queued. */
export function refusalInTransaction(client: Client, entry: CommandEntry, request: Request): string | undefined {
  const reason = refusal(client, entry, request);
  if (reason === undefined) return undefined;
  return errors.noLongerPermitted(
    reason === errors.keyNotPermitted
      ? 'no permission to touch the specified keys'
      : 'no permission to execute the command or subcommand',
  );
}

/** Whether the client may see a key; undefined where it may see all. */
export function visibleKeys({ user }: Client): ((key: Uint8Array) => boolean) | undefined {
  if (user === undefined || !user.hasPrefixes) return undefined;
  return (key) => user.mayTouch(key, 0, key.length);
}

/** A command on keys that it does not name needs a user without prefixes, unless it leaves out the hidden keys. */
function keysArePermitted({ user }: Client, { command }: CommandEntry, request: Request): boolean {
  if (user === undefined || !user.hasPrefixes) return true;
  if (command.keys === undefined) return command.leavesOutKeys === true;
  const [first, last, step] = command.keys;
  const end = last < 0 ? request.argumentCount + last : last;
  for (let index = first; index <= end; index += step) {
    if (!user.mayTouch(request.input.bytes, request.argumentStart[index], request.argumentLength[index])) return false;
  }
  return true;
}

/** Whether the request names the key of a cell, which only the commands of windows and limits may use. */
export function namesReservedKey(request: Request, entry: CommandEntry): boolean {
  const { argumentStart, argumentLength, argumentCount } = request;
  const { bytes } = request.input;
  const { lastKey, keyStep } = entry;
  const end = lastKey < 0 ? argumentCount + lastKey : lastKey;
  for (let index = entry.firstKey; index <= end; index += keyStep) {
    if (bytes[argumentStart[index]] === 0 && isReservedName(bytes, argumentStart[index], argumentLength[index]))
      return true;
  }
  return false;
}
