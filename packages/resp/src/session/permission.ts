import { isRoleMissing, Need } from '@quotadb/config';
import type { Request } from '@quotadb/wire';
import { errors } from '../errors/errors.js';
import type { Client } from './client.js';
import type { CommandEntry } from './command-index.js';

/** Why this client may not run this command; undefined where it may. Asked only where `needs` and `lacks` meet. */
export function refusal(client: Client, entry: CommandEntry, request: Request): string | undefined {
  if ((entry.needs & client.lacks & Need.authentication) !== 0) return errors.authenticationRequired;
  if (isRoleMissing(entry.needs, client.lacks)) return errors.commandNotPermitted(entry.fullName);
  return keysArePermitted(client, entry, request) ? undefined : errors.keyNotPermitted;
}

/** The same between MULTI and EXEC, where everything had been permitted before. */
export function refusalInTransaction(client: Client, entry: CommandEntry, request: Request): string | undefined {
  const reason = refusal(client, entry, request);
  if (reason === undefined) return undefined;
  return errors.noLongerPermitted(
    reason === errors.keyNotPermitted
      ? 'no permission to touch the specified keys'
      : 'no permission to execute the command or subcommand',
  );
}

/** A test for keys that are listed; undefined where this client may see all. */
export function visibleKeys({ user }: Client): ((key: Uint8Array) => boolean) | undefined {
  if (user === undefined || !user.hasPrefixes) return undefined;
  return (key) => user.mayTouch(key, 0, key.length);
}

/** A command that works on keys it does not name is for those who may see all, unless it leaves out what they may not. */
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
