import { CountError } from '../count-error.js';
import { requireItemId } from '../item-id.js';
import type { CountValueRepository } from '../ports/count-value-repository.js';
import type { InternalCountValueApi } from '../ports/internal-count-value-api.js';

export function get(repository: CountValueRepository): InternalCountValueApi['get'] {
  return async (itemId) => {
    const [count] = await repository.find([requireItemId(itemId)]);
    if (count === undefined) throw new CountError('count_not_found');
    return count;
  };
}
