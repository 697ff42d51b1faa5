import type { RequestIdentity } from '../../domain/request-identity.js';
import type { RunStatement } from './statement.js';
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

type RequestRow = readonly [
  key: string,
  fingerprint: string,
  outcome: string | null,
  value: string | null,
  createdAt: Date,
];

/**
 * The ledger of idempotency keys. All of this happens inside the transaction that makes the changes, so a key is in the
 * ledger exactly when its change is in the counts, on every instance and after every crash.
 */
export async function claimRequests(run: RunStatement, requests: readonly RequestIdentity[]): Promise<Set<string>> {
  const rows = await run<[key: string]>({
    text: CLAIM_REQUESTS,
    values: [textArray(requests.map(({ key }) => key)), textArray(requests.map(({ fingerprint }) => fingerprint))],
  });
  return new Set(rows.map(([key]) => key));
}

export async function recallRequests(
  run: RunStatement,
  keys: readonly string[],
): Promise<Map<string, RememberedRequest>> {
  if (keys.length === 0) return new Map();
  const rows = await run<RequestRow>({ text: RECALL_REQUESTS, values: [textArray(keys)] });
  const remembered = new Map<string, RememberedRequest>();
  for (const [key, fingerprint, outcome, value, createdAt] of rows) {
    // Without an outcome it is our own claim of a moment ago, made for another change of the same write.
    if (outcome === null) continue;
    remembered.set(key, { fingerprint, outcome, value: value === null ? null : BigInt(value), createdAt });
  }
  return remembered;
}

export async function rememberOutcomes(run: RunStatement, answered: readonly AnsweredRequest[]): Promise<void> {
  if (answered.length === 0) return;
  await run({
    text: REMEMBER_OUTCOMES,
    values: [
      textArray(answered.map(({ key }) => key)),
      textArray(answered.map(({ outcome }) => outcome)),
      nullableArray(answered.map(({ value }) => value)),
    ],
  });
}

export async function releaseRequests(run: RunStatement, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await run({ text: RELEASE_REQUESTS, values: [textArray(keys)] });
}
