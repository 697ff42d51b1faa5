import type { ClientBase } from 'pg';
import type { RequestIdentity } from '../../domain/request-identity.js';
import { CLAIM_REQUESTS, RECALL_REQUESTS, RELEASE_REQUESTS, REMEMBER_OUTCOMES } from './statements.js';
import { nullableArray, textArray } from './text-array.js';

/** A request that was answered, as the ledger remembers it. */
export interface RememberedRequest {
  readonly fingerprint: string;
  readonly outcome: string;
  readonly value: bigint | null;
  readonly createdAt: Date;
}

export interface AnsweredRequest {
  readonly key: string;
  readonly outcome: string;
  readonly value: bigint | null;
}

interface RequestRow {
  idempotency_key: string;
  fingerprint: string;
  outcome: string | null;
  value: string | null;
  created_at: Date;
}

/**
 * The ledger of idempotency keys. All of this happens inside the transaction that makes the changes, so a key is in the
 * ledger exactly when its change is in the counts, on every instance and after every crash.
 */
export async function claimRequests(client: ClientBase, requests: readonly RequestIdentity[]): Promise<Set<string>> {
  const { rows } = await client.query<{ idempotency_key: string }>({
    name: 'claim-requests',
    text: CLAIM_REQUESTS,
    values: [textArray(requests.map(({ key }) => key)), textArray(requests.map(({ fingerprint }) => fingerprint))],
  });
  return new Set(rows.map((row) => row.idempotency_key));
}

export async function recallRequests(
  client: ClientBase,
  keys: readonly string[],
): Promise<Map<string, RememberedRequest>> {
  if (keys.length === 0) return new Map();
  const { rows } = await client.query<RequestRow>({
    name: 'recall-requests',
    text: RECALL_REQUESTS,
    values: [textArray(keys)],
  });
  const remembered = new Map<string, RememberedRequest>();
  for (const { idempotency_key: key, fingerprint, outcome, value, created_at: createdAt } of rows) {
    // Without an outcome it is our own claim of a moment ago, made for another change of the same write.
    if (outcome === null) continue;
    remembered.set(key, { fingerprint, outcome, value: value === null ? null : BigInt(value), createdAt });
  }
  return remembered;
}

export async function rememberOutcomes(client: ClientBase, answered: readonly AnsweredRequest[]): Promise<void> {
  if (answered.length === 0) return;
  await client.query({
    name: 'remember-outcomes',
    text: REMEMBER_OUTCOMES,
    values: [
      textArray(answered.map(({ key }) => key)),
      textArray(answered.map(({ outcome }) => outcome)),
      nullableArray(answered.map(({ value }) => value)),
    ],
  });
}

export async function releaseRequests(client: ClientBase, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await client.query({ name: 'release-requests', text: RELEASE_REQUESTS, values: [textArray(keys)] });
}
