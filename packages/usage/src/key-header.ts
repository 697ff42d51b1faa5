import { REPLICA_ID_BYTES, RESERVED_PREFIX } from '@quotadb/engine';

/**
 * How every key of usage begins. A key is the usage of one subject in one window, in one region: an ordinary counter
 * under a reserved name, so that it reaches the disk, replicates and expires as every other.
 *
 *   bytes | key
 *   ------|---------------------------------------------------------------------------------------------
 *   0–3   | RESERVED_PREFIX
 *   4     | 'u': of a quota, see quota-usage-key.ts; 'f': of a limit with a fixed window, see limit-usage-key.ts
 *   5–20  | the id of the replica, which all incarnations of a region have: no two regions write one key
 *   21 …  | the window and the subject
 *
 * Of each incarnation's component, P is what was used; N what came back, and what was exported. P − N over all of them
 * is the usage that is not exported yet.
 */
export const UsageKind = { quota: 0x75, limit: 0x66 } as const;
export type UsageKind = (typeof UsageKind)[keyof typeof UsageKind];

const KIND_AT = RESERVED_PREFIX.length;
const REPLICA_AT = KIND_AT + 1;
export const KEY_HEADER_BYTES = REPLICA_AT + REPLICA_ID_BYTES;

export function writeKeyHeader(bytes: Uint8Array, kind: UsageKind, replica: Uint8Array): void {
  bytes.set(RESERVED_PREFIX);
  bytes[KIND_AT] = kind;
  bytes.set(replica.subarray(0, REPLICA_ID_BYTES), REPLICA_AT);
}

/** The key is known to be a reserved one. */
export function hasKeyHeader(key: Uint8Array, kind: UsageKind, replica: Uint8Array): boolean {
  if (key[KIND_AT] !== kind) return false;
  for (let index = 0; index < REPLICA_ID_BYTES; index++) if (key[REPLICA_AT + index] !== replica[index]) return false;
  return true;
}

/** The last moment that a date can name. */
const LAST_MS = 8_640_000_000_000_000;

/** A peer may send any key. */
export function isWindow(startMs: number, endMs: number): boolean {
  if (!Number.isSafeInteger(startMs) || !Number.isSafeInteger(endMs)) return false;
  return startMs >= 0 && startMs < endMs && endMs <= LAST_MS;
}
