import { randomBytes } from 'node:crypto';
import type { CountsService } from '@quotadb/counts';
import { Acknowledgements, Engine } from '@quotadb/engine';
import { REPLICA_ID_BYTES, replicaIdOf } from '@quotadb/replication';
import type { FileSystem } from '@quotadb/storage';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { Configuration } from '../config/table.js';
import { Persistence } from '../durability/persistence.js';
import { createCounts } from '../http/counts.js';
import { HealthServer } from '../http/health.js';
import { KeysEndpoint } from '../http/keys.js';
import { QuotasEndpoint } from '../http/quotas/endpoint.js';
import { QuotaService, type QuotaServiceOptions } from '../quotas/service.js';
import { ReplicationService } from '../replication/service.js';
import type { ServerState } from '../server-state.js';
import { chooseTransport } from '../transport/choose.js';
import type { Transport } from '../transport/transport.js';
import { createState } from './state.js';

/** A running server: the store, its clients, and the clock that drives both. */
export class Server {
  /** How long a stop may take; a client that does not read its replies must not hold it up for ever. */
  static readonly STOP_BOUND_MS = 5000;

  readonly state: ServerState;
  readonly engine: Engine;

  private readonly persistence: Persistence | undefined;
  private readonly acknowledgements: Acknowledgements;
  private readonly replication: ReplicationService;
  private readonly quotas: QuotaService;
  private transport: Transport | undefined = undefined;
  private readonly counts: CountsService;
  private readonly health: HealthServer;
  /** The internal part of the counts API, where it has a port of its own. */
  private readonly internal: HealthServer | undefined;
  private readonly logger: Logger;
  private serving = false;
  private stopping: Promise<void> | undefined = undefined;

  /** `fileSystem` is for tests: a disk that fails when they want it to. */
  constructor(config: Configuration, clock: Clock, logger: Logger, fileSystem?: FileSystem) {
    this.logger = logger;
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
    const { engine, acknowledgements } = this;
    const isNewIncarnation = this.persistence?.directory.isNewIncarnation ?? true;
    this.quotas = this.openQuotas({ config, clock, logger, engine, origin, isNewIncarnation });
    const { quotas } = this;
    this.replication = new ReplicationService({ config, clock, logger, engine, acknowledgements, origin, quotas });
    this.state = createState(config, clock, {
      disk: this.persistence?.link(),
      replication: this.replication.link(),
      quotas: this.quotas.link(),
    });
    this.counts = createCounts(config, logger);
    const answers = { isReady: () => this.serving, describe: () => this.describe() };
    const isSplit = config.internalHttpPort !== -1;
    const keys = new KeysEndpoint({
      engine,
      clock,
      config,
      replication: this.state.replication,
      share: () => (this.transport as Transport).share(),
    });
    const audiences = isSplit ? (['external'] as const) : (['external', 'internal'] as const);
    const quotasEndpoint = new QuotasEndpoint({
      config,
      names: () => quotas.policies.map(({ name }) => name),
      ask: (request, answered) => quotas.ask(request, answered),
    });
    this.health = new HealthServer(answers, this.counts.endpoint(audiences), keys, quotasEndpoint);
    this.internal = isSplit ? new HealthServer(answers, this.counts.endpoint(['internal'])) : undefined;
  }

  private openQuotas(options: QuotaServiceOptions): QuotaService {
    try {
      return new QuotaService(options);
    } catch (error) {
      this.persistence?.directory.close();
      throw error;
    }
  }

  /** Listens on all ports or on none. */
  async start(): Promise<void> {
    const { config, identity } = this.state;
    await this.load();
    const { replication, quotas, persistence } = this;
    const transport = await chooseTransport(this.state, this.engine, this.logger, { replication, quotas, persistence });
    this.transport = transport;
    identity.transport = transport.name;
    identity.laneCount = transport.laneCount;
    try {
      await this.replicate(transport);
      identity.respPort = await transport.listen(config.host, config.respPort);
      identity.httpPort = await this.health.listen(config.host, config.httpPort);
      identity.internalHttpPort = await this.internal?.listen(config.host, config.internalHttpPort);
      identity.replicationPort = await this.replication.listen();
    } catch (error) {
      this.health.close();
      this.quotas.stop();
      await this.replication.stop();
      await transport.close(0);
      await this.persistence?.close();
      throw error;
    }
    this.serving = true;
    const { respPort: resp, httpPort: http, replicationPort: repl } = identity;
    this.logger.info({ resp, http, repl, transport: identity.transport }, 'ready');
  }

  private async replicate(transport: Transport): Promise<void> {
    const { persistence, replication, quotas } = this;
    if (persistence !== undefined) {
      persistence.onFlushing = () => replication.beforeFlush();
      persistence.onFlushed = () => {
        replication.afterFlush();
        quotas.tick();
      };
    }
    await quotas.start({
      disk: persistence && {
        durable: (shard) => persistence.durable(shard),
        flushSoon: () => persistence.flushSoon(),
      },
      share: () => transport.share(),
    });
    await replication.start({
      durable: persistence && ((shard) => persistence.durable(shard)),
      share: () => transport.share(),
    });
  }

  private async load(): Promise<void> {
    if (this.persistence === undefined) {
      this.logger.warn('everything is in memory: nothing is kept when the server stops (--data DIR keeps it)');
      return;
    }
    try {
      await this.persistence.load(this.engine, this.acknowledgements);
    } catch (error) {
      await this.persistence.close();
      throw error;
    }
  }

  /** What standard output says first. */
  readyLine(): object {
    const { config, identity } = this.state;
    return {
      ready: true,
      region: config.region,
      resp: identity.respPort,
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
    await this.persistence?.close();
    await this.replication.stop();
    // What was accepted is finished and answered before the connections go.
    await this.counts.stop();
    this.health.close();
    this.internal?.close();
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
