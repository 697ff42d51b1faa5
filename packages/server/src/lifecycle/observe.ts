import type { CountsService } from '@quotadb/counts';
import type { Engine } from '@quotadb/engine';
import type { GuardedClock, ServerState } from '@quotadb/resp';
import type { UsageExporter } from '@quotadb/usage';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { SnapshotTaker } from '../dashboard/take-snapshot.js';
import type { Persistence } from '../durability/persistence.js';
import type { EnvoyService } from '../envoy/service.js';
import type { RateDecisions } from '../http/limits/rate-decisions.js';
import type { LimitsFile } from '../limits/limits-file.js';
import type { LimitService } from '../limits/service.js';
import { createMetrics } from '../metrics/all-metrics.js';
import type { CountsWatch } from '../metrics/counts-watch.js';
import { Decisions } from '../metrics/decisions.js';
import type { ProcessMetrics } from '../metrics/process-metrics.js';
import type { MetricRegistry } from '../metrics/registry.js';
import type { QuotaService } from '../quotas/service.js';
import type { ReplicationService } from '../replication/service.js';
import type { Lanes } from './lanes.js';

/** Those that are undefined are not part of this server. */
interface Observed {
  readonly state: ServerState;
  readonly engine: Engine;
  readonly lanes: Lanes;
  readonly guardedClock: GuardedClock | undefined;
  readonly persistence: Persistence | undefined;
  readonly replication: ReplicationService;
  readonly cluster: ClusterNode | undefined;
  readonly quotas: QuotaService;
  readonly rates: RateDecisions;
  readonly limits: LimitService;
  readonly limitsFile: LimitsFile | undefined;
  readonly envoy: EnvoyService | undefined;
  readonly counts: CountsService;
  readonly countsWatch: CountsWatch;
  readonly usage: UsageExporter | undefined;
  readonly process: ProcessMetrics;
}

/** What can be seen of a server from outside: its metrics, and snapshots for the dashboard. */
export function observe({ lanes, ...parts }: Observed): {
  readonly metrics: MetricRegistry;
  readonly snapshots: SnapshotTaker;
} {
  const { state, engine, persistence, replication, cluster, quotas, rates, limits, counts, countsWatch } = parts;
  const shared = {
    ...{ state, engine, countsWatch },
    figures: () => lanes.ask('figures', null),
    disk: persistence && (() => persistence.durations()),
    counts: () => counts.figures(),
    decisions: new Decisions({
      hottest: () => lanes.ask('hottest', null),
      mainRates: rates.statistics,
      mainTakes: quotas.takes,
      mainLimits: limits.statistics,
    }),
  };
  return {
    metrics: createMetrics({
      ...shared,
      ...{ process: parts.process, usage: parts.usage, cluster, envoy: parts.envoy },
      clockJumpMs: () => parts.guardedClock?.jumpMs ?? 0,
      policies: () => quotas.policies,
      tokens: quotas.figures,
      limitsFile: () => parts.limitsFile?.figures,
      shardsOf: (region) => replication.shardsOf(region),
    }),
    snapshots: new SnapshotTaker({
      ...shared,
      quotas,
      catalogue: () => limits.catalogue,
      cluster: () => cluster?.describe(),
      slowCommands: () => lanes.ask('slowCommands', null),
    }),
  };
}
