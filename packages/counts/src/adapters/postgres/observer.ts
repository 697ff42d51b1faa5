import { QUEUE_DEADLINE_MS } from './bounds.js';
import type { Batch } from './change-queue.js';
import type { Failure } from './failure.js';

/** What became of one batch of changes: one statement, or one transaction where they have idempotency keys. */
export interface BatchReport {
  readonly keyed: boolean;
  readonly items: number;
  readonly changes: number;
  /** By performance.now. */
  readonly startedAtMs: number;
  readonly milliseconds: number;
  /** From the arrival of each change until now, added up. */
  readonly latencyMsTotal: number;
  readonly failure: Failure | undefined;
  /** What `caller` said when the changes came, without those for which it said nothing; at most MAXIMUM_CALLERS. */
  readonly callers: readonly unknown[];
}

/** Somebody who keeps figures of the way to the database. Must not throw. */
export interface CountsObserver {
  /** On whose behalf a change comes; kept with it until its batch is told of. */
  caller(): unknown;
  batch(report: BatchReport): void;
}

export interface CountsFigures {
  /** Changes that wait for a statement. */
  readonly waiting: number;
  readonly statementsInFlight: number;
  /** Whether anybody has needed the database so far. */
  readonly isInUse: boolean;
  readonly isEmbedded: boolean;
}

const MAXIMUM_CALLERS = 32;

export function reportBatch(
  observer: CountsObserver,
  { keyed, groups }: Batch,
  startedAtMs: number,
  failure: Failure | undefined,
): void {
  const nowMs = performance.now();
  let changes = 0;
  let latencyMsTotal = 0;
  const callers: unknown[] = [];
  for (const group of groups) {
    changes += group.length;
    for (const { deadlineMs, caller } of group) {
      latencyMsTotal += nowMs - (deadlineMs - QUEUE_DEADLINE_MS);
      if (caller !== undefined && callers.length < MAXIMUM_CALLERS) callers.push(caller);
    }
  }
  const milliseconds = nowMs - startedAtMs;
  observer.batch({
    keyed,
    items: groups.length,
    changes,
    startedAtMs,
    milliseconds,
    latencyMsTotal,
    failure,
    callers,
  });
}
