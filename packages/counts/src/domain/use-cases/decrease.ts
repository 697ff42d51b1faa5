import { requireAmount } from '../change.js';
import { requireItemId } from '../item-id.js';
import type { CountValueRepository } from '../ports/count-value-repository.js';
import type { ExternalCountUpdateApi } from '../ports/external-count-update-api.js';
import { identifyRequest } from '../request-identity.js';
import { changeCount } from './change-count.js';

export function decrease(repository: CountValueRepository): ExternalCountUpdateApi['decrease'] {
  return async (itemId, amount, idempotencyKey) => {
    requireItemId(itemId);
    requireAmount(amount);
    const request = identifyRequest(idempotencyKey, 'decrease', itemId, amount);
    return changeCount(repository, itemId, { kind: 'add', amount: -amount }, request);
  };
}
