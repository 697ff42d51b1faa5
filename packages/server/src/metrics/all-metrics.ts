import type { CountsFigures } from '@quotadb/counts';
import type { UsageExporter } from '@quotadb/usage';
import { type ClusterSource, clusterMetrics, clusterMetricTable } from './cluster-metrics.js';
import { countsMetrics, countsMetricTable } from './counts-metrics.js';
import type { CountsWatch } from './counts-watch.js';
import { type DecisionMetricsOptions, decisionMetrics, decisionMetricTable } from './decision-metrics.js';
import { type EnvoyFigures, envoyMetrics, envoyMetricTable } from './envoy-metrics.js';
import type { MetricSource } from './metric.js';
import { processMetricTable } from './process-metrics.js';
import { MetricRegistry } from './registry.js';
import { type ReplicationMetricsOptions, replicationMetrics, replicationMetricTable } from './replication-metrics.js';
import { type ServerMetricsOptions, serverMetrics, serverMetricTable } from './server-metrics.js';
import { usageMetrics, usageMetricTable } from './usage-metrics.js';

/** Every metric, by part of the server. docs/metrics.md is made from here; deploy/ may use no other metrics. */
export const metricTables: Readonly<Record<string, MetricSource['metrics']>> = {
  'Clients, commands, store and disk': serverMetricTable,
  Replication: replicationMetricTable,
  Cluster: clusterMetricTable,
  'Rate limits and quotas': decisionMetricTable,
  'Usage export': usageMetricTable,
  "Envoy's rate limit services": envoyMetricTable,
  Counts: countsMetricTable,
  'Process and logins': processMetricTable,
};

interface MetricsOptions extends ServerMetricsOptions, DecisionMetricsOptions, ReplicationMetricsOptions {
  readonly countsWatch: CountsWatch;
  readonly counts: () => CountsFigures;
  readonly process: MetricSource;
  readonly usage: UsageExporter | undefined;
  /** Undefined without --cluster-map and --etcd. */
  readonly cluster: ClusterSource | undefined;
  /** Undefined without --rls. */
  readonly envoy: EnvoyFigures | undefined;
}

export function createMetrics(options: MetricsOptions): MetricRegistry {
  return new MetricRegistry([
    serverMetrics(options),
    replicationMetrics(options),
    decisionMetrics(options),
    envoyMetrics(options.envoy),
    countsMetrics(options.countsWatch, options.counts),
    options.process,
    usageMetrics(options.usage),
    clusterMetrics(options.cluster),
  ]);
}
