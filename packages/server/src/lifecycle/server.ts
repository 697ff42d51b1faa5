import { randomBytes } from 'node:crypto';
import type { Configuration } from '@quotadb/config';
import type { CountsService, Feeder } from '@quotadb/counts';
import { Acknowledgements, Engine } from '@quotadb/engine';
import { REPLICA_ID_BYTES, replicaIdOf } from '@quotadb/replication';
import type { Clock, MainServices, QuestionName, Questions, ServerState, SharedBoards, Transport } from '@quotadb/resp';
import { askDirectly, chooseTransport, createState, type ServiceHandlers } from '@quotadb/resp';
import type { FileSystem } from '@quotadb/storage';
import type { Logger } from 'pino';
import { HttpAccess } from '../access/http-access.js';
import { LoginQueue } from '../access/login-queue.js';
import { SnapshotTaker } from '../dashboard/take-snapshot.js';
import { Persistence } from '../durability/persistence.js';
import { createCounts } from '../http/counts.js';
import { createFeeder } from '../http/counts-feeder.js';
import { RateDecisions } from '../http/limits/rate-decisions.js';
import { HttpPorts } from '../http/ports/http-ports.js';
import { countsMetrics } from '../metrics/counts-metrics.js';
import { CountsWatch } from '../metrics/counts-watch.js';
import { decisionMetrics } from '../metrics/decision-metrics.js';
import { Decisions } from '../metrics/decisions.js';
import { type ProcessMetrics, processMetrics } from '../metrics/process-metrics.js';
import { MetricRegistry } from '../metrics/registry.js';
import { replicationMetrics } from '../metrics/replication-metrics.js';
import { serverMetrics } from '../metrics/server-metrics.js';
import { traceCounts } from '../metrics/trace-counts.js';
import { QuotaService, type QuotaServiceOptions } from '../quotas/service.js';
import { ReplicationService } from '../replication/service.js';
import { Certificates } from '../tls/certificates.js';
import { startTracing, type Tracing } from '../tracing/tracing.js';
import { findChanges, logChanges } from './reload.js';

/** A running server: the store, its clients, and the clock that drives both. */
export class Server {
  /** How long a stop may take; a client that does not read its replies must not hold it up for ever. */
  static readonly STOP_BOUND_MS = 5000;

  readonly state: ServerState;
  readonly engine: Engine;

  private readonly services: ServiceHandlers<MainServices>;
  private readonly persistence: Persistence | undefined;
  private readonly acknowledgements: Acknowledgements;
  private readonly replication: ReplicationService;
  private readonly quotas: QuotaService;
  private transport: Transport | undefined = undefined;
  private readonly tracing: Tracing | undefined;
  private readonly counts: CountsService;
  private readonly countsWatch = new CountsWatch();
  private readonly rates: RateDecisions;
  private readonly decisions: Decisions;
  private readonly feeder: Feeder;
  private readonly http: HttpPorts;
  readonly logger: Logger;
  private readonly logins: LoginQueue;
  readonly metrics = new MetricRegistry();
  private readonly processMetrics: ProcessMetrics;
  private readonly certificates: Certificates | undefined;
  private readonly reread: (() => Promise<Configuration>) | undefined;
  /** As the sources said when they were last read. */
  private configured: Configuration;
  private serving = false;
  private stopping: Promise<void> | undefined = undefined;

  /**
   * `fileSystem` is for tests: a disk that fails when they want it to. `reread` reads the configuration anew from where
   * it came from.
   */
  constructor(
    config: Configuration,
    clock: Clock,
    logger: Logger,
    fileSystem?: FileSystem,
    reread?: () => Promise<Configuration>,
  ) {
    this.logger = logger;
    this.reread = reread;
    this.configured = { ...config };
    this.tracing = startTracing(config, logger);
    if (this.tracing !== undefined) traceCounts(this.countsWatch);
    this.certificates = Certificates.areNeeded(config) ? new Certificates(config) : undefined;
    this.logins = new LoginQueue({ users: () => config.users, clock, logger });
    this.persistence = config.dataDirectory === '' ? undefined : new Persistence(config, clock, logger, fileSystem);
    const origin = this.persistence?.directory.origin ?? newIncarnation(config);
    this.engine = Engine.format({
      maxMemoryBytes: config.maxMemoryBytes,
      shared: config.transport !== 'net',
      shardCount: config.shardCount,
      growOnlyPrefixes: config.growOnlyPrefixes,
      origin,
      seed: randomBytes(4).readInt32LE(),
      nowMs: clock.now(),
    });
    this.acknowledgements = new Acknowledgements(this.engine);
    const { engine, acknowledgements, persistence } = this;
    const isNewIncarnation = this.persistence?.directory.isNewIncarnation ?? true;
    this.quotas = this.openQuotas({ config, clock, logger, engine, origin, isNewIncarnation });
    const { quotas } = this;
    this.replication = new ReplicationService({ config, clock, logger, engine, acknowledgements, origin, quotas });
    this.services = this.mainServices();
    const askMain = askDirectly(this.services);
    this.state = createState(config, clock, { askMain, boards: this.boards() });
    const access = new HttpAccess(() => config.users, this.state.access, askMain);
    this.counts = createCounts(config, logger, access, this.countsWatch);
    this.feeder = createFeeder({ config, engine, persistence, record: this.counts.feed, logger });
    this.rates = new RateDecisions(this.engine, this.state);
    this.decisions = new Decisions({
      hottest: () => this.ask('hottest', null),
      mainRates: this.rates.statistics,
      mainTakes: quotas.takes,
    });
    this.processMetrics = processMetrics(this.logins.failed);
    this.registerMetrics();
    this.http = new HttpPorts({
      state: this.state,
      engine,
      logger,
      access,
      status: {
        isReady: () => this.serving && !this.state.disk.refusesWrites,
        describe: () => this.describe(),
        metrics: () => this.metrics.render(),
      },
      counts: this.counts,
      quotas,
      rates: this.rates,
      snapshots: this.makeSnapshots(),
      certificates: this.certificates,
      isTraced: this.tracing !== undefined,
      share: () => (this.transport as Transport).share(),
    });
  }

  private mainServices(): ServiceHandlers<MainServices> {
    const { persistence, replication, quotas, logins } = this;
    return {
      login: (attempt, answered) => logins.login(attempt, answered),
      reload: (_, answered) =>
        this.reload().then(
          () => answered(undefined),
          (error: Error) => answered(error.message),
        ),
      disk: (request, answered) =>
        persistence === undefined ? answered('there is no data directory') : persistence.ask(request, answered),
      flush: () => persistence?.signal(),
      replication: (request, answered) => replication.ask(request, answered),
      quotas: (request, answered) => quotas.ask(request, answered),
      refill: ({ allotment, target }) => quotas.requestRefill(allotment, target),
    };
  }

  /** The memory that lanes share with the main thread beside the store. */
  private boards(): SharedBoards {
    const { persistence, replication } = this;
    return {
      replication: replication.board.buffer,
      disk: persistence?.board.buffer,
      log: persistence?.sharedLog,
    };
  }

  private openQuotas(options: QuotaServiceOptions): QuotaService {
    try {
      return new QuotaService(options);
    } catch (error) {
      this.persistence?.directory.close();
      throw error;
    }
  }

  private makeSnapshots(): SnapshotTaker {
    const { state, engine, persistence, quotas, counts, countsWatch, decisions } = this;
    return new SnapshotTaker({
      state,
      engine,
      figures: () => this.ask('figures', null),
      slowCommands: () => this.ask('slowCommands', null),
      decisions,
      quotas,
      countsWatch,
      disk: persistence && (() => persistence.durations()),
      counts: () => counts.figures(),
    });
  }

  /** The answers of every lane; none while there are none. */
  private async ask<Name extends QuestionName>(
    name: Name,
    question: Questions[Name]['ask'],
  ): Promise<readonly Questions[Name]['answer'][]> {
    return (await this.transport?.ask(name, question)) ?? [];
  }

  private registerMetrics(): void {
    const { state, engine, persistence, quotas, counts, countsWatch, decisions } = this;
    const figures = () => this.ask('figures', null);
    this.metrics.register(
      serverMetrics({
        state,
        engine,
        figures,
        disk: persistence && (() => persistence.durations()),
      }),
    );
    const { replication } = state;
    this.metrics.register(
      replicationMetrics(
        () => replication.describe(),
        () => replication.ages(),
        (region) => this.replication.shardsOf(region),
      ),
    );
    this.metrics.register(
      decisionMetrics({ figures, decisions, policies: () => quotas.policies, tokens: quotas.figures }),
    );
    this.metrics.register(countsMetrics(countsWatch, () => counts.figures()));
    this.metrics.register(this.processMetrics);
  }

  /** Listens on all ports or on none. HTTP comes first, so that it can be asked whether the data is loaded yet. */
  async start(): Promise<void> {
    const { config, identity } = this.state;
    try {
      const ports = await this.http.listen();
      identity.httpPort = ports.http;
      identity.internalHttpPort = ports.internalHttp;
      await this.load();
      await this.letClientsIn();
      identity.replicationPort = await this.replication.listen();
    } catch (error) {
      this.http.close();
      this.quotas.stop();
      this.processMetrics.stop();
      await this.replication.stop();
      await this.transport?.close(0);
      await this.persistence?.close();
      await this.tracing?.stop();
      throw error;
    }
    if (config.feeds.length > 0) await this.transport?.share();
    this.feeder.start();
    this.serving = true;
    const { respPort: resp, httpPort: http, replicationPort: repl } = identity;
    this.logger.info({ resp, http, repl, transport: identity.transport }, 'ready');
  }

  private async replicate(transport: Transport): Promise<void> {
    const { persistence, replication, quotas } = this;
    await quotas.start({
      disk: persistence && {
        durable: (shard) => persistence.durable(shard),
        flushSoon: () => persistence.flushSoon(),
      },
      share: () => transport.share(),
    });
    await replication.start({
      durable: persistence && ((shard) => persistence.durable(shard)),
      durableOf: persistence && ((shard, origin) => persistence.durableOf(shard, origin)),
      flushes: persistence?.flushes,
      share: () => transport.share(),
    });
    persistence?.flushes.subscribe({ afterFlush: () => quotas.tick() });
  }

  private async letClientsIn(): Promise<void> {
    const { config, identity } = this.state;
    const { engine, logger, replication, quotas, persistence, services } = this;
    const transport = await chooseTransport(this.state, engine, logger, {
      services,
      boards: this.boards(),
      policies: () => quotas.policies,
    });
    this.transport = transport;
    identity.transport = transport.name;
    identity.laneCount = transport.laneCount;
    persistence?.flushes.subscribe({
      diskReleased: () => {
        this.state.disk.settle();
        transport.diskReleased();
      },
    });
    replication.onAcknowledged = () => {
      this.state.replication.settle();
      transport.peersAcknowledged();
    };
    quotas.onPolicies = (policies) => {
      this.state.quotas.policies.replace(policies);
      transport.replacePolicies(policies);
    };
    await this.replicate(transport);
    if (config.respPort !== -1) identity.respPort = await transport.listen(config.host, config.respPort);
    if (config.respTlsPort !== -1 && this.certificates !== undefined) {
      identity.respTlsPort = await transport.listenSecurely(config.host, config.respTlsPort, this.certificates);
    }
  }

  /** Reads the configuration again: all that can change while the server runs does, or nothing and a rejection. */
  async reload(): Promise<void> {
    if (this.reread === undefined) throw new Error('there is no configuration to read again');
    const found = await this.reread();
    this.certificates?.reload();
    const changes = findChanges(this.configured, found);
    this.configured = found;
    await this.transport?.ask('configure', changes.parameters);
    if (changes.hasOtherUsers) await this.transport?.ask('users', found.users);
    this.logins.forget();
    logChanges(this.logger, changes);
  }

  private async load(): Promise<void> {
    if (this.persistence === undefined) {
      this.logger.warn('everything is in memory: nothing is kept when the server stops (--data DIR keeps it)');
      return;
    }
    // What the disk says of keys that are gone is kept for peers that may not have heard of it.
    if (this.state.config.peers.length > 0) this.acknowledgements.joinPeers();
    await this.persistence.load(this.engine, this.acknowledgements);
  }

  /** What standard output says first. */
  readyLine(): object {
    const { config, identity } = this.state;
    return {
      ready: true,
      region: config.region,
      resp: identity.respPort,
      ...(identity.respTlsPort !== undefined && { respTls: identity.respTlsPort }),
      http: identity.httpPort,
      ...(identity.internalHttpPort !== undefined && { internalHttp: identity.internalHttpPort }),
      ...(identity.replicationPort !== undefined && { repl: identity.replicationPort }),
      pid: identity.processId,
      transport: identity.transport,
      lanes: identity.laneCount,
    };
  }

  stop(): Promise<void> {
    this.stopping ??= this.stopOnce();
    return this.stopping;
  }

  private async stopOnce(): Promise<void> {
    this.serving = false;
    this.logger.info('stopping');
    await this.transport?.close(Server.STOP_BOUND_MS);
    this.quotas.stop();
    await this.feeder.stop();
    await this.persistence?.close();
    await this.replication.drain();
    await this.replication.stop();
    // What was accepted is finished and answered before the connections go.
    await this.counts.stop();
    this.http.close();
    this.processMetrics.stop();
    await this.tracing?.stop();
    this.logger.info('stopped');
  }

  private describe(): object {
    const { config, identity } = this.state;
    return { name: 'quotadb', version: identity.version, region: config.region, resp: identity.respPort };
  }
}

/** Without a disk every start is a new incarnation of the replica; see the invariants in ARCHITECTURE.md. */
function newIncarnation({ cluster, region }: Configuration): Uint8Array {
  return Buffer.concat([replicaIdOf(cluster, region), randomBytes(REPLICA_ID_BYTES)]);
}
