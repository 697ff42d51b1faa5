import { slotOfKey } from '@quotadb/cluster';
import type { User } from '@quotadb/config';
import { ElsewhereError, ProblemError, problems } from '@quotadb/http';
import type { LaneCluster } from '@quotadb/resp';
import { clusterProblems, serverProblems } from './problems.js';

/** Throws where the prefixes of this user do not cover the key. A user without prefixes may touch all keys. */
export function requireKeyAccess(user: User, key: Uint8Array): void {
  if (!user.covers(key)) throw new ProblemError(serverProblems.key_forbidden);
}

/** The answer to users with key prefixes where an operation is about more than keys. */
const served = {
  quotas: 'Users with key prefixes are served over RESP only.',
  limits: 'Users with key prefixes check limits of their subjects, and no more.',
} as const;

export function requireAllKeys({ hasPrefixes }: User, of: keyof typeof served): void {
  if (hasPrefixes) throw new ProblemError(problems.forbidden, { detail: served[of] });
}

/**
 * Waits while the slot of a key or subject is on its way between groups. Throws where another group owns it: the
 * operation is run there, for a caller that has passed all checks of this node. So it comes after those, and before
 * anything is done.
 */
export async function requireKeysHere(
  cluster: LaneCluster | undefined,
  keys: readonly Uint8Array[],
  waitMs = 0,
): Promise<void> {
  if (cluster === undefined) return;
  for (let key = findHeld(cluster, keys); key !== undefined; key = findHeld(cluster, keys))
    if (!(await cluster.whenThere(key))) throw new ProblemError(clusterProblems.map_changing);
  const elsewhere = keys.find((key) => !cluster.isHere(key));
  if (elsewhere === undefined) return;
  const [slot, ...others] = new Set(keys.map((key) => slotOfKey(key, 0, key.length)));
  if (others.length > 0) throw new ProblemError(serverProblems.keys_apart);
  const detail = cluster.findElsewhere(elsewhere) ?? '';
  throw new ElsewhereError(serverProblems.key_elsewhere, { detail }, slot as number, waitMs);
}

function findHeld(cluster: LaneCluster, keys: readonly Uint8Array[]): Uint8Array | undefined {
  return keys.find((key) => cluster.isHeld(key));
}

/** Does something that may wait with keys of this group: a slot moves when it is done. */
export async function withKeysHere<Result>(
  cluster: LaneCluster | undefined,
  keys: readonly Uint8Array[],
  waitMs: number,
  work: () => Promise<Result>,
): Promise<Result> {
  if (cluster === undefined) return work();
  await requireKeysHere(cluster, keys, waitMs);
  const leaves = keys.map((key) => cluster.enter(key));
  try {
    return await work();
  } finally {
    for (const leave of leaves) leave();
  }
}
