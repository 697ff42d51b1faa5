import { requireValue } from '../change.js';
import { requireItemId } from '../item-id.js';
import type { CountValueRepository } from '../ports/count-value-repository.js';
import type { InternalCountValueApi } from '../ports/internal-count-value-api.js';
import { identifyRequest } from '../request-identity.js';
import { changeCount } from './change-count.js';

export function update(repository: CountValueRepository): InternalCountValueApi['update'] {
  return async (itemId, value, idempotencyKey) => {
    requireItemId(itemId);
    requireValue(value);
    const request = identifyRequest(idempotencyKey, 'update', itemId, value);
    return changeCount(repository, itemId, { kind: 'assign', value }, request);
  };
}
