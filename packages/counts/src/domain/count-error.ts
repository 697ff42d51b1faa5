/**
 * What can go wrong with a count, as stable codes. What each code means to an HTTP caller stands in the table of
 * problems (adapters/http/problems.ts); the domain knows no status codes.
 */
export type CountErrorCode =
  | 'invalid_item_id'
  | 'invalid_amount'
  | 'invalid_value'
  | 'count_not_found'
  | 'count_exists'
  | 'value_out_of_range'
  | 'idempotency_key_reused'
  | 'change_refused'
  | 'overloaded'
  | 'database_unavailable'
  | 'schema_unsuitable'
  | 'outcome_unknown';

export class CountError extends Error {
  readonly code: CountErrorCode;

  constructor(code: CountErrorCode, options?: ErrorOptions) {
    super(code, options);
    this.name = 'CountError';
    this.code = code;
  }
}
