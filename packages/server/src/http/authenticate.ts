import { defaultUser, Need, type User } from '@quotadb/config';
import type { Audience, CountsTokens } from '@quotadb/counts';
import type { Authenticate } from '@quotadb/http';
import type { HttpAccess } from '../access/http-access.js';

/** How a caller comes by a role: as a user who lacks nothing of `need`, or with a token of the counts API. */
interface Grant {
  readonly need?: number;
  readonly audience?: Audience;
}

/**
 * The roles that operations name. Windows and rate limits take a token of the counts API too, on all keys.
 */
const grants: Readonly<Record<string, Grant>> = {
  read: { need: Need.read },
  write: { need: Need.write },
  quota: { need: Need.quota },
  admin: { need: Need.admin },
  'counts token': { audience: 'external' },
  count: { need: Need.write, audience: 'external' },
  'manage counts': { need: Need.admin, audience: 'internal' },
};

/** Whether a user has one of these roles. */
export function hasRole(user: User, roles: readonly string[]): boolean {
  return roles.some((role) => {
    const { need } = grants[role] ?? {};
    return need !== undefined && (user.lacks & need) === 0;
  });
}

/** The caller is a user; for a token of the counts API, and on an open server, the one who may do everything. */
export function authenticator(access: HttpAccess, tokens: CountsTokens): Authenticate<User> {
  return async (credentials, roles) => {
    const { authorization } = credentials;
    const wanted = roles.map((role) => grants[role]);
    const audiences = wanted.flatMap(({ audience }) => audience ?? []);
    const isOfCounts = audiences.length === wanted.length;
    if (audiences.length > 0) {
      const held = tokens.audienceOf(authorization);
      if (held !== undefined) return audiences.includes(held) ? defaultUser : 'wrong_role';
      if (access.isOpen) return defaultUser;
    }
    // The counts API takes tokens only, no passwords.
    const user = isOfCounts ? access.bearer(authorization) : await access.identify(credentials);
    if (user === undefined) return 'unauthenticated';
    if (user === 'busy') return user;
    return hasRole(user, roles) ? user : 'wrong_role';
  };
}
