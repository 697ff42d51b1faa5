import type { RateLimitQuotaService, ShouldRateLimit } from '@quotadb/envoy';
import { counter, gauge, type MetricSource, samplesBy } from './metric.js';

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
        quotadb_rls_hits_total: [...decisions.figures.rules].flatMap(([rule, hits]) => {
          const { total, withinLimit, nearLimit, overLimit, notEnforced } = hits;
          const outcomes = { total, within_limit: withinLimit, near_limit: nearLimit, over_limit: overLimit };
          return samplesBy('outcome', { ...outcomes, not_enforced: notEnforced }, { rule });
        }),
        quotadb_rls_unknown_domains_total: decisions.figures.unknownDomains,
        quotadb_rls_config_loads_total: samplesBy('outcome', loads),
        quotadb_rls_rules: service.ruleCount,
        quotadb_rls_connections: service.connectionCount,
        quotadb_rlqs_buckets: assignments.bucketCount,
        quotadb_rlqs_assignments_total: samplesBy('kind', { share: figures.assigned, denial: figures.denied }),
        quotadb_rlqs_tokens_given_total: figures.tokensGiven,
        quotadb_rlqs_requests_allowed_total: figures.tokensUsed,
      };
    },
  };
}
