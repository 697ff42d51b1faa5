import { requireItemId } from '../item-id.js';
import type { CountValueRepository } from '../ports/count-value-repository.js';
import type { InternalCountValueApi } from '../ports/internal-count-value-api.js';

export function getMany(repository: CountValueRepository): InternalCountValueApi['getMany'] {
  return async (itemIds) => repository.find([...new Set(itemIds.map(requireItemId))]);
}
