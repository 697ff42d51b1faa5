import type { Policy } from '@quotadb/quota';
import type { Figures } from '@quotadb/resp';
import type { WatchedFileFigures } from '../files/watched-file.js';
import type { FlowCounts, RefillCounts, TokenFigures } from '../quotas/token-figures.js';
import type { Decisions } from './decisions.js';
import { counter, gauge, type MetricSource, type Sample, type Samples, samplesBy } from './metric.js';

/** Rate decisions, takes from quotas, and the flow of tokens between regions. */
export const decisionMetricTable = {
  quotadb_rate_decisions_total: counter('Rate decisions, by outcome.'),
  quotadb_limit_decisions_total: counter(
    'Decisions of a limit of the catalogue: allowed, denied, or shadow-denied, which it would have denied.',
  ),
  quotadb_limits_file_reads_total: counter('Times the file of limits had another content, by outcome.'),
  quotadb_limits_file_mistakes: gauge(
    'Mistakes in the file of limits; the limits are earlier ones while there are some.',
  ),
  quotadb_quota_limit: gauge('The limit of a quota.'),
  quotadb_quota_takes_total: counter('Takes from a quota in this region, by outcome.'),
  quotadb_quota_tokens_taken_total: counter('Tokens taken from a quota in this region.'),
  quotadb_quota_refills_total: counter('Times tokens of a quota were set aside to be spent here.'),
  quotadb_quota_tokens_refilled_total: counter('Tokens of a quota set aside to be spent here.'),
  quotadb_quota_exhausted_total: counter('Times that no region had tokens of a quota left to give.'),
  quotadb_quota_tokens_admitted_total: counter(
    'Tokens beyond the limit of a quota that this region admitted while it could not reach the allocator.',
  ),
  quotadb_tokens_given_total: counter('Tokens of all quotas given to another region.'),
  quotadb_tokens_received_total: counter('Tokens of all quotas that another region gave when it was asked.'),
  quotadb_token_requests_total: counter('Requests for tokens that another region has answered.'),
  quotadb_token_request_wait_seconds_total: counter('Time those requests were waited for.'),
  quotadb_quota_frames_refused_total: counter(
    'Frames about quotas that a region sent and this one refused, by kind; `policies` that are not from the home.',
  ),
} satisfies MetricSource['metrics'];

type Name = keyof typeof decisionMetricTable;

export interface DecisionMetricsOptions {
  readonly figures: () => Promise<readonly Figures[]>;
  readonly decisions: Decisions;
  readonly policies: () => readonly Policy[];
  readonly tokens: TokenFigures;
  /** Undefined where no file of limits is given. */
  readonly limitsFile: () => WatchedFileFigures | undefined;
}

export function decisionMetrics(options: DecisionMetricsOptions): MetricSource<Name> {
  return {
    metrics: decisionMetricTable,
    async collect() {
      const { ratesAllowed, ratesDenied, takes, limits } = options.decisions.counts(await options.figures());
      const policies = options.policies();
      const outcomes = policies.flatMap(({ name, number }) => {
        const { allowed = 0, denied = 0 } = takes.get(number) ?? {};
        return samplesBy('outcome', { allowed, denied }, { quota: name });
      });
      return {
        quotadb_rate_decisions_total: samplesBy('outcome', { allowed: ratesAllowed, denied: ratesDenied }),
        quotadb_limit_decisions_total: [...limits].flatMap(([limit, { allowed, denied, shadowDenied }]) =>
          samplesBy('outcome', { allowed, denied, 'shadow-denied': shadowDenied }, { limit }),
        ),
        ...ofLimitsFile(options.limitsFile()),
        quotadb_quota_limit: policies.map(({ name, limit }) => ({ labels: { quota: name }, value: limit })),
        quotadb_quota_takes_total: outcomes,
        quotadb_quota_tokens_taken_total: policies.map(({ name, number }) => ({
          labels: { quota: name },
          value: takes.get(number)?.tokens ?? 0,
        })),
        ...ofRefills(policies, options.tokens),
        ...ofFlow(options.tokens),
        quotadb_quota_frames_refused_total: [...options.tokens.refusedFrames].flatMap(([peer, counts]) =>
          [...counts].map(([frame, value]) => ({ labels: { peer, frame }, value })),
        ),
      };
    },
  };
}

function ofLimitsFile(figures: WatchedFileFigures | undefined): Samples<Name> {
  if (figures === undefined) return { quotadb_limits_file_reads_total: [], quotadb_limits_file_mistakes: [] };
  const { loaded, refused, mistakes } = figures;
  return {
    quotadb_limits_file_reads_total: samplesBy('outcome', { loaded, refused }),
    quotadb_limits_file_mistakes: [{ labels: {}, value: mistakes }],
  };
}

function ofRefills(policies: readonly Policy[], { byQuota }: TokenFigures): Samples<Name> {
  const each = (pick: (counts: RefillCounts) => number): Sample[] =>
    policies.map(({ name, number }) => {
      const counts = byQuota.get(number);
      return { labels: { quota: name }, value: counts === undefined ? 0 : pick(counts) };
    });
  return {
    quotadb_quota_refills_total: each(({ refills }) => refills),
    quotadb_quota_tokens_refilled_total: each(({ tokensRefilled }) => tokensRefilled),
    quotadb_quota_exhausted_total: each(({ exhausted }) => exhausted),
    quotadb_quota_tokens_admitted_total: each(({ admitted }) => admitted),
  };
}

function ofFlow({ byRegion }: TokenFigures): Samples<Name> {
  const each = (pick: (counts: FlowCounts) => number): Sample[] =>
    [...byRegion].map(([region, counts]) => ({ labels: { peer: region }, value: pick(counts) }));
  return {
    quotadb_tokens_given_total: each(({ given }) => given),
    quotadb_tokens_received_total: each(({ received }) => received),
    quotadb_token_requests_total: each(({ requests }) => requests),
    quotadb_token_request_wait_seconds_total: each(({ waitedMs }) => waitedMs / 1000),
  };
}
