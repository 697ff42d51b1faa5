import { requireItemId } from '../item-id.js';
import type { CountValueRepository } from '../ports/count-value-repository.js';
import type { ExternalCountUpdateApi } from '../ports/external-count-update-api.js';
import { identifyRequest } from '../request-identity.js';
import { changeCount } from './change-count.js';

export function reset(repository: CountValueRepository): ExternalCountUpdateApi['reset'] {
  return async (itemId, idempotencyKey) => {
    requireItemId(itemId);
    const request = identifyRequest(idempotencyKey, 'reset', itemId, '');
    return changeCount(repository, itemId, { kind: 'assign', value: 0n }, request);
  };
}
