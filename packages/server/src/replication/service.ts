import { randomBytes } from 'node:crypto';
import type { Configuration } from '@quotadb/config';
import { type Acknowledgements, type Engine, OWN_ORIGIN } from '@quotadb/engine';
import { nameOfOrigin, Replica, type ReplicaEvents, type Start } from '@quotadb/replication';
import { findSealFault, sealText } from '@quotadb/replication/grpc';
import { type GrpcNetwork, Mesh, type MeshEvents } from '@quotadb/replication/mesh';
import type { Clock, ReplicationAnswer, ReplicationDescription, ReplicationRequest, ShardLag } from '@quotadb/resp';
import { type GuardedClock, ReplicationBoard, systemMonotonicMs } from '@quotadb/resp';
import type { FlushEvents } from '@quotadb/storage';
import type { Logger } from 'pino';
import type { ClockNote } from '../durability/clock-note.js';
import type { QuotaService } from '../quotas/service.js';
import { ResyncTraces } from '../tracing/trace-resyncs.js';
import { recordPast } from '../tracing/tracing.js';
import { ClockWatch, clocksOf } from './clock-watch.js';
import { describePeers, describeShards } from './describe.js';
import { Journal } from './journal.js';
import { saveMembers } from './member-file.js';
import { openNetwork } from './network.js';
import { viewRegions } from './regions.js';
import { noteStart } from './start-file.js';

/** The least time between two updates of the ages on the board, and of the description, which is long. */
const AGES_INTERVAL_MS = 20;
const DESCRIPTION_INTERVAL_MS = 250;
/** How often a long first copy logs its progress. */
const PROGRESS_INTERVAL_MS = 2000;
/** The longest that a stop waits for peers to acknowledge the last changes. */
const DRAIN_BOUND_MS = 2000;
const REPLICA_ID_DIGITS = 32;

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
  /** The version up to which the disk holds this node's own changes; undefined where there is no disk. */
  readonly durable: ((shard: number) => number) | undefined;
  /** The same for the changes of any origin, by its index. */
  readonly durableOf: ((shard: number, origin: number) => number) | undefined;
  /** When the data was dated anew, at this start. */
  readonly reDatedAtMs: number | undefined;
  /** Keeps a note about the clock, or removes it; undefined where there is no disk. */
  readonly keepClockNote: ((note: ClockNote | undefined) => void) | undefined;
  /** Undefined where there is no disk. */
  readonly flushes: FlushEvents | undefined;
  /** Resolves when every thread locks the shards: from then on the main thread may change keys too. */
  readonly share: () => Promise<void>;
}

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
  private clockWatch: ClockWatch | undefined = undefined;
  private closeNetwork: () => void = () => {};
  private agesAtMs = Number.NEGATIVE_INFINITY;
  private describedAtMs = Number.NEGATIVE_INFINITY;
  private reportedAtMs = Number.NEGATIVE_INFINITY;
  private hasAcknowledgements = false;
  private publishing: NodeJS.Immediate | undefined = undefined;
  private describing: NodeJS.Timeout | undefined = undefined;
  private port = -1;
  /** As they are on disk, with commas between. */
  private savedMembers: string;
  private shownRegions: readonly string[] = [];

  constructor(options: ReplicationOptions) {
    this.options = options;
    this.savedMembers = [...options.remembered].sort().join();
    this.board = new ReplicationBoard(options.engine.shardCount);
    this.journal = new Journal(options.logger, systemMonotonicMs);
  }

  /** Before the first client: dials the configured regions, so that the first change already waits for them. */
  async start(surroundings: ReplicationSurroundings): Promise<void> {
    const { config, engine, logger, origin, remembered } = this.options;
    const present = {
      versions: Float64Array.from({ length: engine.shardCount }, (_, shard) => engine.seen(shard, OWN_ORIGIN)),
      // Versions that were given at the start itself, when data was dated anew, are in no gap.
      nowMs: surroundings.reDatedAtMs ?? engine.nowMs,
    };
    const { dataDirectory } = config;
    const starts = dataDirectory === '' ? [present] : noteStart(dataDirectory, nameOfOrigin(origin), present);
    const { network, close } = await openNetwork(config, logger, (tls) =>
      this.options.quotas.useSeals({
        seal: (text) => sealText(tls, text),
        findFault: (text, seal, region) =>
          findSealFault(tls, text, seal, { cluster: config.cluster, region }, this.options.clock.now()),
      }),
    );
    this.network = network;
    this.clockWatch = new ClockWatch({
      clock: this.options.clock,
      logger,
      skewBoundMs: config.clockSkewBoundMs,
      keep: surroundings.keepClockNote,
    });
    this.closeNetwork = close;
    const journal = this.journal.events();
    const mesh = new Mesh({
      network,
      makeReplica: async (events) => {
        await surroundings.share();
        return this.makeReplica(events, surroundings, starts);
      },
      intervalMs: config.replicationIntervalMs,
      random: Math.random,
      events: {
        ...this.eventsWithQuotas(journal),
        // Before there is a replica nothing ticks, and this event alone updates the description.
        turnedAway: (code, message, address) => {
          journal.turnedAway?.(code, message, address);
          this.describeSoon();
        },
        ticked: () => {
          // A password or users can come while the server runs.
          if (network.plaintextRefusal() !== undefined) for (const link of [...mesh.links]) link.end();
          this.publish();
          this.options.quotas.tick();
        },
        seen: () => this.acknowledged(),
      },
    });
    this.mesh = mesh;
    surroundings.flushes?.subscribe(mesh);
    // The disk holds changes of other origins: their regions are peers, and deletions are kept for them.
    if (engine.origins.count > 1 || remembered.length > 0) await mesh.begin();
    for (const peer of config.peers) await mesh.addPeer(peer);
    // Before the first client: a configured region that is not reached yet makes reads stale from the start.
    this.publishNow();
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

  /** Keeps the regions that have dialed this one on disk, where there is one: see member-file.ts. */
  private saveMembers(): void {
    const { config, logger } = this.options;
    const members = [...(this.mesh?.replica?.members.values() ?? [])].filter(({ isConfigured }) => !isConfigured);
    const regions = members.map(({ region }) => region).sort();
    if (config.dataDirectory === '' || regions.join() === this.savedMembers) return;
    try {
      saveMembers(config.dataDirectory, regions);
      this.savedMembers = regions.join();
    } catch (error) {
      logger.error({ err: error }, 'members.json could not be written: a restart does not wait for new regions');
    }
  }

  /** After the last client: sends the last changes to the peers. */
  async drain(): Promise<void> {
    await this.mesh?.drain(DRAIN_BOUND_MS);
  }

  async stop(): Promise<void> {
    this.closeNetwork();
    clearTimeout(this.describing);
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
    if (region === options.config.region) return { error: `${region} is this region itself` };
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
    this.publishNow();
    return { value: 'OK' };
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
    this.port = (await this.mesh?.listen()) ?? -1;
    this.describe();
    return this.port;
  }

  private makeReplica(
    events: Partial<ReplicaEvents>,
    { durable, durableOf }: ReplicationSurroundings,
    starts: readonly Start[],
  ): Replica {
    const { config, clock, guardedClock, engine, acknowledgements, origin, logger, remembered } = this.options;
    engine.setExpiryGraceMs(config.clockSkewBoundMs);
    logger.info({ cluster: config.cluster, origin: nameOfOrigin(origin) }, 'replication begins');
    const replica = new Replica({
      engine,
      identity: {
        cluster: config.cluster,
        region: config.region,
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
      ...(durable && { durable }),
      ...(durableOf && { durableOf }),
      starts,
      boot: randomBytes(6).readUIntBE(0, 6),
      settings: { giveUpAfterMs: config.peerPatienceSeconds * 1000, skewBoundMs: config.clockSkewBoundMs },
      events,
    });
    // Before the first tick, which would collect deletions for which no member waits.
    for (const region of remembered) replica.rememberMember(region);
    for (const { region } of config.peers) replica.addMember(region);
    return replica;
  }

  /** Updates the board that the lanes read. */
  private publish(): void {
    const nowMs = systemMonotonicMs();
    if (this.hasAcknowledgements) this.publishAcknowledged();
    if (nowMs - this.agesAtMs < AGES_INTERVAL_MS) return;
    this.publishAges(nowMs);
    if (nowMs - this.describedAtMs < DESCRIPTION_INTERVAL_MS) return;
    this.describe();
    if (this.mesh?.replica !== undefined) this.clockWatch?.check(this.mesh.replica);
    this.reportProgress(nowMs);
  }

  /** Sessions that wait get acknowledgements before the next tick; those of one turn of the loop go out together. */
  private acknowledged(): void {
    this.hasAcknowledgements = true;
    if (!this.board.isAwaited) return;
    this.publishing ??= setImmediate(() => {
      this.publishing = undefined;
      this.publishAcknowledged();
    });
  }

  private publishNow(): void {
    this.publishAcknowledged();
    this.publishAges(systemMonotonicMs());
    this.describe();
  }

  private publishAcknowledged(): void {
    const replica = this.mesh?.replica;
    if (replica === undefined) return;
    this.hasAcknowledgements = false;
    const acknowledged = [...replica.members.values()].map((member) => member.seen.find(replica.ownName));
    this.board.publish(() => this.board.setMembers(acknowledged));
    if (this.board.isAwaited) this.onAcknowledged();
  }

  private publishAges(nowMs: number): void {
    const replica = this.mesh?.replica;
    if (replica === undefined) return;
    this.agesAtMs = nowMs;
    this.resyncs.check(replica, nowMs);
    const views = viewRegions(replica, this.removed, nowMs);
    this.board.publish(() => this.board.setRegions(views.map(({ asOfMs }) => asOfMs)));
    const isSame =
      views.length === this.shownRegions.length && views.every(({ region }, at) => region === this.shownRegions[at]);
    if (isSame) return;
    this.shownRegions = views.map(({ region }) => region);
    this.describe();
  }

  /** At most one update per interval, however many connections are turned away. */
  private describeSoon(): void {
    this.describing ??= setTimeout(() => {
      this.describing = undefined;
      this.describe();
    }, DESCRIPTION_INTERVAL_MS);
  }

  private describe(): void {
    this.describedAtMs = systemMonotonicMs();
    const description = this.description();
    this.board.publish(() => this.board.setDescription(description));
  }

  private description(): ReplicationDescription {
    const { config, origin } = this.options;
    const name = nameOfOrigin(origin);
    return {
      cluster: config.cluster,
      region: config.region,
      replicaId: name.slice(0, REPLICA_ID_DIGITS),
      incarnation: name.slice(REPLICA_ID_DIGITS),
      isActive: this.mesh?.replica !== undefined,
      isEncrypted: this.network?.isEncrypted ?? false,
      port: this.port,
      peers: this.mesh === undefined ? [] : describePeers(this.mesh, this.journal),
      regions: this.shownRegions,
      refusals: this.journal.refusals,
      faults: this.journal.faults,
    };
  }

  private reportProgress(nowMs: number): void {
    if (nowMs - this.reportedAtMs < PROGRESS_INTERVAL_MS || this.mesh === undefined) return;
    this.reportedAtMs = nowMs;
    for (const { region, joinedPercent } of describePeers(this.mesh, this.journal)) {
      if (joinedPercent < 100)
        this.options.logger.info(
          { peer: region, percent: joinedPercent, keys: this.options.engine.keyCount() },
          'copying',
        );
    }
  }
}
