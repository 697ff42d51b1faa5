import { randomBytes } from 'node:crypto';
import type { CountsService } from '@quotadb/counts';
import { Engine, ORIGIN_ID_BYTES } from '@quotadb/engine';
import type { FileSystem } from '@quotadb/storage';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { Configuration } from '../config/table.js';
import { Persistence } from '../durability/persistence.js';
import { createCounts } from '../http/counts.js';
import { HealthServer } from '../http/health.js';
import { RateDecisions } from '../http/limits/rate-decisions.js';
import { WindowsEndpoint } from '../http/windows/endpoint.js';
import { WindowCounts } from '../http/windows/window-counts.js';
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
    this.engine = Engine.format({
      maxMemoryBytes: config.maxMemoryBytes,
      shared: config.transport !== 'net',
      shardCount: config.shardCount,
      growOnlyPrefixes: config.growOnlyPrefixes,
      // Without a disk every start is a new replica; see the invariants in ARCHITECTURE.md.
      origin: this.persistence?.directory.origin ?? randomBytes(ORIGIN_ID_BYTES),
      seed: randomBytes(4).readInt32LE(),
      nowMs: clock.now(),
    });
    this.state = createState(config, clock, undefined, undefined, undefined, this.persistence?.link());
    this.counts = createCounts(config, logger);
    const answers = { isReady: () => this.serving, describe: () => this.describe() };
    const isSplit = config.internalHttpPort !== -1;
    const windows = new WindowsEndpoint({
      windows: new WindowCounts(this.engine, this.state),
      rates: new RateDecisions(this.engine, this.state),
      admit: (authorization) => this.counts.admit(authorization, 'external'),
      onError: (error) => logger.error({ err: error }, 'a request to the windows API failed'),
    });
    const parts = isSplit ? (['external'] as const) : (['external', 'internal'] as const);
    this.health = new HealthServer(answers, this.counts.endpoint(parts), windows);
    this.internal = isSplit ? new HealthServer(answers, this.counts.endpoint(['internal'])) : undefined;
  }

  /** Listens on all ports or on none. */
  async start(): Promise<void> {
    const { config, identity } = this.state;
    await this.load();
    const transport = await chooseTransport(this.state, this.engine, this.logger, this.persistence);
    this.transport = transport;
    this.settleOwnWaits();
    identity.transport = transport.name;
    identity.laneCount = transport.laneCount;
    try {
      identity.respPort = await transport.listen(config.host, config.respPort);
      identity.httpPort = await this.health.listen(config.host, config.httpPort);
      identity.internalHttpPort = await this.internal?.listen(config.host, config.internalHttpPort);
    } catch (error) {
      this.health.close();
      await transport.close(0);
      await this.persistence?.close();
      throw error;
    }
    this.serving = true;
    this.logger.info({ resp: identity.respPort, http: identity.httpPort, transport: identity.transport }, 'ready');
  }

  /** The main thread waits for the disk too, with requests over HTTP, whoever serves the other clients. */
  private settleOwnWaits(): void {
    const { persistence, state } = this;
    if (persistence === undefined) return;
    const wakeTransport = persistence.onCompleted;
    persistence.onCompleted = () => {
      wakeTransport();
      state.disk.settle();
    };
  }

  private async load(): Promise<void> {
    if (this.persistence === undefined) {
      this.logger.warn('everything is in memory: nothing is kept when the server stops (--data DIR keeps it)');
      return;
    }
    try {
      await this.persistence.load(this.engine);
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
    await this.persistence?.close();
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
