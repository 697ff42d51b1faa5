import { countsMetricTable } from './counts-metrics.js';
import { decisionMetricTable } from './decision-metrics.js';
import type { MetricSource } from './metric.js';
import { processMetricTable } from './process-metrics.js';
import { replicationMetricTable } from './replication-metrics.js';
import { serverMetricTable } from './server-metrics.js';

/**
 * Every metric there is, by the part of the server that tells it. docs/metrics.md is made from here, and what the
 * dashboards and alerts of deploy/ ask for must be here. A part that registers metrics of its own adds its table.
 */
export const metricTables: Readonly<Record<string, MetricSource['metrics']>> = {
  'Clients, commands, store and disk': serverMetricTable,
  Replication: replicationMetricTable,
  'Rate limits and quotas': decisionMetricTable,
  Counts: countsMetricTable,
  'Process and logins': processMetricTable,
};
