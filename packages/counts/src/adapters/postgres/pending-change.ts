import type { Change } from '../../domain/change.js';
import { CountError } from '../../domain/count-error.js';
import type { ChangeOutcome } from '../../domain/ports/count-value-repository.js';
import type { RequestIdentity } from '../../domain/request-identity.js';

/** A caller's change on its way to the database, and the caller's promise. */
export interface PendingChange {
  readonly itemId: string;
  readonly change: Change;
  readonly request: RequestIdentity | undefined;
  /**
   * When the caller gets the answer that the database could not be reached, unless the change has been sent by then.
   */
  readonly deadlineMs: number;
  /**
   * Set once a keyed change has been sent without an answer: giving up on it is then no proof that it did not happen.
   */
  outcomeUnknown: boolean;
  /** On whose behalf, for the observer; see CountsObserver. */
  readonly caller: unknown;
  readonly succeed: (outcome: ChangeOutcome) => void;
  readonly fail: (error: CountError) => void;
}

/** Its time is over and nothing of it is in flight. */
export function failExpired(pending: PendingChange): void {
  pending.fail(new CountError(pending.outcomeUnknown ? 'outcome_unknown' : 'database_unavailable'));
}

/** Waiting would not help. */
export function failObstructed(pending: PendingChange, obstacle: Error): void {
  if (pending.outcomeUnknown) failExpired(pending);
  else pending.fail(new CountError('schema_unsuitable', { cause: obstacle }));
}
