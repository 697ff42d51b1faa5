import { QUEUE_DEADLINE_MS } from './bounds.js';
import type { GroupedWrite } from './change-queue.js';
import type { Failure } from './failure.js';

/** What became of one grouped write: one statement, or one transaction where they have idempotency keys. */
export interface WriteReport {
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

/** Keeps figures of the way to the database. Must not throw. */
export interface CountsObserver {
  /** On whose behalf a change comes; kept with it until its write is reported. */
  caller(): unknown;
  wrote(report: WriteReport): void;
}

export interface CountsFigures {
  /** Changes that wait for a statement. */
  readonly waiting: number;
  readonly statementsInFlight: number;
  /** Whether the database has been needed so far. */
  readonly isInUse: boolean;
  readonly isEmbedded: boolean;
}

const MAXIMUM_CALLERS = 32;

export function reportWrite(
  observer: CountsObserver,
  { keyed, groups }: GroupedWrite,
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
  observer.wrote({
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
