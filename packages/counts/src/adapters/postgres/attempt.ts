import { CountError } from '../../domain/count-error.js';
import { SchemaError } from './adopt.js';
import { QUEUE_DEADLINE_MS } from './bounds.js';
import { classifyFailure } from './failure.js';
import { pauseMs } from './pause.js';
import { NotCommittedError } from './transaction.js';

/**
 * The effect of a step on the database. A step that certainly was not applied is always tried again; one that may have
 * been, only if that is harmless: a read, or a step whose idempotency key makes it happen once.
 */
export type StepKind = 'read' | 'keyed' | 'plain';

/** Tries a step until it succeeds, its time is over, or it must not be tried again. */
export async function attempt<Result>(kind: StepKind, step: () => Promise<Result>): Promise<Result> {
  const deadlineMs = performance.now() + QUEUE_DEADLINE_MS;
  let mayHaveHappened = false;
  for (let failures = 0; ; failures++) {
    try {
      return await step();
    } catch (error) {
      if (error instanceof CountError) throw error;
      const { cause } = error as Error;
      if (cause instanceof SchemaError) throw new CountError('schema_unsuitable', { cause });
      const failure = error instanceof NotCommittedError ? 'transient' : classifyFailure(error);
      if (failure === 'unknown' && kind !== 'read') mayHaveHappened = true;
      const pause = pauseMs(failure, failures);
      const again = failure !== 'refused' && (failure !== 'unknown' || kind !== 'plain');
      if (!again || performance.now() + pause > deadlineMs) {
        const isRefused = failure === 'refused' && !mayHaveHappened;
        const code = mayHaveHappened ? 'outcome_unknown' : isRefused ? 'change_refused' : 'database_unavailable';
        throw new CountError(code, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}
