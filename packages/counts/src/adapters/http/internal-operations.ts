import { operation } from './operation.js';
import { changedCount, countValue, countValues, initializeBody, updateBody } from './schemas.js';

const COUNTS = '/api/v1/internal/counts';
const COUNT = `${COUNTS}/{itemId}`;

export const initialize = operation({
  id: 'initialize',
  audience: 'internal',
  method: 'POST',
  path: COUNTS,
  summary: 'Create a count',
  description: 'Creates the count with its initial value (0 unless given).',
  body: { schema: initializeBody, optional: false },
  changes: true,
  success: { status: 201, description: 'The new count.', schema: countValue },
  problems: ['count_exists', 'invalid_item_id', 'invalid_value'],
  run: ({ internal }, { body, idempotencyKey }) =>
    internal.initialize(body.itemId, BigInt(body.initialValue), idempotencyKey),
});

export const getMany = operation({
  id: 'getMany',
  audience: 'internal',
  method: 'GET',
  path: COUNTS,
  summary: 'Read several counts',
  description: 'The counts that exist among the ids, each once, in the order asked. Unknown ids are left out.',
  readsMany: true,
  changes: false,
  success: { status: 200, description: 'The counts.', schema: countValues },
  problems: ['missing_item_ids', 'too_many_item_ids', 'invalid_item_id', 'unknown_parameter'],
  run: ({ internal }, { itemIds }) => internal.getMany(itemIds),
});

export const get = operation({
  id: 'get',
  audience: 'internal',
  method: 'GET',
  path: COUNT,
  summary: 'Read a count',
  description: 'The value as last committed.',
  changes: false,
  success: { status: 200, description: 'The count.', schema: countValue },
  problems: ['count_not_found'],
  run: ({ internal }, { itemId }) => internal.get(itemId),
});

export const update = operation({
  id: 'update',
  audience: 'internal',
  method: 'PUT',
  path: COUNT,
  summary: 'Set a count to a value',
  description: 'Replaces the value in one atomic step of the database.',
  body: { schema: updateBody, optional: false },
  changes: true,
  success: { status: 200, description: 'The value right after this change.', schema: changedCount },
  problems: ['count_not_found', 'invalid_value'],
  run: ({ internal }, { itemId, body, idempotencyKey }) => internal.update(itemId, BigInt(body.value), idempotencyKey),
});

export const remove = operation({
  id: 'delete',
  audience: 'internal',
  method: 'DELETE',
  path: COUNT,
  summary: 'Delete a count',
  description: 'Removes the count and everything remembered of the components that fed it.',
  changes: true,
  success: { status: 204, description: 'The count is gone.' },
  problems: ['count_not_found'],
  run: async ({ internal }, { itemId, idempotencyKey }) => {
    await internal.delete(itemId, idempotencyKey);
    return undefined;
  },
});
