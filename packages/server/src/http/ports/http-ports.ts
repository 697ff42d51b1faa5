import { DEFAULT_USER, defaultUser, User } from '@quotadb/config';
import { type Audience, type CountsService, countsApi } from '@quotadb/counts';
import type { Engine } from '@quotadb/engine';
import { type Answer, createCarriedHandler, createHandler, HttpServer, type ServedApi, serveApi } from '@quotadb/http';
import { REPLICA_ID_BYTES, replicaIdOf } from '@quotadb/replication';
import type { ForwardAnswer, ForwardRequest, OperationRequest, ServerState } from '@quotadb/resp';
import { serverName } from '@quotadb/wire';
import type { Logger } from 'pino';
import type { HttpAccess } from '../../access/http-access.js';
import { dashboardApi } from '../../dashboard/dashboard-api.js';
import { describeQuota } from '../../dashboard/describe-quota.js';
import { listCounts } from '../../dashboard/list-counts.js';
import { SnapshotStream } from '../../dashboard/snapshot-stream.js';
import type { SnapshotTaker } from '../../dashboard/take-snapshot.js';
import type { QuotaService } from '../../quotas/service.js';
import type { Certificates } from '../../tls/certificates.js';
import { traceRequests } from '../../tracing/trace-requests.js';
import { authenticator, hasRole } from '../authenticate.js';
import { carryOperations } from '../carry-operations.js';
import { keysApi } from '../keys/keys-api.js';
import { type LimitsContext, limitsApi } from '../limits/limits-api.js';
import type { RateDecisions } from '../limits/rate-decisions.js';
import { serverProblems } from '../problems.js';
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
  readonly limits: LimitsContext;
  readonly rates: RateDecisions;
  readonly snapshots: SnapshotTaker;
  readonly certificates: Certificates | undefined;
  readonly isTraced: boolean;
  /** Resolves when the main thread may use the store. */
  readonly share: () => Promise<void>;
  /** Carries a command to the group that owns its slot; undefined where there is no cluster, or nothing is carried. */
  readonly forward: ((request: ForwardRequest) => Promise<ForwardAnswer>) | undefined;
  /** Operations for other groups of the cluster alone. */
  readonly carriedApis: readonly ServedApi<User>[];
}

/** Has no role: the user of a connection was removed while its command was on its way. */
const NOBODY = new User('', { name: '', roles: [], prefixes: [], passwords: [], tokens: [] });

/** The HTTP port of a server, and where the internal part of the counts API has a port of its own, that one too. */
export class HttpPorts {
  private readonly options: HttpPortsOptions;
  private readonly stream: SnapshotStream;
  private readonly main: HttpServer;
  private readonly internal: HttpServer | undefined;
  private readonly runCarried: ReturnType<typeof createCarriedHandler<User>>;

  constructor(options: HttpPortsOptions) {
    this.options = options;
    this.stream = new SnapshotStream(options.snapshots, options.logger);
    const isSplit = options.state.config.internalHttpPort !== -1;
    const mainApis = this.mainApis();
    this.main = this.open(isSplit ? ['external'] : ['external', 'internal'], mainApis);
    this.runCarried = createCarriedHandler([...mainApis, ...options.carriedApis], {
      isCarried: ({ problems = [] }) => problems.includes(serverProblems.key_elsewhere),
      mayRun: hasRole,
      onError: (error, operation) => this.reportError(error, operation),
    });
    this.internal = isSplit ? this.open(['internal'], []) : undefined;
  }

  /** The ports that were bound. */
  async listen(): Promise<{ readonly http: number; readonly internalHttp: number | undefined }> {
    const { host, httpPort, internalHttpPort } = this.options.state.config;
    const http = await this.main.listen(host, httpPort);
    this.stream.start();
    return { http, internalHttp: await this.internal?.listen(host, internalHttpPort) };
  }

  close(): void {
    this.stream.close();
    this.main.close();
    this.internal?.close();
  }

  /** An operation that another group has carried here, for a user of this server who is known by name. */
  run({ method, target, body, user: name }: OperationRequest): Promise<Answer> {
    const record = this.options.state.config.users.get(name);
    const user = record !== undefined ? new User(name, record) : name === DEFAULT_USER ? defaultUser : NOBODY;
    return this.runCarried({ method, target, body: Buffer.from(body) }, user);
  }

  private reportError(error: unknown, operation: string): void {
    this.options.logger.error({ err: error, operation }, 'a request over HTTP failed');
  }

  private open(audiences: readonly Audience[], others: readonly ServedApi<User>[]): HttpServer {
    const { state, access, counts, status, certificates, isTraced, forward } = this.options;
    const sites = sitesOf(state.config, () => access.isOpen);
    const handle = createHandler([...others, serveApi(countsApi(audiences), counts.api), serveApi(statusApi, status)], {
      authenticate: authenticator(access, counts.tokens),
      sites,
      onError: (error, operation) => this.reportError(error, operation),
      carry: forward && carryOperations(forward),
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
    const { state, engine, quotas, limits, rates, counts, share } = this.options;
    const { config, clock, replication, cluster } = state;
    const regionOf = (replicaId: string) =>
      replication
        .describe()
        ?.regions.find((region) => Buffer.from(replicaIdOf(config.cluster, region)).toString('hex') === replicaId);
    return [
      serveApi(windowsApi, { windows: new WindowCounts(engine, state), rates, share, cluster }),
      serveApi(limitsApi, limits),
      serveApi(quotasApi, {
        ask: (request, answered) => limits.askQuotas(request, answered),
        get policies() {
          return quotas.policies;
        },
        cluster,
      }),
      serveApi(keysApi, { engine, clock, replication, share, cluster }),
      serveApi(dashboardApi, {
        config,
        share,
        stream: this.stream,
        counts: (prefix, cursor) => listCounts(counts, prefix, cursor),
        keys: { engine, clock, region: serverName(config), regionOf },
        quota: (name, subject) =>
          describeQuota(quotas, name, subject, (origin) =>
            regionOf(Buffer.from(origin).toString('hex', 0, REPLICA_ID_BYTES)),
          ),
      }),
    ];
  }
}
