import type { Change } from '../change.js';
import { CountError } from '../count-error.js';
import type { CountValueRepository } from '../ports/count-value-repository.js';
import type { ChangedCount } from '../ports/external-count-update-api.js';
import type { RequestIdentity } from '../request-identity.js';

/** The step that increase, decrease, reset and update share: one change, and what its outcome means to the caller. */
export async function changeCount(
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
