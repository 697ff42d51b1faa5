import type { CountErrorCode } from '../../domain/count-error.js';

export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** What the caller can do about it. */
  readonly detail: string;
  /** Nothing was applied (or the key makes it safe), so the same request may be sent again after this long. */
  readonly retryAfterSeconds?: number;
}

/** Problems that only exist because the caller speaks HTTP. */
type HttpErrorCode =
  | 'malformed_json'
  | 'invalid_body'
  | 'unknown_field'
  | 'unknown_parameter'
  | 'missing_item_ids'
  | 'too_many_item_ids'
  | 'invalid_idempotency_key'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'unauthenticated'
  | 'wrong_role'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'internal_error';

export type ProblemCode = CountErrorCode | HttpErrorCode;

const RETRY_AFTER_SECONDS = 1;

/** Every problem the service can answer with (RFC 9457). Codes are stable: programs may rely on them, not on the words. */
export const problems: Readonly<Record<ProblemCode, ProblemKind>> = {
  malformed_json: {
    status: 400,
    title: 'Malformed JSON',
    detail: 'The request body is not a JSON document in UTF-8.',
  },
  invalid_body: {
    status: 400,
    title: 'Invalid request body',
    detail: 'The request body does not have the form this operation takes.',
  },
  unknown_field: {
    status: 400,
    title: 'Unknown field',
    detail: 'The request body has a field that this operation does not know.',
  },
  unknown_parameter: {
    status: 400,
    title: 'Unknown query parameter',
    detail: 'The query has a parameter that this operation does not know.',
  },
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
  unauthenticated: {
    status: 401,
    title: 'Not authenticated',
    detail: 'Send a token that this service knows: "Authorization: Bearer …".',
  },
  wrong_role: {
    status: 403,
    title: 'Not allowed',
    detail: 'This token is not for this part of the API.',
  },
  route_not_found: {
    status: 404,
    title: 'No such resource',
    detail: 'There is nothing at this address.',
  },
  count_not_found: {
    status: 404,
    title: 'No such count',
    detail: 'There is no count with this item id. Nothing was changed.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    detail: 'The Allow header names the methods of this resource.',
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
  body_too_large: {
    status: 413,
    title: 'Body too large',
    detail: 'The request body is larger than 16 KiB.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    detail: 'The request body must be application/json, without a content encoding.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'Idempotency key reused',
    detail: 'This Idempotency-Key was used for a different request. Nothing was changed.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    detail: 'The service failed in a way that was not foreseen. It has been logged.',
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
};
