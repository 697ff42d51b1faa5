import { defineProblems } from '@quotadb/http';
import type { CountErrorCode } from '../../domain/count-error.js';

/** Problems that only exist because the caller speaks HTTP. */
type HttpErrorCode = 'missing_item_ids' | 'too_many_item_ids' | 'invalid_idempotency_key';

const RETRY_AFTER_SECONDS = 1;

/** The problems that requests for counts can have, beyond those of any request (see @quotadb/http). */
export const countProblems = defineProblems({
  invalid_item_id: {
    status: 400,
    title: 'Invalid item id',
    detail: 'An item id is 1 to 255 characters of text without control characters, and neither "." nor "..".',
  },
  invalid_amount: {
    status: 400,
    title: 'Invalid amount',
    detail: 'The amount must be an integer from 0 to 9223372036854775807.',
  },
  invalid_value: {
    status: 400,
    title: 'Invalid value',
    detail: 'The value must be an integer from -9223372036854775808 to 9223372036854775807.',
  },
  missing_item_ids: {
    status: 400,
    title: 'No item ids',
    detail: 'Name the counts to read: ?itemIds=one&itemIds=two.',
  },
  too_many_item_ids: {
    status: 400,
    title: 'Too many item ids',
    detail: 'At most 1000 counts can be read by one request, and its headers have at most 16 KB: about 350 UUIDs.',
  },
  invalid_idempotency_key: {
    status: 400,
    title: 'Invalid idempotency key',
    detail: 'The Idempotency-Key header must be 1 to 255 visible ASCII characters.',
  },
  count_not_found: {
    status: 404,
    title: 'No such count',
    detail: 'There is no count with this item id. Nothing was changed.',
  },
  count_exists: {
    status: 409,
    title: 'The count exists',
    detail: 'There is a count with this item id already. Nothing was changed.',
  },
  value_out_of_range: {
    status: 409,
    title: 'Value out of range',
    detail: 'The count would leave the 64-bit range. Nothing was changed.',
  },
  change_refused: {
    status: 409,
    title: 'Change refused',
    detail: 'The database does not accept this change; a rule was added to its table. Nothing was changed.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'Idempotency key reused',
    detail: 'This Idempotency-Key was used for a different request. Nothing was changed.',
  },
  overloaded: {
    status: 503,
    title: 'Overloaded',
    detail: 'Too many requests are waiting for the database. Nothing was changed.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  },
  database_unavailable: {
    status: 503,
    title: 'Database unavailable',
    detail: 'The database could not be reached in time. Nothing was changed.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  },
  outcome_unknown: {
    status: 504,
    title: 'Outcome unknown',
    detail:
      'The connection to the database was lost while the change was being made: it may or may not have been applied. ' +
      'With an Idempotency-Key the same request can safely be repeated; without one, read the count first.',
  },
} satisfies Record<CountErrorCode | HttpErrorCode, unknown>);
