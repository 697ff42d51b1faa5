import type { User } from '@quotadb/config';
import { ProblemError } from '@quotadb/http';
import { serverProblems } from './problems.js';

/** Throws where the prefixes of this user do not cover the key. A user without prefixes may touch all keys. */
export function requireKeyAccess(user: User, key: Uint8Array): void {
  if (!user.covers(key)) throw new ProblemError(serverProblems.key_forbidden);
}
