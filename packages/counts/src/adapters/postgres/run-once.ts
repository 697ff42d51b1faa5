import type { ClientBase } from 'pg';
import { CountError } from '../../domain/count-error.js';
import type { RequestIdentity } from '../../domain/request-identity.js';
import { claimRequests, recallRequests, rememberOutcomes } from './request-ledger.js';
import type { RunStatement } from './statement.js';
import { inTransaction } from './transaction.js';

export interface OnceOutcome {
  readonly kind: string;
  readonly value: bigint | null;
  readonly at: Date | null;
}

/** Does the work and remembers its outcome in one transaction; or, if that has been done before, says what it was. */
export function runOnce(
  client: ClientBase,
  request: RequestIdentity,
  work: (run: RunStatement) => Promise<OnceOutcome>,
): Promise<OnceOutcome> {
  return inTransaction(client, async (run) => {
    const claimed = await claimRequests(run, [request]);
    if (claimed.size > 0) {
      const outcome = await work(run);
      await rememberOutcomes(run, [{ key: request.key, outcome: outcome.kind, value: outcome.value }]);
      return outcome;
    }
    const memory = (await recallRequests(run, [request.key])).get(request.key);
    // Nothing has been done, so the whole transaction is tried again.
    if (memory === undefined) throw new Error('the key was forgotten between two statements');
    if (memory.fingerprint !== request.fingerprint) throw new CountError('idempotency_key_reused');
    // The key and the count were written by one transaction, so its time is the count's time of creation too.
    return { kind: memory.outcome, value: memory.value, at: memory.createdAt };
  });
}
