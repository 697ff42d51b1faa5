import { operation } from './operation.js';
import { amountBody, changedCount, emptyBody } from './schemas.js';

const changed = { status: 200, description: 'The value right after this change.', schema: changedCount };

export const increase = operation({
  id: 'increase',
  audience: 'external',
  method: 'POST',
  path: '/api/v1/counts/{itemId}/increase',
  summary: 'Increase a count',
  description: 'Adds the amount (1 without a body) in one atomic step of the database.',
  body: { schema: amountBody, optional: true },
  changes: true,
  success: changed,
  problems: ['count_not_found', 'invalid_amount', 'value_out_of_range'],
  run: ({ external }, { itemId, body, idempotencyKey }) =>
    external.increase(itemId, BigInt(body.amount), idempotencyKey),
});

export const decrease = operation({
  id: 'decrease',
  audience: 'external',
  method: 'POST',
  path: '/api/v1/counts/{itemId}/decrease',
  summary: 'Decrease a count',
  description:
    'Subtracts the amount (1 without a body) in one atomic step of the database. Counts may become negative.',
  body: { schema: amountBody, optional: true },
  changes: true,
  success: changed,
  problems: ['count_not_found', 'invalid_amount', 'value_out_of_range'],
  run: ({ external }, { itemId, body, idempotencyKey }) =>
    external.decrease(itemId, BigInt(body.amount), idempotencyKey),
});

export const reset = operation({
  id: 'reset',
  audience: 'external',
  method: 'POST',
  path: '/api/v1/counts/{itemId}/reset',
  summary: 'Reset a count to zero',
  description: 'Sets the value to 0 in one atomic step of the database.',
  body: { schema: emptyBody, optional: true },
  changes: true,
  success: changed,
  problems: ['count_not_found'],
  run: ({ external }, { itemId, idempotencyKey }) => external.reset(itemId, idempotencyKey),
});
