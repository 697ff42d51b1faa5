import { createHash } from 'node:crypto';
import { REPLICA_ID_BYTES } from '@quotadb/engine';
import type { Agreement } from '@quotadb/wire';

export { REPLICA_ID_BYTES } from '@quotadb/engine';

export interface ReplicaIdentity {
  readonly cluster: string;
  readonly region: string;
  readonly origin: Uint8Array;
  /** Settings that have to be the same on every replica, beside the number of shards. */
  readonly agreements: readonly Agreement[];
}

/**
 * A replica is known by its region: the same after every restart, with or without its disk, and a certificate for
 * another region cannot claim it. Its incarnation is new after every start without the disk.
 */
export function replicaIdOf(cluster: string, region: string): Uint8Array {
  const digest = createHash('sha256').update(`quotadb replica\0${cluster}\0${region}`).digest();
  return Uint8Array.from(digest.subarray(0, REPLICA_ID_BYTES));
}

export function isSameReplica(one: Uint8Array, other: Uint8Array): boolean {
  for (let at = 0; at < REPLICA_ID_BYTES; at++) if (one[at] !== other[at]) return false;
  return true;
}

/** Below 0 where the replica of the first comes before that of the second. */
export function compareReplicas(one: Uint8Array, other: Uint8Array): number {
  for (let at = 0; at < REPLICA_ID_BYTES; at++) if (one[at] !== other[at]) return one[at] - other[at];
  return 0;
}

export function nameOfOrigin(origin: Uint8Array): string {
  return Buffer.from(origin.buffer, origin.byteOffset, origin.byteLength).toString('hex');
}
