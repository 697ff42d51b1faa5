import type { User, Users } from '@quotadb/config';
import type { ServerState } from '../session/server-state.js';

/**
 * Replaces the users. Connected clients get the new permissions; a client whose user is gone, or whose user's passwords
 * have changed, is disconnected and has to log in again.
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
