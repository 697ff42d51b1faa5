import { Need, type User } from '@quotadb/config';
import type { Admission, Caller } from '@quotadb/envoy';
import type { HttpAccess } from '../access/http-access.js';

const callers = new WeakMap<User, Caller>();

/** Callers need the role write or quota; one with key prefixes may count in domains that begin with one of them. */
function callerOf(user: User): Caller {
  const known = callers.get(user);
  if (known !== undefined) return known;
  const hasRole = (user.lacks & Need.countLimits) === 0;
  const caller: Caller = { mayCount: (domain) => hasRole && user.covers(domain) };
  callers.set(user, caller);
  return caller;
}

/** The same users, tokens and passwords as over HTTP; on an open server every caller may do everything. */
export function admitEnvoy(
  access: HttpAccess,
  authorization: string | undefined,
  address: string,
): Admission | Promise<Admission> {
  const known = authorization === undefined ? access.newcomer() : access.bearer(authorization);
  if (known !== undefined || authorization === undefined) return known && callerOf(known);
  return access
    .identify({ authorization, address, whenGone: () => () => {} })
    .then((user) => (user === undefined || user === 'busy' ? user : callerOf(user)));
}
