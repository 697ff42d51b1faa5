import type { CountsFigures, CountsObserver, WriteReport } from '@quotadb/counts';
import { DURATION_BUCKETS, durationBucket } from '@quotadb/engine';

/** Watches the way of counts to PostgreSQL; /metrics and the dashboard tell what it saw. */
export class CountsWatch implements CountsObserver {
  changesApplied = 0;
  changesFailed = 0;
  statementsFailed = 0;
  /** From the arrival of changes until they were applied, added up. */
  latencyMsTotal = 0;
  statementMsTotal = 0;
  /** Statements by how long they took. */
  readonly statementDurations = new Float64Array(DURATION_BUCKETS);
  /** Why the database could not be written to; empty once it could again. */
  trouble = '';
  /** Told of every batch; and says on whose behalf a change comes. */
  onBatch: (report: WriteReport) => void = () => {};
  currentCaller: () => unknown = () => undefined;

  caller(): unknown {
    return this.currentCaller();
  }

  wrote(report: WriteReport): void {
    const { failure, changes, milliseconds, latencyMsTotal } = report;
    this.statementDurations[durationBucket(milliseconds * 1000)]++;
    this.statementMsTotal += milliseconds;
    if (failure === undefined) {
      this.changesApplied += changes;
      this.latencyMsTotal += latencyMsTotal;
      this.trouble = '';
    } else {
      this.changesFailed += changes;
      this.statementsFailed++;
    }
    this.onBatch(report);
  }
}

/** How the database is, in a word. */
export type CountsState = 'unused' | 'fine' | 'trouble';

export function stateOfCounts({ trouble }: CountsWatch, { isInUse }: CountsFigures): CountsState {
  if (trouble !== '') return 'trouble';
  return isInUse ? 'fine' : 'unused';
}
