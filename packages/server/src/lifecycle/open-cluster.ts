import { type Configuration, hasClusterMap } from '@quotadb/config';
import type { Engine } from '@quotadb/engine';
import type { ServerState } from '@quotadb/resp';
import type { Logger } from 'pino';
import { ClusterNode } from '../cluster/cluster-node.js';
import { whenSafe } from '../durability/when-safe.js';
import type { QuotaService } from '../quotas/service.js';
import type { ReplicationService } from '../replication/service.js';
import type { Certificates } from '../tls/certificates.js';
import type { Lanes } from './lanes.js';

interface Parts {
  readonly config: Configuration;
  readonly logger: Logger;
  readonly engine: Engine;
  readonly quotas: QuotaService;
  readonly certificates: Certificates | undefined;
  readonly lanes: Lanes;
  /** Made after the node, whose board it has. */
  readonly state: () => ServerState;
  /** Made after the node. */
  readonly replication: () => ReplicationService | undefined;
}

/** This server as a node of a cluster; undefined where there is no cluster map. */
export function openCluster({ certificates, lanes, state, replication, ...parts }: Parts): ClusterNode | undefined {
  if (!hasClusterMap(parts.config)) return undefined;
  return new ClusterNode({
    ...parts,
    tls: () => certificates?.clientOptions(),
    settleLanes: () => lanes.settle(),
    unsettled: async () => {
      const counts = await lanes.ask('unsettled', null);
      return counts.reduce((sum, count) => sum + count, state().cluster?.unsettled() ?? 0);
    },
    waitForDisk: async () => {
      const refused = await whenSafe(state(), parts.engine);
      if (refused !== undefined) throw new Error(refused.error);
    },
    nowMs: () => state().clock.now(),
    isCopying: () => replication()?.isCopying ?? false,
  });
}
