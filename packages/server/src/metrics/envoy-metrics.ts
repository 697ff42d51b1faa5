import type { RateLimitQuotaService, ShouldRateLimit } from '@quotadb/envoy';
import { counter, gauge, type MetricSource, type Sample } from './metric.js';

/** Envoy's rate limit services. */
export const envoyMetricTable = {
  quotadb_rls_hits_total: counter(
    'Hits of a rule, by outcome as the reference counts them: within, near and over its limit; not_enforced were ' +
      'over a limit in shadow or quota mode.',
  ),
  quotadb_rls_unknown_domains_total: counter('Requests of domains that no file of --envoy-config has.'),
  quotadb_rls_config_loads_total: counter('Configurations that were taken over, and those that had mistakes.'),
  quotadb_rls_rules: gauge('Limits of the configuration in use.'),
  quotadb_rls_connections: gauge('Connections of proxies.'),
  quotadb_rlqs_buckets: gauge('Buckets that proxies report on.'),
  quotadb_rlqs_assignments_total: counter('Assignments to proxies: shares, and denials because no tokens were left.'),
  quotadb_rlqs_tokens_given_total: counter('Tokens in shares of proxies.'),
  quotadb_rlqs_requests_allowed_total: counter('Requests that proxies have reported as allowed.'),
} satisfies MetricSource['metrics'];

type Name = keyof typeof envoyMetricTable;

/** The parts of Envoy's services that have figures. */
export interface EnvoyFigures {
  readonly decisions: Pick<ShouldRateLimit, 'figures'>;
  readonly assignments: Pick<RateLimitQuotaService, 'figures' | 'bucketCount'>;
  readonly loads: { readonly done: number; readonly failed: number };
  readonly ruleCount: number;
  readonly connectionCount: number;
}

/** Without --rls there is nothing to show. */
export function envoyMetrics(service: EnvoyFigures | undefined): MetricSource<Name> {
  return {
    metrics: envoyMetricTable,
    collect() {
      if (service === undefined) return {};
      const { decisions, assignments, loads } = service;
      const { figures } = assignments;
      return {
        quotadb_rls_hits_total: [...decisions.figures.rules].flatMap(([rule, hits]): Sample[] => [
          { labels: { rule, outcome: 'total' }, value: hits.total },
          { labels: { rule, outcome: 'within_limit' }, value: hits.withinLimit },
          { labels: { rule, outcome: 'near_limit' }, value: hits.nearLimit },
          { labels: { rule, outcome: 'over_limit' }, value: hits.overLimit },
          { labels: { rule, outcome: 'not_enforced' }, value: hits.notEnforced },
        ]),
        quotadb_rls_unknown_domains_total: decisions.figures.unknownDomains,
        quotadb_rls_config_loads_total: [
          { labels: { outcome: 'done' }, value: loads.done },
          { labels: { outcome: 'failed' }, value: loads.failed },
        ],
        quotadb_rls_rules: service.ruleCount,
        quotadb_rls_connections: service.connectionCount,
        quotadb_rlqs_buckets: assignments.bucketCount,
        quotadb_rlqs_assignments_total: [
          { labels: { kind: 'share' }, value: figures.assigned },
          { labels: { kind: 'denial' }, value: figures.denied },
        ],
        quotadb_rlqs_tokens_given_total: figures.tokensGiven,
        quotadb_rlqs_requests_allowed_total: figures.tokensUsed,
      };
    },
  };
}
