import type { PendingChange } from '../adapters/postgres/pending-change.js';
import type { Change } from '../domain/change.js';

/** A pending change whose caller does not listen. */
export function pendingChange(
  itemId: string,
  change: Change,
  deadlineMs = Number.MAX_SAFE_INTEGER,
  key?: string,
): PendingChange {
  return {
    itemId,
    change,
    request: key === undefined ? undefined : { key, fingerprint: '' },
    deadlineMs,
    outcomeUnknown: false,
    caller: undefined,
    succeed: () => undefined,
    fail: () => undefined,
  };
}
