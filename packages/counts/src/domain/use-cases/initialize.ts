import { requireValue } from '../change.js';
import { CountError } from '../count-error.js';
import { requireItemId } from '../item-id.js';
import type { CountValueRepository } from '../ports/count-value-repository.js';
import type { InternalCountValueApi } from '../ports/internal-count-value-api.js';
import { identifyRequest } from '../request-identity.js';

export function initialize(repository: CountValueRepository): InternalCountValueApi['initialize'] {
  return async (itemId, initialValue, idempotencyKey) => {
    requireItemId(itemId);
    requireValue(initialValue);
    const request = identifyRequest(idempotencyKey, 'initialize', itemId, initialValue);
    const outcome = await repository.create(itemId, initialValue, request);
    if (outcome.kind === 'exists') throw new CountError('count_exists');
    return outcome.count;
  };
}
