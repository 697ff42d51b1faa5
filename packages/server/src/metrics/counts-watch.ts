import type { CountsFigures, CountsObserver, WriteReport } from '@quotadb/counts';
import { DURATION_BUCKETS, durationBucket } from '@quotadb/engine';

/** Counts the writes of counts to PostgreSQL, for /metrics and the dashboard. */
export class CountsWatch implements CountsObserver {
  changesApplied = 0;
  changesFailed = 0;
  statementsFailed = 0;
  /** Time from the arrival of changes until they were applied, added up. */
  latencyMsTotal = 0;
  statementMsTotal = 0;
  /** Statements by duration. */
  readonly statementDurations = new Float64Array(DURATION_BUCKETS);
  /** Why the last write to the database failed; empty after one that succeeded. */
  trouble = '';
  private readonly traces: CountsObserver | undefined;

  /** `traces` hears of every group too, and names the callers of its changes. */
  constructor(traces?: CountsObserver) {
    this.traces = traces;
  }

  caller(): unknown {
    return this.traces?.caller();
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
    this.traces?.wrote(report);
  }
}

/** The state of the database. */
type CountsState = 'unused' | 'fine' | 'trouble';

export function stateOfCounts({ trouble }: CountsWatch, { isInUse }: CountsFigures): CountsState {
  if (trouble !== '') return 'trouble';
  return isInUse ? 'fine' : 'unused';
}
