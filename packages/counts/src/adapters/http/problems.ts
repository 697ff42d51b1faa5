import { defineProblems, ProblemError } from '@quotadb/http';
import { CountError, type CountErrorCode } from '../../domain/count-error.js';

/** Problems that only exist because the caller speaks HTTP. */
type HttpErrorCode = 'missing_item_ids' | 'too_many_item_ids' | 'invalid_idempotency_key' | 'key_forbidden';

const RETRY_AFTER_SECONDS = 1;

/** The problems that requests for counts can have, beyond those of any request (see @quotadb/http). */
export const countProblems = defineProblems<CountErrorCode | HttpErrorCode>({
  invalid_item_id: [
    400,
    'Invalid item id',
    'An item id is 1 to 255 characters of text without control characters, and neither "." nor "..".',
  ],
  invalid_amount: [400, 'Invalid amount', 'The amount must be an integer from 0 to 9223372036854775807.'],
  invalid_value: [
    400,
    'Invalid value',
    'The value must be an integer from -9223372036854775808 to 9223372036854775807.',
  ],
  missing_item_ids: [400, 'No item ids', 'Name the counts to read: ?itemIds=one&itemIds=two.'],
  too_many_item_ids: [400, 'Too many item ids', 'At most 1000 counts can be read by one request.'],
  invalid_idempotency_key: [
    400,
    'Invalid idempotency key',
    'The Idempotency-Key header must be 1 to 255 visible ASCII characters.',
  ],
  key_forbidden: [403, 'Item id forbidden', 'The key prefixes of this user do not cover that item id.'],
  count_not_found: [404, 'No such count', 'There is no count with this item id. Nothing was changed.'],
  count_exists: [409, 'The count exists', 'There is a count with this item id already. Nothing was changed.'],
  value_out_of_range: [409, 'Value out of range', 'The count would leave the 64-bit range. Nothing was changed.'],
  change_refused: [
    409,
    'Change refused',
    'The database does not accept this change; a rule was added to its table. Nothing was changed.',
  ],
  idempotency_key_reused: [
    422,
    'Idempotency key reused',
    'This Idempotency-Key was used for a different request. Nothing was changed.',
  ],
  overloaded: [
    503,
    'Overloaded',
    'Too many requests are waiting for the database. Nothing was changed.',
    RETRY_AFTER_SECONDS,
  ],
  database_unavailable: [
    503,
    'Database unavailable',
    'The database could not be reached in time. Nothing was changed.',
    RETRY_AFTER_SECONDS,
  ],
  schema_unsuitable: [
    503,
    'Schema unsuitable',
    'The database has a schema that this server cannot use, and its log says why. Nothing was changed.',
  ],
  outcome_unknown: [
    504,
    'Outcome unknown',
    'The connection to the database was lost while the change was being made: it may or may not have been applied. ' +
      'With an Idempotency-Key the same request can safely be repeated; without one, read the count first.',
  ],
});

/** Undefined for a fault that is none of a count's. */
export function problemOfError(error: unknown): ProblemError | undefined {
  return error instanceof CountError ? problemOfCount(error) : undefined;
}

/** A caller can do nothing about the schema, but will ask an operator who can: the reason is in the answer. */
export function problemOfCount({ code, cause }: CountError): ProblemError {
  const isExplained = code === 'schema_unsuitable' && cause instanceof Error;
  return new ProblemError(countProblems[code], isExplained ? { detail: `Nothing was changed: ${cause.message}` } : {});
}
