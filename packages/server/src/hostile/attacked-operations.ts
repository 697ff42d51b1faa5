import type { Operation } from '@quotadb/http';
import { documentsOf } from '@quotadb/http';
import { apis } from '../http/ports/apis.js';

/** Everything that a server answers over HTTP, its documents too: a new operation is attacked without being named. */
export const attackedOperations: readonly Operation[] = [...apis, documentsOf(apis).api].flatMap(
  (api) => api.operations as readonly Operation[],
);

/** A path of this operation: every variable is `x`. */
export function pathOf({ path }: Operation): string {
  return path.replaceAll(/\{\+?\w+\}/g, 'x');
}
