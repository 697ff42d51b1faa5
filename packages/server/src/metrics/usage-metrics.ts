import type { UsageExporter } from '@quotadb/usage';
import { counter, gauge, type MetricSource, type Samples } from './metric.js';

/** The export of what was taken from quotas; absent without --usage-export. */
export const usageMetricTable = {
  quotadb_usage_export_up: gauge('1 while the last delivery of usage succeeded; absent without --usage-export.'),
  quotadb_usage_export_lag_seconds: gauge('Time since the end of the oldest window whose usage is not delivered.'),
  quotadb_usage_export_events_total: counter('Events of usage delivered.'),
  quotadb_usage_export_failures_total: counter('Deliveries of usage that failed and are tried again.'),
  quotadb_usage_export_spool_bytes: gauge('Usage that waits on disk for its delivery.'),
} satisfies MetricSource['metrics'];

type Name = keyof typeof usageMetricTable;

export function usageMetrics(exporter: UsageExporter | undefined): MetricSource<Name> {
  return {
    metrics: usageMetricTable,
    collect(): Samples<Name> {
      if (exporter === undefined) return {};
      const { events, failures, isUp } = exporter.figures;
      return {
        quotadb_usage_export_up: isUp ? 1 : 0,
        quotadb_usage_export_lag_seconds: exporter.lagMs / 1000,
        quotadb_usage_export_events_total: events,
        quotadb_usage_export_failures_total: failures,
        quotadb_usage_export_spool_bytes: exporter.spoolBytes,
      };
    },
  };
}
