import { CountError } from '../count-error.js';
import { requireItemId } from '../item-id.js';
import type { CountValueRepository } from '../ports/count-value-repository.js';
import type { InternalCountValueApi } from '../ports/internal-count-value-api.js';
import { identifyRequest } from '../request-identity.js';

/** The use case Delete; `delete` is no name for a function. */
export function remove(repository: CountValueRepository): InternalCountValueApi['delete'] {
  return async (itemId, idempotencyKey) => {
    requireItemId(itemId);
    const request = identifyRequest(idempotencyKey, 'delete', itemId, '');
    const outcome = await repository.remove(itemId, request);
    if (outcome.kind === 'missing') throw new CountError('count_not_found');
  };
}
