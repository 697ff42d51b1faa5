import { type Change, requireAmount, requireValue } from '../change.js';
import { CountError } from '../count-error.js';
import { requireItemId } from '../item-id.js';
import type { CountValueRepository } from '../ports/count-value-repository.js';
import type { ChangedCount, ExternalCountUpdateApi } from '../ports/external-count-update-api.js';
import type { InternalCountValueApi } from '../ports/internal-count-value-api.js';
import { identifyRequest, type RequestIdentity } from '../request-identity.js';

export function externalCountUpdateApi(repository: CountValueRepository): ExternalCountUpdateApi {
  return {
    async increase(itemId, amount, key) {
      const request = identifyRequest(key, 'increase', requireItemId(itemId), requireAmount(amount));
      return changeCount(repository, itemId, { kind: 'add', amount }, request);
    },
    async decrease(itemId, amount, key) {
      const request = identifyRequest(key, 'decrease', requireItemId(itemId), requireAmount(amount));
      return changeCount(repository, itemId, { kind: 'add', amount: -amount }, request);
    },
    async reset(itemId, key) {
      const request = identifyRequest(key, 'reset', requireItemId(itemId), '');
      return changeCount(repository, itemId, { kind: 'assign', value: 0n }, request);
    },
  };
}

export function internalCountValueApi(repository: CountValueRepository): InternalCountValueApi {
  return {
    async initialize(itemId, initialValue, key) {
      const request = identifyRequest(key, 'initialize', requireItemId(itemId), requireValue(initialValue));
      const outcome = await repository.create(itemId, initialValue, request);
      if (outcome.kind === 'exists') throw new CountError('count_exists');
      return outcome.count;
    },
    async get(itemId) {
      const [count] = await repository.find([requireItemId(itemId)]);
      if (count === undefined) throw new CountError('count_not_found');
      return count;
    },
    getMany: async (itemIds) => repository.find([...new Set(itemIds.map(requireItemId))]),
    list: (prefix, after, most) => repository.list(prefix, after, most),
    async update(itemId, value, key) {
      const request = identifyRequest(key, 'update', requireItemId(itemId), requireValue(value));
      return changeCount(repository, itemId, { kind: 'assign', value }, request);
    },
    async delete(itemId, key) {
      const request = identifyRequest(key, 'delete', requireItemId(itemId), '');
      const outcome = await repository.remove(itemId, request);
      if (outcome.kind === 'missing') throw new CountError('count_not_found');
    },
  };
}

/** The step that increase, decrease, reset and update share: one change, and what its outcome means to the caller. */
async function changeCount(
  repository: CountValueRepository,
  itemId: string,
  change: Change,
  request: RequestIdentity | undefined,
): Promise<ChangedCount> {
  const outcome = await repository.change(itemId, change, request);
  switch (outcome.kind) {
    case 'changed':
      return { itemId, value: outcome.value };
    case 'missing':
      throw new CountError('count_not_found');
    case 'overflow':
      throw new CountError('value_out_of_range');
  }
}
