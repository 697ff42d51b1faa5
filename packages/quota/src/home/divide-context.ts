import type { DivideContext } from '../policies/divisions.js';
import { startingRegions } from '../policies/policy.js';
import type { PolicySet } from '../policies/policy-set.js';

/** The servers as the home sees them. */
export type ServersView = Pick<DivideContext, 'servers' | 'removed'>;

/** What a division of tokens among members goes by: the policies that there are, and the servers. */
export function divideContext(set: PolicySet, view: ServersView, nowMs: number): DivideContext {
  const { version, lastNumber } = set;
  const all = [...set.policies, ...(set.dropped ?? [])];
  const starting = new Set(all.flatMap((policy) => [...startingRegions(policy)]));
  return { ...view, nowMs: Math.floor(nowMs), version, lastNumber, starting };
}
