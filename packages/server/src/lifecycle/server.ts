import { randomBytes } from 'node:crypto';
import { type Configuration, doorsWithoutKey } from '@quotadb/config';
import type { CountsService, Feeder } from '@quotadb/counts';
import { Acknowledgements, Engine, HASH_SECRET_BYTES } from '@quotadb/engine';
import { REPLICA_ID_BYTES, replicaIdOf } from '@quotadb/replication';
import type { Clock, MainServices, QuestionName, Questions, ServerState, SharedBoards, Transport } from '@quotadb/resp';
import {
  askDirectly,
  chooseTransport,
  createState,
  findUnknownCommands,
  GuardedClock,
  type ServiceHandlers,
} from '@quotadb/resp';
import type { FileSystem } from '@quotadb/storage';
import type { Logger } from 'pino';
import { looseFileModes } from '../access/file-modes.js';
import { HttpAccess } from '../access/http-access.js';
import { LoginQueue } from '../access/login-queue.js';
import { SnapshotTaker } from '../dashboard/take-snapshot.js';
import { Persistence } from '../durability/persistence.js';
import { createCounts } from '../http/counts.js';
import { createFeeder } from '../http/counts-feeder.js';
import { RateDecisions } from '../http/limits/rate-decisions.js';
import { HttpPorts } from '../http/ports/http-ports.js';
import { createMetrics } from '../metrics/all-metrics.js';
import { CountsWatch } from '../metrics/counts-watch.js';
import { Decisions } from '../metrics/decisions.js';
import { type ProcessMetrics, processMetrics } from '../metrics/process-metrics.js';
import type { MetricRegistry } from '../metrics/registry.js';
import { QuotaService, type QuotaServiceOptions } from '../quotas/service.js';
import { loadMembers } from '../replication/member-file.js';
import { ReplicationService } from '../replication/service.js';
import { Certificates } from '../tls/certificates.js';
import { traceCounts } from '../tracing/trace-counts.js';
import { startTracing, type Tracing } from '../tracing/tracing.js';
import { ClockFollower } from './clock-follower.js';
import { findChanges, logChanges } from './reload.js';

export interface ServerParts {
  readonly config: Configuration;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The disk; tests pass one that fails. */
  readonly fileSystem?: FileSystem | undefined;
  /** Reads the configuration again, for `ACL LOAD` and `reload()`. */
  readonly reread?: (() => Promise<Configuration>) | undefined;
  /** The file that the configuration was read from, if it was. */
  readonly configFile?: string | undefined;
}

/** A running server: the store, its clients, and the clock that drives both. Made by `createServer()`. */
export class Server {
  /** The longest that a stop waits for clients: one that does not read its replies must not hold it up for ever. */
  static readonly STOP_BOUND_MS = 5000;

  readonly state: ServerState;
  readonly engine: Engine;
  readonly logger: Logger;
  readonly metrics: MetricRegistry;
  private readonly services: ServiceHandlers<MainServices>;
  private readonly persistence: Persistence | undefined;
  private readonly acknowledgements: Acknowledgements;
  /** Whether there are regions that garbage collection waits for from the start. */
  private readonly hasMembers: boolean;
  private readonly replication: ReplicationService;
  /** Undefined where the clock was given from outside. */
  private readonly guardedClock: GuardedClock | undefined;
  private readonly clockFollower: ClockFollower | undefined;
  private readonly quotas: QuotaService;
  private transport: Transport | undefined = undefined;
  private readonly tracing: Tracing | undefined;
  private readonly counts: CountsService;
  private readonly feeder: Feeder;
  private readonly http: HttpPorts;
  private readonly logins: LoginQueue;
  private readonly processMetrics: ProcessMetrics;
  private readonly certificates: Certificates | undefined;
  private readonly configFile: string | undefined;
  private readonly reread: (() => Promise<Configuration>) | undefined;
  /** The configuration as it was last read. */
  private configured: Configuration;
  private serving = false;
  private stopping: Promise<void> | undefined = undefined;

  constructor({ config, clock, logger, fileSystem, reread, configFile }: ServerParts) {
    this.logger = logger;
    this.configFile = configFile;
    this.reread = reread;
    this.configured = { ...config };
    this.tracing = startTracing(config, logger);
    this.certificates = Certificates.areNeeded(config) ? new Certificates(config) : undefined;
    this.logins = new LoginQueue({ users: () => config.users, clock, logger });
    const persistence = config.dataDirectory === '' ? undefined : new Persistence(config, clock, logger, fileSystem);
    this.persistence = persistence;
    const origin = persistence?.directory.origin ?? newIncarnation(config);
    const engine = Engine.format({
      maxMemoryBytes: config.maxMemoryBytes,
      shared: config.transport !== 'net',
      shardCount: config.shardCount,
      growOnlyPrefixes: config.growOnlyPrefixes,
      origin,
      hashSecret: randomBytes(HASH_SECRET_BYTES),
      nowMs: clock.now(),
    });
    this.engine = engine;
    const acknowledgements = new Acknowledgements(engine);
    this.acknowledgements = acknowledgements;
    const isNewIncarnation = persistence?.directory.isNewIncarnation ?? true;
    const quotas = this.openQuotas({ config, clock, logger, engine, origin, isNewIncarnation });
    this.quotas = quotas;
    const remembered = persistence === undefined ? [] : loadMembers(config.dataDirectory);
    this.hasMembers = config.peers.length > 0 || remembered.length > 0;
    const surroundings = { config, clock, logger, engine, acknowledgements, origin, quotas };
    this.guardedClock = clock instanceof GuardedClock ? clock : undefined;
    this.replication = new ReplicationService({ ...surroundings, remembered, guardedClock: this.guardedClock });
    this.clockFollower =
      this.guardedClock &&
      new ClockFollower({ clock: this.guardedClock, peerClocks: () => this.replication.peerClocks(), logger });
    this.services = this.mainServices();
    const askMain = askDirectly(this.services);
    const state = createState(config, clock, { askMain, boards: this.boards() });
    this.state = state;
    const access = new HttpAccess(() => config.users, state.access, askMain);
    const countsWatch = new CountsWatch(this.tracing && traceCounts());
    const counts = createCounts(config, logger, access, countsWatch);
    this.counts = counts;
    this.feeder = createFeeder({ config, engine, persistence, record: counts.feed, logger });
    const rates = new RateDecisions(engine, state);
    this.processMetrics = processMetrics(this.logins.failed);
    const observed = {
      state,
      engine,
      countsWatch,
      figures: () => this.ask('figures', null),
      disk: persistence && (() => persistence.durations()),
      clockJumpMs: () => this.guardedClock?.jumpMs ?? 0,
      counts: () => counts.figures(),
      decisions: new Decisions({
        hottest: () => this.ask('hottest', null),
        mainRates: rates.statistics,
        mainTakes: quotas.takes,
      }),
    };
    this.metrics = createMetrics({
      ...observed,
      policies: () => quotas.policies,
      tokens: quotas.figures,
      shardsOf: (region) => this.replication.shardsOf(region),
      process: this.processMetrics,
    });
    this.http = new HttpPorts({
      state,
      engine,
      logger,
      access,
      status: {
        isReady: () => this.serving && !state.disk.refusesWrites && this.clockFollower?.findTrouble() === undefined,
        reason: () => this.clockFollower?.findTrouble(),
        describe: () => {
          const { version, respPort: resp } = state.identity;
          return { name: 'quotadb', version, region: config.region, resp };
        },
        metrics: () => this.metrics.render(),
      },
      counts,
      quotas,
      rates,
      snapshots: new SnapshotTaker({ ...observed, quotas, slowCommands: () => this.ask('slowCommands', null) }),
      certificates: this.certificates,
      isTraced: this.tracing !== undefined,
      share: () => (this.transport as Transport).share(),
    });
  }

  private mainServices(): ServiceHandlers<MainServices> {
    const { persistence, replication, quotas, logins } = this;
    return {
      login: (attempt, answered) => logins.login(attempt, answered),
      abandonLogin: (address) => logins.abandon(address),
      reload: (_, answered) =>
        this.reload().then(
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
      clock: this.guardedClock?.shared,
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

  /** The answers of every lane; empty before lanes have started. */
  private async ask<Name extends QuestionName>(
    name: Name,
    question: Questions[Name]['ask'],
  ): Promise<readonly Questions[Name]['answer'][]> {
    return (await this.transport?.ask(name, question)) ?? [];
  }

  /** Listens on all ports or on none. HTTP comes first, so that /readyz answers while the data is loaded. */
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
      await this.close(0).catch(() => {});
      throw error;
    }
    this.warnOfAccess();
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
      reDatedAtMs: persistence?.reDatedAtMs,
      keepClockNote: persistence && ((note) => persistence.keepClockNote(note)),
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

  /** Reads the configuration again and applies every setting that can change at run time; or rejects, unchanged. */
  async reload(): Promise<void> {
    if (this.reread === undefined)
      throw new Error('this server was started without a configuration that can be read again');
    const found = await this.reread();
    const unknown = findUnknownCommands(found.users);
    if (unknown.length > 0) throw new Error(unknown.join('; '));
    this.certificates?.reload();
    const changes = findChanges(this.configured, found);
    this.configured = found;
    await this.transport?.ask('configure', changes.parameters);
    if (changes.hasOtherUsers) await this.transport?.ask('users', found.users);
    this.logins.dropStale();
    logChanges(this.logger, changes);
    this.warnOfAccess();
  }

  /** At the start, and when the configuration was read again. */
  private warnOfAccess(): void {
    const { config } = this.state;
    for (const sentence of [...doorsWithoutKey(config), ...looseFileModes(config, this.configFile)])
      this.logger.warn(sentence);
  }

  private async load(): Promise<void> {
    if (this.persistence === undefined) {
      this.logger.warn('all data is in memory: nothing is kept when the server stops (--data DIR writes it to disk)');
      return;
    }
    // Deletions read from the disk are kept for peers that may not have them yet.
    if (this.hasMembers) this.acknowledgements.joinPeers();
    await this.persistence.load(this.engine, this.acknowledgements, this.hasMembers);
  }

  /** The first line of standard output. */
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

  /** Rejects where the last changes could not be written to the disk; everything else has ended then. */
  stop(): Promise<void> {
    this.stopping ??= this.stopOnce();
    return this.stopping;
  }

  private async stopOnce(): Promise<void> {
    this.serving = false;
    this.logger.info('stopping');
    await this.close(Server.STOP_BOUND_MS);
    this.logger.info('stopped');
  }

  /** A bound of 0 is that of a failed start: clients and peers are not waited for. */
  private async close(boundMs: number): Promise<void> {
    this.clockFollower?.stop();
    await this.transport?.close(boundMs);
    this.quotas.stop();
    await this.feeder.stop();
    const written = this.persistence?.close();
    await written?.catch(() => {});
    if (boundMs > 0) await this.replication.drain();
    await this.replication.stop();
    // Accepted changes of counts are written and answered before their connections close.
    await this.counts.stop();
    this.http.close();
    this.processMetrics.stop();
    await this.tracing?.stop();
    await written;
  }
}

/** Without a disk every start is a new incarnation of the replica; see the invariants in ARCHITECTURE.md. */
function newIncarnation({ cluster, region }: Configuration): Uint8Array {
  return Buffer.concat([replicaIdOf(cluster, region), randomBytes(REPLICA_ID_BYTES)]);
}
