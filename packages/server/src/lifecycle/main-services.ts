import type { MainServices, ServiceHandlers } from '@quotadb/resp';
import type { LoginQueue } from '../access/login-queue.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import type { Persistence } from '../durability/persistence.js';
import type { HttpPorts } from '../http/ports/http-ports.js';
import type { LimitService } from '../limits/service.js';
import type { QuotaService } from '../quotas/service.js';
import type { ReplicationService } from '../replication/service.js';

interface Parts {
  readonly persistence: Persistence | undefined;
  readonly replication: ReplicationService;
  readonly quotas: QuotaService;
  readonly logins: LoginQueue;
  /** Made after the state of the server, which needs the services. */
  readonly limits: () => LimitService;
  readonly http: () => HttpPorts;
  /** Undefined where there is no cluster map. */
  readonly cluster: ClusterNode | undefined;
  readonly reload: () => Promise<void>;
}

/** Answers to the requests of lanes, on the main thread. */
export function mainServices(parts: Parts): ServiceHandlers<MainServices> {
  const { persistence, replication, quotas, logins, limits, http, cluster, reload } = parts;
  return {
    login: (attempt, answered) => logins.login(attempt, answered),
    abandonLogin: (address) => logins.abandon(address),
    reload: (_, answered) =>
      reload().then(
        () => answered(undefined),
        (error: Error) => answered(error.message),
      ),
    disk: (request, answered) =>
      persistence === undefined
        ? answered('there is no data directory: start the server with --data DIR')
        : persistence.ask(request, answered),
    flush: () => persistence?.signal(),
    write: (_, answered) => {
      if (persistence === undefined) answered(null);
      else persistence.write().then(() => answered(null));
    },
    replication: (request, answered) => replication.ask(request, answered),
    quotas: (request, answered) => (cluster?.policies ?? quotas).ask(request, answered),
    limits: (request, answered) => limits().ask(request, answered),
    forward: (request, answered) => {
      if (cluster === undefined) answered({ error: 'ERR this server has no cluster map' });
      else cluster.service.forward(request, answered);
    },
    clusterStatus: (_, answered) => answered(JSON.stringify(cluster?.describe()) ?? ''),
    policies: (request, answered) => {
      if (cluster === undefined) answered({ error: 'this server has no cluster map' });
      else cluster.policies.receive(request, answered);
    },
    operation: (request, answered) =>
      void http()
        .run(request)
        .then((answer) => answered(JSON.stringify(answer))),
    awaitSlot: (slot, answered) => {
      if (cluster === undefined) answered(true);
      else cluster.service.waiting.await(slot, answered);
    },
    moving: (request, answered) => {
      const moving = cluster?.service.moving;
      if (moving === undefined) answered({ error: 'ERR slots move only where the map is in etcd' });
      else moving.ask(request, answered);
    },
    refill: ({ allotment, target }) => quotas.requestRefill(allotment, target),
  };
}
