import type { CountsFigures } from '@quotadb/counts';
import { bucketBoundsSeconds } from '@quotadb/engine';
import { type CountsWatch, stateOfCounts } from './counts-watch.js';
import { counter, gauge, histogram, type MetricSource, samplesBy } from './metric.js';

/** Counts over HTTP and the PostgreSQL behind them; no samples before the first use. */
export const countsMetricTable = {
  quotadb_counts_up: gauge('1 while PostgreSQL takes changes of counts; absent before the first.'),
  quotadb_counts_waiting: gauge('Changes of counts that wait for a statement.'),
  quotadb_counts_statements_in_flight: gauge('Statements with changes of counts in flight.'),
  quotadb_counts_changes_total: counter('Changes of counts sent to PostgreSQL, by outcome.'),
  quotadb_counts_change_seconds_total: counter(
    'Time from the arrival of changes until they were applied; with the changes applied, the mean.',
  ),
  quotadb_counts_statement_duration_seconds: histogram(
    'Duration of a statement with changes of counts, commit included.',
  ),
  quotadb_counts_statements_failed_total: counter('Such statements that failed.'),
} satisfies MetricSource['metrics'];

export function countsMetrics(
  watch: CountsWatch,
  figures: () => CountsFigures,
): MetricSource<keyof typeof countsMetricTable> {
  return {
    metrics: countsMetricTable,
    collect() {
      const now = figures();
      const state = stateOfCounts(watch, now);
      if (state === 'unused') return {};
      return {
        quotadb_counts_up: state === 'fine' ? 1 : 0,
        quotadb_counts_waiting: now.waiting,
        quotadb_counts_statements_in_flight: now.statementsInFlight,
        quotadb_counts_changes_total: samplesBy('outcome', {
          applied: watch.changesApplied,
          failed: watch.changesFailed,
        }),
        quotadb_counts_change_seconds_total: watch.latencyMsTotal / 1000,
        quotadb_counts_statement_duration_seconds: [
          {
            value: {
              bounds: bucketBoundsSeconds,
              counts: watch.statementDurations,
              sum: watch.statementMsTotal / 1000,
            },
          },
        ],
        quotadb_counts_statements_failed_total: watch.statementsFailed,
      };
    },
  };
}
