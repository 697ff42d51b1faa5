import { Acknowledgements, Engine, type Holder, OWN_ORIGIN } from '@quotadb/engine';
import { type Link, type LinkTransport, Replica } from '@quotadb/replication';
import { Disk } from '@quotadb/storage';
import type { QuotaFrame } from '@quotadb/wire';
import type { Endpoint } from './network.js';
import type { SimulatedNode } from './node.js';

export const CLUSTER = 'simulated';
const DIRECTORY = '/data';
const EXPIRED_PER_TICK = 50;
/** The pacemaker ticks this often without a reason. */
const IDLE_TICK_MS = 250;
/**
 * Refusals without a fault: two replicas that dial each other at once, a member that was removed, and a process that
 * was started anew before its peers have found that the one before is gone.
 */
const HARMLESS_REFUSALS: readonly string[] = ['duplicate', 'removed', 'twin'];

/** A part of a process beside its replica, such as quotas. */
export interface ProcessService {
  tick(): void;
  established(link: Link): void;
  closed(link: Link): void;
  hear(link: Link, frame: QuotaFrame): void;
}

/** One run of a node's process, with everything that is lost when it ends. */
export class NodeProcess implements Endpoint {
  readonly node: SimulatedNode;
  readonly engine: Engine;
  isRunning = false;
  isOver = false;
  isPaused = false;
  /** A frame has arrived since the last tick. */
  isStirred = false;
  disk: Disk | undefined = undefined;
  /** Of a process that runs. */
  replica!: Replica;
  service: ProcessService | undefined = undefined;
  /** Its memory was full at some time. */
  wasFull = false;
  private readonly acknowledgements: Acknowledgements;
  private readonly diskHolder: Holder | undefined;
  private readonly bootedAtMs: number;
  private readonly ballast: number[] = [];
  private isFlushDue = false;
  private tickedAtMs = Number.NEGATIVE_INFINITY;
  private tickedVersions = '';

  constructor(node: SimulatedNode) {
    this.node = node;
    const { plan, scheduler, random, memoryBytes } = node.cluster;
    this.bootedAtMs = scheduler.nowMs;
    this.engine = Engine.format({
      maxMemoryBytes: memoryBytes,
      origin: node.origin,
      nowMs: node.wallMs(),
      hashSecret: new Uint8Array(Int32Array.of(random.below(2 ** 31), 0, 0, 0).buffer),
      shardCount: plan.shardCount,
      expiryGraceMs: plan.graceMs,
    });
    this.acknowledgements = new Acknowledgements(this.engine);
    this.acknowledgements.joinPeers();
    if (node.disk !== undefined) this.diskHolder = this.acknowledgements.join();
  }

  get region(): string {
    return this.node.region;
  }

  get origin(): string {
    return this.node.originName;
  }

  get label(): string {
    return `${this.region}.${this.node.incarnation}`;
  }

  /** Differs between processes, as monotonic clocks do. */
  monotonicMs(): number {
    return this.node.cluster.scheduler.nowMs - this.bootedAtMs + 1000;
  }

  async start(): Promise<void> {
    const { node } = this;
    const { cluster } = node;
    if (node.disk !== undefined) {
      const holder = this.diskHolder as Holder;
      const { disk } = await Disk.open({
        directory: DIRECTORY,
        engine: this.engine,
        fsync: cluster.plan.isUnsynced ? 'never' : cluster.plan.flushMs,
        snapshotLogBytes: Number.POSITIVE_INFINITY,
        fileSystem: node.disk.fileSystem(() => !this.isOver),
        now: () => node.wallMs(),
        acknowledge: (shard, version) => holder.acknowledge(shard, version),
      });
      if (this.isOver) return;
      this.disk = disk;
    }
    this.replica = this.makeReplica();
    this.service = cluster.serviceOf(this);
    this.isRunning = true;
    cluster.started(node, this);
    if (cluster.plan.beatMs === undefined) this.scheduleTick();
    else this.beat(cluster.plan.beatMs);
    if (this.disk !== undefined) this.scheduleFlush();
    this.scheduleDial();
  }

  private makeReplica(): Replica {
    const { node, engine, acknowledgements, disk } = this;
    const { cluster } = node;
    return new Replica({
      engine,
      identity: { cluster: CLUSTER, region: node.region, origin: node.origin, agreements: [] },
      clock: { monotonicMs: () => this.monotonicMs(), wallMs: () => node.wallMs(), nowMs: () => node.wallMs() },
      acknowledgements,
      ...(disk && {
        durable: (shard: number) => disk.durable(shard),
        durableOf: (shard: number, origin: number) => disk.durableOf(shard, origin),
      }),
      settings: cluster.plan.settings,
      boot: node.processesTotal * 1000 + node.incarnation,
      events: {
        refused: (link, { code, message }, by) => {
          cluster.said(`${this.label} and ${link.region}: refused (${code}) ${by}`);
          if (code === 'amnesia' && cluster.plan.isUnsynced) cluster.amnesia(node);
          else if (!HARMLESS_REFUSALS.includes(code))
            cluster.failed(`${this.label} refused ${link.region}: ${message}`);
        },
        established: (link) => this.service?.established(link),
        closed: (link) => this.service?.closed(link),
        quota: (link, frame) => this.service?.hear(link, frame),
        silent: (link) => cluster.said(`${this.label} hears nothing of ${link.region} any more`),
        mismatch: (link, origin, shard) =>
          cluster.said(`${this.label} and ${link.region} differ in ${cluster.nameOf(origin)}/${shard}`),
        givenUp: ({ region }) => cluster.said(`${this.label} does not wait for ${region} any more`),
      },
    });
  }

  open(transport: LinkTransport, toRegion: string, isDialed: boolean): Link {
    this.isStirred = true;
    const expected = isDialed && { expectedRegion: toRegion };
    return this.replica.open(transport, { isDialed, address: toRegion, ...expected });
  }

  /** Advances the engine to the time of this node, then does everything that is due. */
  private tick(): boolean {
    this.engine.advanceTo(this.node.wallMs());
    this.engine.expireSome(EXPIRED_PER_TICK);
    const hasMore = this.replica.tick();
    this.service?.tick();
    return hasMore;
  }

  private scheduleTick(): void {
    const { scheduler, random } = this.node.cluster;
    const again = (isSoon: boolean) => {
      const { tickMs } = this.node;
      scheduler.after(isSoon ? tickMs / 20 : tickMs * (0.5 + random.next()), () => {
        if (this.isOver) return;
        again(!this.isPaused && this.guard(() => this.tick()) === true);
      });
    };
    again(false);
  }

  /** As the server's pacemaker: ticks where a frame has arrived, a change was made, or it is time. */
  private beat(beatMs: number): void {
    if (this.isOver) return;
    const { scheduler, plan } = this.node.cluster;
    const versions = Array.from({ length: plan.shardCount }, (_, shard) => this.ownSequence(shard)).join();
    const isDue = scheduler.nowMs - this.tickedAtMs >= IDLE_TICK_MS;
    if (this.isStirred || versions !== this.tickedVersions || isDue) {
      this.tickedAtMs = scheduler.nowMs;
      this.tickedVersions = versions;
      this.isStirred = false;
      this.isStirred = this.guard(() => this.tick()) === true;
    }
    scheduler.after(beatMs, () => this.beat(beatMs));
  }

  private scheduleFlush(): void {
    const { scheduler, random } = this.node.cluster;
    scheduler.after(this.node.flushMs * (0.5 + random.next()), () => {
      if (!this.isOver) this.flush(() => this.scheduleFlush());
    });
  }

  /** A caller waits until the change that was just made is on disk. */
  flushSoon(): void {
    if (this.isFlushDue) return;
    this.isFlushDue = true;
    this.node.cluster.scheduler.after(0, () => {
      this.isFlushDue = false;
      if (!this.isOver) this.flush(() => {});
    });
  }

  private flush(done: () => void): void {
    if (this.isPaused) {
      done();
      return;
    }
    // As in a server: the replica prepares the changes that are about to be flushed, and sends them when they are on
    // disk.
    this.guard(() => {
      this.engine.advanceTo(this.node.wallMs());
      this.replica.prepareOwnChanges();
    });
    this.node.cluster.scheduler.settled();
    this.disk?.flush().then(
      () => {
        if (!this.isOver) this.guard(() => this.tick());
        done();
      },
      (error: Error) => {
        this.node.cluster.said(`${this.label} cannot flush: ${error.message}`);
        done();
      },
    );
  }

  private scheduleDial(): void {
    const { scheduler, plan, random } = this.node.cluster;
    const again = () =>
      scheduler.after(plan.redialMs * (0.2 + random.next()), () => {
        if (this.isOver) return;
        if (!this.isPaused) this.node.dialPeers(this);
        again();
      });
    again();
  }

  /**
   * Leaves no memory for any change, or only the reserve for changes of keys that are there, as if other keys took it.
   */
  fillMemory(leavesReserve: boolean): void {
    const { pages } = this.engine.store;
    this.wasFull = true;
    for (let page = pages.take(1, leavesReserve); page !== 0; page = pages.take(1, leavesReserve))
      this.ballast.push(page);
  }

  freeMemory(): void {
    for (const page of this.ballast.splice(0)) this.engine.store.pages.give(page, 1);
  }

  get isFull(): boolean {
    return this.ballast.length > 0;
  }

  /** The last version that this process gave to a change of its own. */
  ownSequence(shard: number): number {
    return this.engine.seen(shard, OWN_ORIGIN);
  }

  /** This process's watermark of an origin, by the origin's name. */
  seenOf(origin: string, shard: number): number {
    const index = this.engine.origins.find(Buffer.from(origin, 'hex'));
    return index === -1 ? 0 : this.engine.seen(shard, index);
  }

  private guard<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.node.cluster.failed(`${this.label}: ${(error as Error).stack}`);
      return undefined;
    }
  }
}
