import { requireAmount } from '../change.js';
import { requireItemId } from '../item-id.js';
import type { CountValueRepository } from '../ports/count-value-repository.js';
import type { ExternalCountUpdateApi } from '../ports/external-count-update-api.js';
import { identifyRequest } from '../request-identity.js';
import { changeCount } from './change-count.js';

export function increase(repository: CountValueRepository): ExternalCountUpdateApi['increase'] {
  return async (itemId, amount, idempotencyKey) => {
    requireItemId(itemId);
    requireAmount(amount);
    const request = identifyRequest(idempotencyKey, 'increase', itemId, amount);
    return changeCount(repository, itemId, { kind: 'add', amount: amount }, request);
  };
}
