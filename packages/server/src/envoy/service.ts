import {
  type Domains,
  type EnvoyConfigurationError,
  GrpcDoor,
  HealthService,
  QUOTA_PREFIX,
  RATE_LIMIT_QUOTA_SERVICE,
  RATE_LIMIT_SERVICE,
  RateLimitQuotaService,
  type Rule,
  rateLimitMethods,
  reflectionMethods,
  rulesOf,
  ShouldRateLimit,
  units,
  WatchedDirectory,
} from '@quotadb/envoy';
import { type PartialDefinition, USUAL_WAIT_MS, type Windows } from '@quotadb/quota';
import { type ServerState, systemMonotonicMs } from '@quotadb/resp';
import type { Logger } from 'pino';
import type { HttpAccess } from '../access/http-access.js';
import { OccasionalLog } from '../logging/occasional-log.js';
import type { QuotaService } from '../quotas/service.js';
import type { Certificates } from '../tls/certificates.js';
import { admitEnvoy } from './admission.js';
import type { AnyGroup } from './any-group.js';
import { GroupedLimitStore } from './grouped-limit-store.js';
import type { EnvoyLimitStore } from './limit-store.js';
import { EnvoyTokenStore } from './token-store.js';

/** A change is taken over when the files have stood still for as long. */
const WATCH_INTERVAL_MS = 500;

export interface EnvoyServiceOptions {
  readonly state: ServerState;
  readonly store: EnvoyLimitStore;
  /** Undefined where there is no cluster map. */
  readonly groups: AnyGroup | undefined;
  readonly logger: Logger;
  readonly access: HttpAccess;
  readonly quotas: QuotaService;
  readonly certificates: Certificates | undefined;
  /** Resolves when the main thread may use the store. */
  readonly share: () => Promise<void>;
}

/** Envoy's rate limit services of a running server (--rls). */
export class EnvoyService {
  readonly decisions: ShouldRateLimit;
  readonly assignments: RateLimitQuotaService;
  /** Configurations that were taken over, and those that had mistakes. */
  readonly loads = { done: 0, failed: 0 };
  private readonly options: EnvoyServiceOptions;
  private readonly directory: WatchedDirectory;
  private readonly health: HealthService;
  private readonly door: GrpcDoor;
  private readonly log = new OccasionalLog(systemMonotonicMs);
  private domains: Domains = new Map();
  /** Of limits that are counted in fixed windows, whose usage is exported. */
  fixedWindows: readonly Windows[] = [];

  constructor(options: EnvoyServiceOptions) {
    this.options = options;
    const { state, store, groups, logger, access, certificates } = options;
    const { config } = state;
    this.directory = new WatchedDirectory(config.envoyDirectory);
    this.decisions = new ShouldRateLimit({
      domains: () => this.domains,
      store: groups === undefined ? store : new GroupedLimitStore(store, groups),
      hasHeaders: config.rlsHeaders,
      hasMetadata: config.rlsMetadata,
    });
    this.assignments = new RateLimitQuotaService({
      domains: () => this.domains,
      tokens: new EnvoyTokenStore(options.quotas, groups),
      onUnshared: (rule) => this.warnOfUnshared(rule),
    });
    const services = [RATE_LIMIT_SERVICE, RATE_LIMIT_QUOTA_SERVICE];
    this.health = new HealthService(services);
    this.door = new GrpcDoor({
      methods: new Map([
        ...rateLimitMethods(this.decisions),
        ...this.assignments.methods,
        ...this.health.methods,
        ...reflectionMethods([...services, 'grpc.health.v1.Health']),
      ]),
      admit: (authorization, address) => admitEnvoy(access, authorization, address),
      tls: config.rlsTls ? certificates?.options() : undefined,
      onError: (error) => logger.error({ err: error }, 'a call of the rate limit service failed'),
    });
    if (config.rlsTls) certificates?.keepCurrent(this.door);
  }

  get connectionCount(): number {
    return this.door.connectionCount;
  }

  get ruleCount(): number {
    return rulesOf(this.domains).length;
  }

  /** Resolves to the port; throws an EnvoyConfigurationError with every mistake in the files. */
  async start(): Promise<number> {
    const { state, logger, share } = this.options;
    const { host, rlsPort, envoyDirectory } = state.config;
    await this.use(await this.directory.load());
    await share();
    this.directory.watch({
      intervalMs: WATCH_INTERVAL_MS,
      onChange: (domains) => {
        void this.use(domains);
        logger.info({ directory: envoyDirectory, rules: this.ruleCount }, 'the limits of Envoy have changed');
      },
      onError: (error) => this.refuse(error),
    });
    const port = await this.door.listen(host, rlsPort);
    this.health.setServing(true);
    return port;
  }

  async stop(): Promise<void> {
    this.directory.stop();
    this.health.setServing(false);
    this.assignments.stop();
    await this.door.close();
  }

  /** At the home of policies, exact limits become quotas; other regions receive them from there. */
  private async use(domains: Domains): Promise<void> {
    this.domains = domains;
    this.fixedWindows = windowsOf(domains);
    this.loads.done++;
    await this.options.quotas.useDefinitions(QUOTA_PREFIX, quotasOf(domains));
  }

  private warnOfUnshared({ path }: Rule): void {
    this.log.say(path, (suppressed) =>
      this.options.logger.warn(
        { rule: path, suppressed },
        'a proxy asks for a share of a limit that is not exact: say `exact: true` to share it out (RLQS)',
      ),
    );
  }

  private refuse({ mistakes }: EnvoyConfigurationError): void {
    this.loads.failed++;
    this.options.logger.error({ mistakes }, 'the limits of Envoy have mistakes: the former ones stay in use');
  }
}

/** One for each length. */
function windowsOf(domains: Domains): Windows[] {
  const names = rulesOf(domains).flatMap(({ kind, unit }) => (kind === 'fixed' && unit !== undefined ? [unit] : []));
  return [...new Set(names)].map((unit) => ({ windowMs: units[unit].seconds * 1000 }));
}

function quotasOf(domains: Domains): PartialDefinition[] {
  return rulesOf(domains)
    .filter(({ kind }) => kind === 'exact')
    .map(({ limitName, requestsPerUnit, unit }) => ({
      name: limitName,
      limit: requestsPerUnit,
      windowMs: units[unit ?? 'second'].seconds * 1000,
      allocator: undefined,
      shares: [],
      waitMs: USUAL_WAIT_MS,
    }));
}
