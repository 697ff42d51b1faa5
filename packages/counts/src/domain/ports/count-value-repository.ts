import type { Change } from '../change.js';
import type { CountValue } from '../count-value.js';
import type { RequestIdentity } from '../request-identity.js';

export type CreateOutcome = { readonly kind: 'created'; readonly count: CountValue } | { readonly kind: 'exists' };

export type ChangeOutcome =
  | { readonly kind: 'changed'; readonly value: bigint }
  | { readonly kind: 'missing' }
  | { readonly kind: 'overflow' };

export type RemoveOutcome = { readonly kind: 'removed' } | { readonly kind: 'missing' };

/**
 * Where counts are kept. Every change is one atomic step of the store, never a read followed by a write. With a request
 * identity, the change and the memory of having made it are one step too: the same request again gets the first
 * outcome.
 *
 * Failures are CountErrors: `overloaded`, `database_unavailable` and `change_refused` promise that nothing was applied,
 * `outcome_unknown` says that neither is known, `idempotency_key_reused` that the key belongs to another request.
 */
export interface CountValueRepository {
  create(itemId: string, initialValue: bigint, request?: RequestIdentity): Promise<CreateOutcome>;
  /** The counts that exist among these ids, in the order asked. */
  find(itemIds: readonly string[]): Promise<CountValue[]>;
  /** Counts whose ids begin with `prefix` and come behind `after`, in the order of their bytes, at most `most`. */
  list(prefix: string, after: string, most: number): Promise<CountValue[]>;
  change(itemId: string, change: Change, request?: RequestIdentity): Promise<ChangeOutcome>;
  remove(itemId: string, request?: RequestIdentity): Promise<RemoveOutcome>;
}
