import type { User, Users } from '@quotadb/config';
import type { ServerState } from '../session/server-state.js';

/**
 * These are the users from now on. Who is connected gets the new rights; whose user is gone, or has other passwords than
 * the one it came in with may have been, has to come again.
 */
export function replaceUsers({ config, access, clients }: ServerState, users: Users): void {
  config.users = users;
  access.refresh();
  for (const client of [...clients]) {
    const { user } = client;
    if (user === undefined) {
      if (access.isOpen) client.become(access.newcomer());
      continue;
    }
    const now = access.find(user.name);
    if (now === undefined || !hasSamePasswords(user, now)) client.connection.destroy();
    else client.become(now);
  }
}

function hasSamePasswords(one: User, other: User): boolean {
  return String(one.record?.passwords) === String(other.record?.passwords);
}
