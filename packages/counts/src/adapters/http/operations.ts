import { type Operation, operationsOf } from '@quotadb/http';
import type { CountValue } from '../../domain/count-value.js';
import type { ExternalCountUpdateApi } from '../../domain/ports/external-count-update-api.js';
import type { InternalCountValueApi } from '../../domain/ports/internal-count-value-api.js';
import type { CountsCaller } from './counts-tokens.js';
import { countProblems } from './problems.js';
import {
  amountBody,
  changedCount,
  countValue,
  countValues,
  emptyBody,
  idempotencyHeader,
  initializeBody,
  itemIdParameter,
  itemIdsQuery,
  MAX_QUERY_BYTES,
  noQuery,
  queryBody,
  updateBody,
} from './schemas.js';

/** The use cases, for systems that count and for systems that manage counts. */
export interface CountUseCases {
  readonly external: ExternalCountUpdateApi;
  readonly internal: InternalCountValueApi;
}

const COUNTS = '/api/v1/internal/counts';
const operation = operationsOf<CountUseCases, CountsCaller>();

const { overloaded, database_unavailable, count_not_found, value_out_of_range } = countProblems;
const { schema_unsuitable, idempotency_key_reused, change_refused, outcome_unknown } = countProblems;
const readProblems = [overloaded, database_unavailable, schema_unsuitable, countProblems.key_forbidden];
const { missing_item_ids, too_many_item_ids, invalid_item_id } = countProblems;
const manyProblems = [...readProblems, missing_item_ids, too_many_item_ids, invalid_item_id];
const changeProblems = [...readProblems, idempotency_key_reused, change_refused, outcome_unknown];

const managing = { roles: ['manage counts'], query: noQuery } as const;
const changed = { description: 'The value right after this change.', schema: changedCount };
const counting = {
  method: 'POST',
  roles: ['count'],
  parameters: itemIdParameter,
  query: noQuery,
  headers: idempotencyHeader,
  success: changed,
} as const;
const adding = {
  ...counting,
  body: { schema: amountBody, isOptional: true },
  problems: [...changeProblems, count_not_found, value_out_of_range],
};

/** For systems that count. */
export const externalOperations: readonly Operation<CountUseCases, CountsCaller>[] = [
  operation({
    ...adding,
    id: 'increase',
    path: '/api/v1/counts/{itemId}/increase',
    summary: 'Increase a count',
    description: 'Adds the amount (1 without a body) in one atomic step of the database.',
    run: ({ external }, { path, body, headers }) =>
      external.increase(path.itemId, BigInt(body.amount), headers['Idempotency-Key']),
  }),
  operation({
    ...adding,
    id: 'decrease',
    path: '/api/v1/counts/{itemId}/decrease',
    summary: 'Decrease a count',
    description:
      'Subtracts the amount (1 without a body) in one atomic step of the database. Counts may become negative.',
    run: ({ external }, { path, body, headers }) =>
      external.decrease(path.itemId, BigInt(body.amount), headers['Idempotency-Key']),
  }),
  operation({
    ...counting,
    id: 'reset',
    path: '/api/v1/counts/{itemId}/reset',
    summary: 'Reset a count to zero',
    description: 'Sets the value to 0 in one atomic step of the database.',
    body: { schema: emptyBody, isOptional: true },
    problems: [...changeProblems, count_not_found],
    run: ({ external }, { path, headers }) => external.reset(path.itemId, headers['Idempotency-Key']),
  }),
];

/** For systems that manage counts. */
export const internalOperations: readonly Operation<CountUseCases, CountsCaller>[] = [
  operation({
    ...managing,
    id: 'initialize',
    method: 'POST',
    path: COUNTS,
    summary: 'Create a count',
    description: 'Creates the count with its initial value (0 unless given).',
    headers: idempotencyHeader,
    body: { schema: initializeBody },
    success: {
      status: 201,
      description: 'The new count.',
      schema: countValue,
      location: ({ itemId }: CountValue) => `${COUNTS}/${encodeURIComponent(itemId)}`,
    },
    problems: [...changeProblems, countProblems.count_exists],
    run: ({ internal }, { body, headers }) =>
      internal.initialize(body.itemId, BigInt(body.initialValue), headers['Idempotency-Key']),
  }),
  operation({
    ...managing,
    id: 'getMany',
    method: 'GET',
    path: COUNTS,
    summary: 'Read several counts',
    description: 'The counts that exist among the ids, each once, in the order asked. Unknown ids are left out.',
    query: itemIdsQuery,
    success: { description: 'The counts.', schema: countValues },
    problems: manyProblems,
    run: ({ internal }, { query }) => internal.getMany(query.itemIds),
  }),
  operation({
    ...managing,
    id: 'query',
    method: 'POST',
    path: `${COUNTS}/query`,
    summary: 'Read several counts, named in the body',
    description: 'The same as with GET, for more ids, or longer ones, than an address can hold.',
    body: { schema: queryBody, maximumBytes: MAX_QUERY_BYTES },
    success: { description: 'The counts.', schema: countValues },
    problems: manyProblems,
    run: ({ internal }, { body }) => internal.getMany(body.itemIds),
  }),
  operation({
    ...managing,
    id: 'get',
    method: 'GET',
    path: `${COUNTS}/{itemId}`,
    summary: 'Read a count',
    description: 'The value as last committed.',
    parameters: itemIdParameter,
    success: { description: 'The count.', schema: countValue },
    problems: [...readProblems, count_not_found],
    run: ({ internal }, { path }) => internal.get(path.itemId),
  }),
  operation({
    ...managing,
    id: 'update',
    method: 'PUT',
    path: `${COUNTS}/{itemId}`,
    summary: 'Set a count to a value',
    description: 'Replaces the value in one atomic step of the database.',
    parameters: itemIdParameter,
    headers: idempotencyHeader,
    body: { schema: updateBody },
    success: changed,
    problems: [...changeProblems, count_not_found],
    run: ({ internal }, { path, body, headers }) =>
      internal.update(path.itemId, BigInt(body.value), headers['Idempotency-Key']),
  }),
  operation({
    ...managing,
    id: 'delete',
    method: 'DELETE',
    path: `${COUNTS}/{itemId}`,
    summary: 'Delete a count',
    description: 'Removes the count and everything remembered of the components that fed it.',
    parameters: itemIdParameter,
    headers: idempotencyHeader,
    success: { status: 204, description: 'The count is gone.' },
    problems: [...changeProblems, count_not_found],
    run: ({ internal }, { path, headers }) => internal.delete(path.itemId, headers['Idempotency-Key']),
  }),
];
