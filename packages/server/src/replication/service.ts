import { randomBytes } from 'node:crypto';
import { type Configuration, peersOf } from '@quotadb/config';
import { type Acknowledgements, type Engine, printDuration } from '@quotadb/engine';
import { type ClockWatch, clocksOf, nameOfOrigin, Replica, type ReplicaEvents } from '@quotadb/replication';
import { findSealFault, sealText } from '@quotadb/replication/grpc';
import { type GrpcNetwork, Mesh, type MeshEvents } from '@quotadb/replication/mesh';
import type { Clock, ReplicationAnswer, ReplicationRequest, ShardLag } from '@quotadb/resp';
import { type GuardedClock, ReplicationBoard, systemMonotonicMs } from '@quotadb/resp';
import { regionOfServer, serverName } from '@quotadb/wire';
import type { Logger } from 'pino';
import type { Persistence } from '../durability/persistence.js';
import { NO_NEIGHBOURS } from '../quotas/reminting.js';
import type { QuotaService } from '../quotas/service.js';
import { ResyncTraces } from '../tracing/trace-resyncs.js';
import { recordPast } from '../tracing/tracing.js';
import { describeShards, firstCopySources } from './describe.js';
import { FirstCopy } from './first-copy.js';
import { Journal } from './journal.js';
import { MemberFile } from './member-file.js';
import { openNetwork } from './network.js';
import { Reporter } from './reporter.js';
import { StartKeeper } from './start-keeper.js';
import { watchClock } from './watch-clock.js';

/** The longest that a stop waits for peers to acknowledge the last changes. */
const DRAIN_BOUND_MS = 2000;

interface ReplicationOptions {
  readonly config: Configuration;
  readonly clock: Clock;
  /** The same, where it is guarded. */
  readonly guardedClock: GuardedClock | undefined;
  readonly logger: Logger;
  readonly engine: Engine;
  readonly acknowledgements: Acknowledgements;
  readonly origin: Uint8Array;
  readonly quotas: QuotaService;
  /** Regions that had dialed this one before it was started anew: garbage collection waits for them. */
  readonly remembered: readonly string[];
}

/** The parts of a server with loaded data that replication uses. */
interface ReplicationSurroundings {
  /** Undefined where there is no disk. */
  readonly disk: ReplicationDisk | undefined;
  /** Resolves when every thread locks the shards: from then on the main thread may change keys too. */
  readonly share: () => Promise<void>;
}

type ReplicationDisk = Pick<
  Persistence,
  'durable' | 'durableOf' | 'reDatedAtMs' | 'startDisk' | 'keepClockNote' | 'flushes'
>;

/** Replication of a running server, on the main thread. */
export class ReplicationService {
  readonly board: ReplicationBoard;
  /** Called when acknowledgements have come and a session waits for some. */
  onAcknowledged: () => void = () => {};
  private readonly options: ReplicationOptions;
  private readonly journal: Journal;
  private readonly resyncs = new ResyncTraces();
  private readonly removed = new Set<string>();
  private network: GrpcNetwork | undefined = undefined;
  private mesh: Mesh | undefined = undefined;
  private reporter: Reporter | undefined = undefined;
  private starts: StartKeeper | undefined = undefined;
  private firstCopy: FirstCopy | undefined = undefined;
  private clockWatch: ClockWatch | undefined = undefined;
  private closeNetwork: () => void = () => {};
  /** Undefined where there is no disk. */
  private readonly memberFile: MemberFile | undefined = undefined;

  constructor(options: ReplicationOptions) {
    this.options = options;
    const { dataDirectory } = options.config;
    if (dataDirectory !== '') this.memberFile = new MemberFile(dataDirectory, options.remembered, options.logger);
    this.board = new ReplicationBoard(options.engine.shardCount);
    this.journal = new Journal(options.logger, systemMonotonicMs);
  }

  /** Before the first client: dials the configured regions, so that the first change already waits for them. */
  async start({ disk, share }: ReplicationSurroundings): Promise<void> {
    const { config, engine, logger, origin, remembered } = this.options;
    const reDatedAtMs = disk?.reDatedAtMs;
    const hasPeers = peersOf(config).length > 0 || remembered.length > 0 || engine.origins.count > 1;
    const starts = new StartKeeper({
      engine,
      origin,
      logger,
      // Versions that were given at the start itself, when data was dated anew, are in no gap.
      nowMs: reDatedAtMs ?? engine.nowMs,
      mayBeOldCopy: hasPeers && reDatedAtMs === undefined,
      disk: disk?.startDisk,
    });
    this.starts = starts;
    const { network, close } = await openNetwork(config, logger, (tls) =>
      this.options.quotas.useSeals({
        seal: (text) => sealText(tls, text),
        findFault: (text, seal, region) =>
          findSealFault(tls, text, seal, { cluster: config.cluster, region }, this.options.clock.now()),
      }),
    );
    this.network = network;
    const clockWatch = watchClock({
      clock: this.options.clock,
      logger,
      skewBoundMs: config.clockSkewBoundMs,
      keep: disk && ((note) => disk.keepClockNote(note)),
    });
    this.clockWatch = clockWatch;
    this.closeNetwork = close;
    const journal = this.journal.events();
    const mesh = new Mesh({
      network,
      makeReplica: async (events) => {
        await share();
        return this.makeReplica(events, disk, starts);
      },
      intervalMs: config.replicationIntervalMs,
      isUrgent: config.replicateBeforeReply > 0,
      random: Math.random,
      events: {
        ...this.eventsWithQuotas(journal),
        // Before there is a replica nothing ticks, and this event alone updates the description.
        turnedAway: (code, message, address) => {
          journal.turnedAway?.(code, message, address);
          reporter.describeSoon();
        },
        ticked: () => {
          // A password or users can come while the server runs.
          if (network.plaintextRefusal() !== undefined) for (const link of [...mesh.links]) link.end();
          reporter.tick();
          this.options.quotas.tick();
        },
        seen: () => reporter.acknowledged(),
      },
    });
    this.mesh = mesh;
    const { board, resyncs, removed } = this;
    const reporter = new Reporter({
      ...{ config, engine, logger, origin, board, mesh, network, journal: this.journal, starts, resyncs, clockWatch },
      removed,
      onAcknowledged: () => this.onAcknowledged(),
    });
    this.reporter = reporter;
    const compare = (origins: readonly Uint8Array[]) =>
      mesh.replica?.antiEntropy.comparison.compare(origins) ?? NO_NEIGHBOURS.compare(origins);
    this.options.quotas.useMembers({ members: () => mesh.replica?.members.values() ?? [], compare }, this.removed);
    disk?.flushes.subscribe(mesh);
    // The disk holds changes of other origins: their regions are peers, and deletions are kept for them.
    if (engine.origins.count > 1 || remembered.length > 0) await mesh.begin();
    for (const peer of peersOf(config)) await mesh.addPeer(peer);
    // Before the first client: a configured region that is not reached yet makes reads stale from the start.
    reporter.publishNow();
  }

  private eventsWithQuotas(events: Partial<MeshEvents>): Partial<MeshEvents> {
    const { quotas } = this.options;
    return {
      ...events,
      established: (link) => {
        events.established?.(link);
        this.saveMembers();
        quotas.nameGranted(link.region);
        this.resyncs.established(link);
        quotas.established(link);
      },
      refused: (link, reason, by) => {
        events.refused?.(link, reason, by);
        if (reason.code === 'twin' && by === 'there') quotas.nameRefused(link.region);
      },
      oldCopy: (link, proof) => this.starts?.noteOldCopy(proof, link.region),
      closed: (link) => {
        events.closed?.(link);
        this.resyncs.closed(link);
        quotas.closed(link);
      },
      givenUp: (member) => {
        events.givenUp?.(member);
        this.saveMembers();
      },
      repaired: (link, _, shard, tookMs) =>
        recordPast('replication repair', tookMs, { 'quotadb.peer': link.region, 'quotadb.shard': shard }),
      quota: (link, frame) => quotas.receive(link, frame),
    };
  }

  private saveMembers(): void {
    this.memberFile?.save(this.mesh?.replica?.members.values() ?? []);
  }

  /** After the last client: sends the last changes to the peers. */
  async drain(): Promise<void> {
    await this.mesh?.drain(DRAIN_BOUND_MS);
  }

  async stop(): Promise<void> {
    this.closeNetwork();
    this.reporter?.stop();
    await this.mesh?.stop();
  }

  ask(request: ReplicationRequest, answered: (answer: ReplicationAnswer) => void): void {
    this.answer(request).then(answered, (error: Error) => answered({ error: error.message }));
  }

  private async answer(request: ReplicationRequest): Promise<ReplicationAnswer> {
    const { mesh, options } = this;
    if (mesh === undefined) return { error: 'replication has not started' };
    const { region } = request;
    if (request.kind === 'shards') {
      const member = mesh.replica?.members.get(region);
      if (mesh.replica === undefined || member === undefined) return { error: `${region} is no peer of this region` };
      return { value: describeShards(mesh.replica, member) };
    }
    if (region === serverName(options.config)) return { error: `${region} is this server itself` };
    if (request.kind === 'addPeer') {
      const refusal = this.network?.plaintextRefusal();
      if (refusal !== undefined) return { error: refusal };
      this.removed.delete(region);
      await mesh.addPeer({ region, host: request.host, port: request.port });
      options.logger.info({ peer: region, host: request.host, port: request.port }, 'a peer was added');
    } else {
      this.removed.add(region);
      const wasPeer = await mesh.removePeer(region);
      this.journal.drop(region);
      options.quotas.nameGranted(region);
      this.saveMembers();
      options.logger.info({ peer: region, wasPeer }, 'a peer was removed');
    }
    options.quotas.membersChanged();
    this.reporter?.publishNow();
    return { value: 'OK' };
  }

  /** Why peers take no change of this server, and what to do; undefined where there is no such reason. */
  findTrouble(): string | undefined {
    const { starts, clockWatch } = this;
    if (starts !== undefined && starts.trouble !== '') return starts.trouble;
    if (clockWatch === undefined || clockWatch.aheadOfMs === 0) return undefined;
    const ahead = printDuration(clockWatch.aheadOfMs);
    return `The time of this server is ${ahead} ahead of that of its peers, which refuse its changes: see its log.`;
  }

  /** Whether this server started without data and has less than other members of its region. */
  get isCopying(): boolean {
    const { config } = this.options;
    this.firstCopy ??= new FirstCopy(this.hasOthersInRegion && this.options.engine.keyCount() === 0);
    return this.firstCopy.isRunning(this.mesh === undefined ? [] : firstCopySources(this.mesh, this.journal, config));
  }

  private get hasOthersInRegion(): boolean {
    const { config } = this.options;
    return peersOf(config).some(({ region }) => regionOfServer(region) === config.region);
  }

  /** The clocks of the connected regions, each less the monotonic clock of this one. */
  peerClocks(): number[] {
    return clocksOf(this.mesh?.links ?? []);
  }

  /** How far a region has acknowledged this node's own changes, by shard; empty for a region that is no peer. */
  shardsOf(region: string): ShardLag[] {
    const replica = this.mesh?.replica;
    const member = replica?.members.get(region);
    return replica === undefined || member === undefined ? [] : describeShards(replica, member);
  }

  /**
   * Resolves to the port; undefined where the server does not listen for peers. Where there is any credential, a
   * replication port without certificates opens only if the settings ask for it by name.
   */
  async listen(): Promise<number | undefined> {
    const { config, logger } = this.options;
    if (config.replicationPort === -1) return undefined;
    const refusal = this.network?.plaintextRefusal();
    if (refusal !== undefined) {
      logger.info(`the replication port stays closed: ${refusal}`);
      return undefined;
    }
    const port = (await this.mesh?.listen()) ?? -1;
    this.reporter?.listening(port);
    return port;
  }

  private makeReplica(events: Partial<ReplicaEvents>, disk: ReplicationDisk | undefined, starts: StartKeeper): Replica {
    const { config, clock, guardedClock, engine, acknowledgements, origin, logger, remembered } = this.options;
    engine.setExpiryGraceMs(config.clockSkewBoundMs);
    logger.info({ cluster: config.cluster, origin: nameOfOrigin(origin) }, 'replication begins');
    const replica = new Replica({
      engine,
      identity: {
        cluster: config.cluster,
        region: serverName(config),
        origin,
        agreements: [
          { name: '--grow-only', value: [...config.growOnlyPrefixes].sort().join(',') },
          ...(config.home === '' ? [] : [{ name: '--home', value: config.home }]),
        ],
      },
      clock: {
        monotonicMs: systemMonotonicMs,
        wallMs: () => (guardedClock === undefined ? clock.now() : guardedClock.wallMs()),
        nowMs: () => clock.now(),
      },
      acknowledgements,
      ...(disk && {
        durable: (shard) => disk.durable(shard),
        durableOf: (shard, other) => disk.durableOf(shard, other),
      }),
      starts: starts.starts,
      release: starts.release,
      boot: randomBytes(6).readUIntBE(0, 6),
      settings: {
        giveUpAfterMs: config.peerPatienceSeconds * 1000,
        skewBoundMs: config.clockSkewBoundMs,
        // Of the others: regions are set up alike.
        sendWithinMs: config.replicationIntervalMs + (disk && typeof config.fsync === 'number' ? config.fsync : 0),
      },
      events,
    });
    // Before the first tick, which would collect deletions for which no member waits.
    for (const region of remembered) replica.rememberMember(region);
    for (const { region } of peersOf(config)) replica.addMember(region);
    return replica;
  }
}
