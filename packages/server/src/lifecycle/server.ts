import { randomBytes } from 'node:crypto';
import { type Configuration, peersOf } from '@quotadb/config';
import type { CountsService, Feeder } from '@quotadb/counts';
import { Acknowledgements, Engine, HASH_SECRET_BYTES } from '@quotadb/engine';
import { serveApi } from '@quotadb/http';
import { catalogueReader } from '@quotadb/limits';
import { REPLICA_ID_BYTES, replicaIdOf } from '@quotadb/replication';
import type { Clock, MainServices, ServerState, SharedBoards } from '@quotadb/resp';
import { askDirectly, createState, GuardedClock, ScriptBoard, type ServiceHandlers, scriptLogger } from '@quotadb/resp';
import type { FileSystem } from '@quotadb/storage';
import type { UsageExporter } from '@quotadb/usage';
import { serverName } from '@quotadb/wire';
import type { Logger } from 'pino';
import { HttpAccess } from '../access/http-access.js';
import { LoginQueue } from '../access/login-queue.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { Persistence } from '../durability/persistence.js';
import { whenSafe } from '../durability/when-safe.js';
import { AnyGroup } from '../envoy/any-group.js';
import { carriedApi } from '../envoy/carried-operations.js';
import { EnvoyLimitStore } from '../envoy/limit-store.js';
import { EnvoyService } from '../envoy/service.js';
import { carryOperations } from '../http/carry-operations.js';
import { createCounts } from '../http/counts.js';
import { createFeeder } from '../http/counts-feeder.js';
import { RateDecisions } from '../http/limits/rate-decisions.js';
import { HttpPorts } from '../http/ports/http-ports.js';
import { LimitsFile } from '../limits/limits-file.js';
import { LimitService } from '../limits/service.js';
import { CountsWatch } from '../metrics/counts-watch.js';
import { type ProcessMetrics, processMetrics } from '../metrics/process-metrics.js';
import type { MetricRegistry } from '../metrics/registry.js';
import { QuotaService } from '../quotas/service.js';
import { loadMembers } from '../replication/member-file.js';
import { ReplicationService } from '../replication/service.js';
import { Certificates } from '../tls/certificates.js';
import { traceCounts } from '../tracing/trace-counts.js';
import { startTracing, type Tracing } from '../tracing/tracing.js';
import { createUsageExporter } from '../usage/create-exporter.js';
import { ClockFollower } from './clock-follower.js';
import { Lanes } from './lanes.js';
import { mainServices } from './main-services.js';
import { observe } from './observe.js';
import { openCluster } from './open-cluster.js';
import { type ReadyLine, readyLineOf } from './ready-line.js';
import { Reloader } from './reloader.js';

/**
 * Address space for a start with a disk that needs a little more memory than there was: a sixteenth, and for each shard
 * a page of each size of record.
 */
const RESTORE_SPARE = 1 / 16;
const RESTORE_SPARE_BYTES = 32 * 1024 * 1024;

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
  private readonly scripts = new ScriptBoard();
  private readonly clockFollower: ClockFollower | undefined;
  private readonly quotas: QuotaService;
  readonly limits: LimitService;
  /** Undefined where no file is given. */
  private readonly limitsFile: LimitsFile | undefined;
  /** Undefined where there is no cluster map. */
  private readonly cluster: ClusterNode | undefined;
  private readonly lanes = new Lanes();
  private readonly tracing: Tracing | undefined;
  private readonly counts: CountsService;
  private readonly feeder: Feeder;
  /** Undefined where no usage is exported. */
  private readonly usage: UsageExporter | undefined;
  private readonly http: HttpPorts;
  /** Undefined without --rls. */
  private readonly envoy: EnvoyService | undefined;
  private readonly logins: LoginQueue;
  private readonly processMetrics: ProcessMetrics;
  private readonly certificates: Certificates | undefined;
  private readonly reloader: Reloader;
  private serving = false;
  private starting: Promise<void> | undefined = undefined;
  private stopping: Promise<void> | undefined = undefined;

  constructor({ config, clock, logger, fileSystem, reread, configFile }: ServerParts) {
    this.logger = logger;
    this.tracing = startTracing(config, logger);
    this.certificates = Certificates.areNeeded(config) ? new Certificates(config) : undefined;
    this.logins = new LoginQueue({ users: () => config.users, clock, logger });
    const { lanes, certificates, logins } = this;
    this.reloader = new Reloader({
      ...{ config, reread, configFile, logger, logins, certificates, lanes },
      readFiles: async () => {
        await this.limitsFile?.reload();
        await this.cluster?.service.reload();
      },
    });
    const persistence = config.dataDirectory === '' ? undefined : new Persistence(config, clock, logger, fileSystem);
    this.persistence = persistence;
    const origin = persistence?.directory.origin ?? newIncarnation(config);
    const engine = Engine.format({
      maxMemoryBytes: config.maxMemoryBytes,
      spareBytes: persistence === undefined ? 0 : config.maxMemoryBytes * RESTORE_SPARE + RESTORE_SPARE_BYTES,
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
    const quotas = this.openOrClose(
      () => new QuotaService({ config, clock, logger, engine, origin, isNewIncarnation, catalogue: catalogueReader }),
    );
    this.quotas = quotas;
    this.cluster = this.openOrClose(() =>
      openCluster({
        ...{ config, logger, engine, quotas, certificates, lanes },
        state: () => this.state,
        replication: () => this.replication,
      }),
    );
    const remembered = persistence === undefined ? [] : loadMembers(config.dataDirectory);
    this.hasMembers = peersOf(config).length > 0 || remembered.length > 0;
    const surroundings = { config, clock, logger, engine, acknowledgements, origin, quotas };
    this.guardedClock = clock instanceof GuardedClock ? clock : undefined;
    this.replication = new ReplicationService({ ...surroundings, remembered, guardedClock: this.guardedClock });
    this.clockFollower =
      this.guardedClock &&
      new ClockFollower({ clock: this.guardedClock, peerClocks: () => this.replication.peerClocks(), logger });
    this.services = mainServices({
      ...{ persistence, replication: this.replication, quotas, logins },
      limits: () => this.limits,
      http: () => this.http,
      cluster: this.cluster,
      reload: () => this.reload(),
    });
    const askMain = askDirectly(this.services);
    const state = createState(config, clock, {
      askMain,
      boards: this.boards(),
      logScript: scriptLogger(logger),
    });
    this.state = state;
    const access = new HttpAccess(() => config.users, state.access, askMain);
    const countsWatch = new CountsWatch(this.tracing && traceCounts());
    const counts = createCounts(config, logger, access, countsWatch);
    this.counts = counts;
    this.feeder = createFeeder({ config, engine, persistence, record: counts.feed, logger });
    this.usage = this.openOrClose(() =>
      createUsageExporter({
        ...{ config, clock, engine, persistence, quotas, state, logger },
        envoyWindows: () => this.envoy?.fixedWindows ?? [],
      }),
    );
    const rates = new RateDecisions(engine, state);
    const share = () => lanes.share();
    this.limits = new LimitService({
      engine,
      state,
      logger,
      askQuotas: (request, answered) => (this.cluster?.policies ?? quotas).ask(request, answered),
      tokenSource: () => quotas.tokenSource,
      share,
      whenSafe: () => whenSafe(state, engine),
    });
    const { limits } = this;
    const counters = new EnvoyLimitStore({ engine, state, limits, whenSafe: () => whenSafe(state, engine) });
    const groups = this.cluster && state.cluster && new AnyGroup(state.cluster, carryOperations(this.cluster.forward));
    this.envoy =
      config.rlsPort === -1
        ? undefined
        : new EnvoyService({ state, store: counters, groups, logger, access, quotas, certificates, share });
    const isAlone = peersOf(config).length === 0;
    this.limitsFile =
      config.limitsFile === ''
        ? undefined
        : new LimitsFile({ path: config.limitsFile, limits, quotas, isAlone, logger });
    this.processMetrics = processMetrics(logins.failed);
    const { replication, guardedClock, cluster, limitsFile, envoy, usage } = this;
    const { metrics, snapshots } = observe({
      ...{ state, engine, lanes, guardedClock, persistence, replication, cluster, quotas, rates, limits, limitsFile },
      ...{ envoy, counts, countsWatch, usage },
      process: this.processMetrics,
    });
    this.metrics = metrics;
    this.http = new HttpPorts({
      state,
      engine,
      logger,
      access,
      status: {
        isReady: () =>
          this.serving &&
          !state.disk.refusesWrites &&
          this.findTrouble() === undefined &&
          this.cluster?.service.isCopying !== true,
        reason: () => this.findTrouble(),
        page: '/dashboard/',
        describe: () => {
          const { version, respPort: resp } = state.identity;
          return { name: 'quotadb', version, region: serverName(config), resp };
        },
        metrics: () => this.metrics.render(),
      },
      counts,
      quotas,
      limits: this.limits,
      rates,
      snapshots,
      certificates,
      isTraced: this.tracing !== undefined,
      share,
      forward: config.clusterForward === 'yes' ? this.cluster?.forward : undefined,
      carriedApis: groups ? [serveApi(carriedApi, { store: counters, cluster: state.cluster, share })] : [],
    });
  }

  /** The memory that lanes share with the main thread beside the store. */
  private boards(): SharedBoards {
    const { persistence, replication } = this;
    return {
      replication: replication.board.buffer,
      disk: persistence?.board.buffer,
      log: persistence?.sharedLog,
      clock: this.guardedClock?.shared,
      scripts: this.scripts.buffer,
      cluster: this.cluster?.service.board.buffer,
    };
  }

  /** A part that reads files of the data directory; where it cannot, the directory is free again. */
  private openOrClose<Part>(open: () => Part): Part {
    try {
      return open();
    } catch (error) {
      this.persistence?.directory.close();
      throw error;
    }
  }

  /** Why clients should go elsewhere, where the operator has to do something. */
  private findTrouble(): string | undefined {
    return this.clockFollower?.findTrouble() ?? this.replication.findTrouble();
  }

  /** Listens on all ports or on none. HTTP comes first, so that /readyz answers while the data is loaded. */
  start(): Promise<void> {
    this.starting = this.startOnce();
    return this.starting;
  }

  private async startOnce(): Promise<void> {
    const { config, identity } = this.state;
    try {
      const ports = await this.http.listen();
      identity.httpPort = ports.http;
      identity.internalHttpPort = ports.internalHttp;
      await this.load();
      await this.cluster?.service.start();
      await this.letClientsIn();
      identity.replicationPort = await this.replication.listen();
      identity.rlsPort = await this.envoy?.start();
    } catch (error) {
      await this.close(0).catch(() => {});
      throw error;
    }
    this.reloader.warnOfAccess();
    await this.limitsFile?.start();
    if (config.feeds.length > 0 || this.usage !== undefined) await this.lanes.share();
    this.cluster?.startWork();
    this.feeder.start();
    this.usage?.start();
    this.serving = true;
  }

  private async letClientsIn(): Promise<void> {
    const { state, engine, logger, services, persistence, replication, quotas, lanes } = this;
    const boards = this.boards();
    await lanes.start({ state, engine, logger, services, boards, persistence, replication, quotas });
    await this.replicate();
    await lanes.listen(state, this.certificates);
  }

  private async replicate(): Promise<void> {
    const { persistence, replication, quotas, state, engine, lanes } = this;
    const share = () => lanes.share();
    await quotas.start({
      disk: persistence && {
        durable: (shard) => persistence.durable(shard),
        flushSoon: () => persistence.flushSoon(),
        write: () => persistence.write(),
        flush: () => persistence.flush(),
      },
      share,
      whenReplicated: state.replication.held && (() => whenSafe(state, engine)),
      reDatedAtMs: persistence?.reDatedAtMs,
    });
    await replication.start({ disk: persistence, share });
    persistence?.flushes.subscribe({ afterFlush: () => quotas.tick() });
  }

  /** Reads the configuration again and applies every setting that can change at run time; or rejects, unchanged. */
  reload(): Promise<void> {
    return this.reloader.reload();
  }

  private async load(): Promise<void> {
    if (this.persistence === undefined) return;
    // Deletions read from the disk are kept for peers that may not have them yet.
    if (this.hasMembers) this.acknowledgements.joinPeers();
    await this.persistence.load(this.engine, this.acknowledgements, this.hasMembers);
  }

  /** What runs where: of the program, the first line of standard output. */
  readyLine(): ReadyLine {
    return readyLineOf(this.state);
  }

  /** Rejects where the last changes could not be written to the disk; everything else has ended then. */
  stop(): Promise<void> {
    this.stopping ??= this.stopOnce();
    return this.stopping;
  }

  private async stopOnce(): Promise<void> {
    this.logger.info('stopping');
    if (await this.hasStarted()) {
      this.serving = false;
      await this.close(Server.STOP_BOUND_MS);
    }
    this.logger.info('stopped');
  }

  /** A start that waits for a cluster map is given up, and has then closed everything itself. */
  private async hasStarted(): Promise<boolean> {
    if (this.serving || this.starting === undefined) return true;
    await this.cluster?.stop();
    return this.starting.then(
      () => true,
      () => false,
    );
  }

  /** A bound of 0 is that of a failed start: clients and peers are not waited for. */
  private async close(boundMs: number): Promise<void> {
    this.clockFollower?.stop();
    await this.envoy?.stop();
    this.limitsFile?.stop();
    await this.lanes.close(boundMs);
    await this.cluster?.stop();
    this.quotas.stop();
    await this.feeder.stop();
    await this.usage?.stop();
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
function newIncarnation(config: Configuration): Uint8Array {
  return Buffer.concat([replicaIdOf(config.cluster, serverName(config)), randomBytes(REPLICA_ID_BYTES)]);
}
