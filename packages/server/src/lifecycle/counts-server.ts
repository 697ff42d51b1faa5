import { areDoorsOpen, type Configuration, QUOTADB_VERSION } from '@quotadb/config';
import { type Audience, type CountsService, countsApi, SchemaError } from '@quotadb/counts';
import { createHandler, HttpServer, serveApi } from '@quotadb/http';
import { serverName } from '@quotadb/wire';
import type { Logger } from 'pino';
import { createCounts } from '../http/counts.js';
import { sitesOf } from '../http/sites.js';
import { statusApi } from '../http/status/status-api.js';
import { createLogger } from '../logging/create-logger.js';
import { countsMetrics } from '../metrics/counts-metrics.js';
import { CountsWatch } from '../metrics/counts-watch.js';
import { MetricRegistry } from '../metrics/registry.js';
import { Certificates } from '../tls/certificates.js';

/** Between two attempts to reach a database that is away while the server starts. */
const RETRY_MS = 1_000;

/**
 * The counts API alone: HTTP on one side, PostgreSQL on the other, and nothing between them: no store, no lanes, no
 * regions. Any number of these may share a database.
 */
export class CountsServer {
  private readonly config: Configuration;
  private readonly logger: Logger;
  private readonly counts: CountsService;
  private readonly metrics: MetricRegistry;
  private readonly main: HttpServer;
  private readonly internal: HttpServer | undefined;
  private ports: { http: number; internalHttp?: number } = { http: 0 };
  private retry: NodeJS.Timeout | undefined = undefined;
  private isStopped = false;
  /** The database was reached once, and its schema is ours. What becomes of it later, every answer says. */
  private isReady = false;

  constructor(config: Configuration) {
    this.config = config;
    this.logger = createLogger(config, {});
    const watch = new CountsWatch();
    const access = { isOpen: areDoorsOpen(config), byBearerToken: () => undefined };
    const counts = createCounts(config, this.logger, access, watch);
    this.counts = counts;
    this.metrics = new MetricRegistry([countsMetrics(watch, () => counts.figures())]);
    const certificates = config.httpTls ? new Certificates(config) : undefined;
    const isSplit = config.internalHttpPort !== -1;
    this.main = this.open(isSplit ? ['external'] : ['external', 'internal'], certificates);
    this.internal = isSplit ? this.open(['internal'], certificates) : undefined;
  }

  private open(audiences: readonly Audience[], certificates: Certificates | undefined): HttpServer {
    const { counts, config, logger } = this;
    const { tokens } = counts;
    const status = {
      isReady: () => this.isReady,
      page: '/docs',
      describe: () => ({ name: 'quotadb counts', version: QUOTADB_VERSION, region: serverName(config) }),
      metrics: () => this.metrics.render(),
    };
    const sites = sitesOf(config, () => areDoorsOpen(config));
    const handle = createHandler([serveApi(countsApi(audiences), counts.api), serveApi(statusApi, status)], {
      // Metrics are for those who manage.
      authenticate: ({ authorization }, roles) => {
        const caller = tokens.callerOf(authorization, roles.includes('count') ? 'external' : 'internal');
        return caller ?? (tokens.audienceOf(authorization) === undefined ? 'unauthenticated' : 'wrong_role');
      },
      sites,
      onError: (error, operation) => logger.error({ err: error, operation }, 'a request over HTTP failed'),
    });
    return new HttpServer({
      handle,
      maximumConnections: config.maxClients,
      certificates,
      ...(audiences.includes('external') && { accelerate: (server) => counts.accelerate(server, sites) }),
    });
  }

  /** Listens, and has a database that is there and has an unsuitable schema refused at once. */
  async start(): Promise<void> {
    const { host, httpPort, internalHttpPort } = this.config;
    const http = await this.main.listen(host, httpPort);
    const internalHttp = await this.internal?.listen(host, internalHttpPort);
    this.ports = { http, ...(internalHttp !== undefined && { internalHttp }) };
    await this.reachDatabase();
    this.logger.info(this.ports, 'ready');
  }

  /** A database that is away will be back: until then /readyz says no, and requests get 503. */
  private async reachDatabase(): Promise<void> {
    try {
      await this.counts.ready();
      this.isReady = true;
    } catch (error) {
      if (this.isStopped) return;
      const { cause } = error as Error;
      if (cause instanceof SchemaError && this.retry === undefined) throw cause;
      if (this.retry === undefined) this.logger.warn({ error: String(cause ?? error) }, 'PostgreSQL cannot be reached');
      this.retry = setTimeout(() => void this.reachDatabase(), RETRY_MS);
    }
  }

  /** What runs where: of the program, the first line of standard output. */
  readyLine(): { ready: true; http: number; internalHttp?: number; pid: number } {
    return { ready: true, ...this.ports, pid: process.pid };
  }

  /** Accepted changes are written and answered before their connections close. */
  async stop(): Promise<void> {
    this.isReady = false;
    this.isStopped = true;
    clearTimeout(this.retry);
    await this.counts.stop();
    this.main.close();
    this.internal?.close();
  }
}
