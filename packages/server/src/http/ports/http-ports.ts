import type { User } from '@quotadb/config';
import { type Audience, type CountsService, countsApi } from '@quotadb/counts';
import type { Engine } from '@quotadb/engine';
import { createHandler, HttpServer, type ServedApi, serveApi } from '@quotadb/http';
import { REPLICA_ID_BYTES, replicaIdOf } from '@quotadb/replication';
import type { ServerState } from '@quotadb/resp';
import type { Logger } from 'pino';
import type { HttpAccess } from '../../access/http-access.js';
import { dashboardApi } from '../../dashboard/dashboard-api.js';
import { describeQuota } from '../../dashboard/describe-quota.js';
import { SnapshotStream } from '../../dashboard/snapshot-stream.js';
import type { SnapshotTaker } from '../../dashboard/take-snapshot.js';
import type { QuotaService } from '../../quotas/service.js';
import type { Certificates } from '../../tls/certificates.js';
import { traceRequests } from '../../tracing/trace-requests.js';
import { authenticator } from '../authenticate.js';
import { keysApi } from '../keys/keys-api.js';
import type { RateDecisions } from '../limits/rate-decisions.js';
import { quotasApi } from '../quotas/quotas-api.js';
import { sitesOf } from '../sites.js';
import { type StatusContext, statusApi } from '../status/status-api.js';
import { WindowCounts } from '../windows/window-counts.js';
import { windowsApi } from '../windows/windows-api.js';

export interface HttpPortsOptions {
  readonly state: ServerState;
  readonly engine: Engine;
  readonly logger: Logger;
  readonly access: HttpAccess;
  readonly status: StatusContext;
  readonly counts: CountsService;
  readonly quotas: QuotaService;
  readonly rates: RateDecisions;
  readonly snapshots: SnapshotTaker;
  readonly certificates: Certificates | undefined;
  readonly isTraced: boolean;
  /** Resolves when the main thread may use the store. */
  readonly share: () => Promise<void>;
}

/** The HTTP port of a server, and where the internal part of the counts API has a port of its own, that one too. */
export class HttpPorts {
  private readonly options: HttpPortsOptions;
  private readonly stream: SnapshotStream;
  private readonly main: HttpServer;
  private readonly internal: HttpServer | undefined;

  constructor(options: HttpPortsOptions) {
    this.options = options;
    this.stream = new SnapshotStream(options.snapshots, options.logger);
    const isSplit = options.state.config.internalHttpPort !== -1;
    this.main = this.open(isSplit ? ['external'] : ['external', 'internal'], this.mainApis());
    this.internal = isSplit ? this.open(['internal'], []) : undefined;
  }

  /** The ports that were bound. */
  async listen(): Promise<{ readonly http: number; readonly internalHttp: number | undefined }> {
    const { host, httpPort, internalHttpPort } = this.options.state.config;
    const http = await this.main.listen(host, httpPort);
    return { http, internalHttp: await this.internal?.listen(host, internalHttpPort) };
  }

  close(): void {
    this.stream.close();
    this.main.close();
    this.internal?.close();
  }

  private open(audiences: readonly Audience[], others: readonly ServedApi<User>[]): HttpServer {
    const { state, logger, access, counts, status, certificates, isTraced } = this.options;
    const sites = sitesOf(state.config, () => access.isOpen);
    const handle = createHandler([...others, serveApi(countsApi(audiences), counts.api), serveApi(statusApi, status)], {
      authenticate: authenticator(access, counts.tokens),
      sites,
      onError: (error, operation) => logger.error({ err: error, operation }, 'a request over HTTP failed'),
    });
    return new HttpServer({
      handle: isTraced ? traceRequests(handle) : handle,
      maximumConnections: state.config.maxClients,
      certificates: state.config.httpTls ? certificates : undefined,
      // A request that goes past node:http cannot be traced.
      ...(!isTraced && audiences.includes('external') && { accelerate: (server) => counts.accelerate(server, sites) }),
    });
  }

  private mainApis(): readonly ServedApi<User>[] {
    const { state, engine, quotas, rates, share } = this.options;
    const { config, clock, replication } = state;
    const regionOf = (replicaId: string) =>
      replication
        .describe()
        ?.regions.find((region) => Buffer.from(replicaIdOf(config.cluster, region)).toString('hex') === replicaId);
    return [
      serveApi(windowsApi, { windows: new WindowCounts(engine, state), rates, share }),
      serveApi(quotasApi, quotas),
      serveApi(keysApi, { engine, clock, replication, share }),
      serveApi(dashboardApi, {
        config,
        share,
        stream: this.stream,
        keys: { engine, clock, region: config.region, regionOf },
        quota: (name, subject) =>
          describeQuota(quotas, name, subject, (origin) =>
            regionOf(Buffer.from(origin).toString('hex', 0, REPLICA_ID_BYTES)),
          ),
      }),
    ];
  }
}
