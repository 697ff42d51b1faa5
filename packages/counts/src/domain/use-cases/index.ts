import type { CountValueRepository } from '../ports/count-value-repository.js';
import type { ExternalCountUpdateApi } from '../ports/external-count-update-api.js';
import type { InternalCountValueApi } from '../ports/internal-count-value-api.js';
import { decrease } from './decrease.js';
import { get } from './get.js';
import { getMany } from './get-many.js';
import { increase } from './increase.js';
import { initialize } from './initialize.js';
import { remove } from './remove.js';
import { reset } from './reset.js';
import { update } from './update.js';

export function externalCountUpdateApi(repository: CountValueRepository): ExternalCountUpdateApi {
  return { increase: increase(repository), decrease: decrease(repository), reset: reset(repository) };
}

export function internalCountValueApi(repository: CountValueRepository): InternalCountValueApi {
  return {
    initialize: initialize(repository),
    get: get(repository),
    getMany: getMany(repository),
    update: update(repository),
    delete: remove(repository),
  };
}
