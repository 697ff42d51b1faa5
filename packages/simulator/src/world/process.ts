import { Acknowledgements, admittedUntilMs, Engine, type Holder, OWN_ORIGIN, type ReDating } from '@quotadb/engine';
import { ClockWatch, clocksOf, type Link, type LinkTransport, Replica, reDatingOf } from '@quotadb/replication';
import { GuardedClock } from '@quotadb/resp';
import { Disk } from '@quotadb/storage';
import type { QuotaFrame } from '@quotadb/wire';
import { DIRECTORY } from './disk.js';
import type { Endpoint } from './network.js';
import type { SimulatedNode } from './node.js';
import { foundOldCopy, isOfOldCopy, ProcessStarts } from './old-copies.js';

export const CLUSTER = 'simulated';
const EXPIRED_PER_TICK = 50;
/** The interval at which a server follows its clock. */
const FOLLOW_INTERVAL_MS = 1000;
/** Longer than any schedule. */
const LONGEST_RUN_MS = 1e10;
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
  readonly clock: GuardedClock;
  readonly engine: Engine;
  isRunning = false;
  isOver = false;
  isPaused = false;
  /** A frame has arrived since the last tick. */
  isStirred = false;
  disk: Disk | undefined = undefined;
  /** Set when the process runs. */
  replica!: Replica;
  service: ProcessService | undefined = undefined;
  /** Where old copies of disks are put back. */
  starts: ProcessStarts | undefined = undefined;
  /** It has begun as a new incarnation, from an old copy. */
  hasCarried = false;
  /** Its memory was full at some time. */
  wasFull = false;
  private readonly acknowledgements: Acknowledgements;
  private readonly diskHolder: Holder | undefined;
  private readonly bootedAtMs: number;
  private readonly ballast: number[] = [];
  /** By shard: its last own version on the disk, where that was written with a clock far ahead and is dated anew. */
  datedAhead: readonly number[] | undefined = undefined;
  /** Which process is at the other end of each link; the last link to each region; when links ended. */
  private readonly ends = new WeakMap<Link, NodeProcess>();
  private readonly links = new Map<string, Link>();
  private readonly closedAtMs = new WeakMap<Link, number>();
  private readonly clockWatch: ClockWatch;
  private followedAtMs = Number.NEGATIVE_INFINITY;
  private isFlushDue = false;
  private tickedAtMs = Number.NEGATIVE_INFINITY;
  private tickedVersions = '';

  constructor(node: SimulatedNode) {
    this.node = node;
    const { plan, scheduler, random, memoryBytes } = node.cluster;
    this.bootedAtMs = scheduler.nowMs;
    this.clock = new GuardedClock({
      source: { now: () => node.wallMs(), monotonic: () => this.monotonicMs() },
      skewBoundMs: plan.settings.skewBoundMs,
      // Where all clocks are put forward alike, so is this one.
      monotonicMs: () => this.monotonicMs() + node.cluster.aheadMs,
    });
    this.engine = Engine.format({
      maxMemoryBytes: memoryBytes,
      origin: node.origin,
      nowMs: this.clock.now(),
      hashSecret: new Uint8Array(Int32Array.of(random.below(2 ** 31), 0, 0, 0).buffer),
      shardCount: plan.shardCount,
      expiryGraceMs: plan.graceMs,
    });
    if (node.leapMs !== 0) {
      node.isDatedAhead = true;
      node.cluster.latestLeapMs = Math.max(node.cluster.latestLeapMs, node.wallMs() + LONGEST_RUN_MS);
    }
    this.acknowledgements = new Acknowledgements(this.engine);
    this.acknowledgements.joinPeers();
    if (node.disk !== undefined) this.diskHolder = this.acknowledgements.join();
    const { disk } = node;
    this.clockWatch = new ClockWatch({
      skewBoundMs: plan.settings.skewBoundMs,
      keep: disk && ((note) => Object.assign(disk.notes, { clock: note })),
      found: () => node.cluster.foundAhead(this),
    });
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
    cluster.options.prepare?.(this);
    if (node.disk !== undefined) {
      const holder = this.diskHolder as Holder;
      const { oldCopy } = node.disk.notes;
      const { disk, recovered } = await Disk.open({
        directory: DIRECTORY,
        engine: this.engine,
        fsync: cluster.plan.isUnsynced ? 'never' : cluster.plan.flushMs,
        snapshotLogBytes: Number.POSITIVE_INFINITY,
        fileSystem: node.disk.fileSystem(() => !this.isOver),
        now: () => this.clock.now(),
        reDating: (dataMs) => this.reDating(dataMs),
        expectsManifest: node.disk.notes.hasManifest,
        oldCopy,
        acknowledge: (shard, version) => holder.acknowledge(shard, version),
      });
      if (this.isOver) return;
      this.disk = disk;
      if (recovered.reDated !== undefined) node.isDatedAhead = false;
      node.disk.notes.hasManifest = true;
      if (!this.isAhead(this.engine.nowMs)) node.disk.notes.clock = undefined;
      node.disk.notes.oldCopy = undefined;
      this.hasCarried = oldCopy !== undefined;
      const place = { segment: recovered.nextNumber, previousEnd: recovered.previousEnd };
      if (cluster.hasCopies) this.starts = new ProcessStarts(this, place, this.hasCarried || node.processesTotal === 1);
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
      clock: { monotonicMs: () => this.monotonicMs(), wallMs: () => node.wallMs(), nowMs: () => this.clock.now() },
      acknowledgements,
      ...(disk && {
        durable: (shard: number) => disk.durable(shard),
        durableOf: (shard: number, origin: number) => disk.durableOf(shard, origin),
      }),
      ...(this.starts && { starts: this.starts.starts, release: this.starts.release }),
      settings: cluster.plan.settings,
      boot: node.processesTotal * 1000 + node.incarnation,
      events: {
        refused: (link, { code, message }, by) => {
          cluster.said(`${this.label} and ${link.region}: refused (${code}) ${by}`);
          if (code === 'amnesia' && isOfOldCopy(this, by)) return;
          if (code === 'amnesia' && cluster.plan.isUnsynced) cluster.amnesia(node);
          else if (!HARMLESS_REFUSALS.includes(code))
            cluster.failed(`${this.label} refused ${link.region}: ${message}`);
        },
        established: (link) => {
          this.checkName(link);
          this.service?.established(link);
        },
        closed: (link) => {
          this.closedAtMs.set(link, cluster.scheduler.nowMs);
          this.service?.closed(link);
        },
        quota: (link, frame) => this.service?.hear(link, frame),
        silent: (link) => cluster.said(`${this.label} hears nothing of ${link.region} any more`),
        mismatch: (link, origin, shard) =>
          cluster.said(`${this.label} and ${link.region} differ in ${cluster.nameOf(origin)}/${shard}`),
        oldCopy: (_, proof) => foundOldCopy(this, proof),
        givenUp: ({ region }) => cluster.said(`${this.label} does not wait for ${region} any more`),
      },
    });
  }

  open(transport: LinkTransport, to: Endpoint, isDialed: boolean): Link {
    this.isStirred = true;
    const expected = isDialed && { expectedRegion: to.region };
    const link = this.replica.open(transport, { isDialed, address: to.region, ...expected });
    this.ends.set(link, to as NodeProcess);
    return link;
  }

  /** Advances the engine to the time of this node, then does everything that is due. */
  private tick(): boolean {
    this.follow();
    this.advance();
    this.engine.expireSome(EXPIRED_PER_TICK);
    const hasMore = this.replica.tick();
    this.service?.tick();
    return hasMore;
  }

  /** No process is let in under a name while the process that has it is linked: it would be ended for the other. */
  private checkName(link: Link): void {
    const { region } = link;
    const end = this.ends.get(link);
    const before = this.links.get(region);
    this.links.set(region, link);
    if (before === undefined || end === undefined) return;
    const other = this.ends.get(before) as NodeProcess;
    const { cluster } = this.node;
    const isEndedForIt = (this.closedAtMs.get(before) ?? cluster.scheduler.nowMs) === cluster.scheduler.nowMs;
    if (other !== end && other.isRunning && isEndedForIt)
      cluster.failed(`${this.label} lets in ${end.label} as ${region}, and ends its link to ${other.label} for it`);
  }

  /** Brings the engine to the time of this process. */
  advance(): void {
    this.engine.advanceTo(this.clock.now());
  }

  /** As in a server, once a second: follows the clock of the machine, and compares it with those of peers. */
  private follow(): void {
    const nowMs = this.monotonicMs();
    if (nowMs - this.followedAtMs < FOLLOW_INTERVAL_MS) return;
    this.followedAtMs = nowMs;
    this.clock.follow(clocksOf(this.replica.links));
    // When all clocks are put forward, what peers last said of theirs is from before.
    if (this.node.cluster.aheadMs === 0) this.clockWatch.check(this.replica);
  }

  private isAhead(dataMs: number): boolean {
    return dataMs > admittedUntilMs(this.clock.now(), this.node.cluster.plan.settings.skewBoundMs);
  }

  /** As in a server: whether data that is later than the clock is dated anew. */
  private reDating(dataMs: number): ReDating | undefined {
    const { node, engine } = this;
    if (node.processesTotal === 1) return undefined;
    const { skewBoundMs } = node.cluster.plan.settings;
    const hasPeers = node.peers.size > 0 || engine.origins.count > 1;
    const { shardCount } = engine;
    const reDating = reDatingOf({
      dataMs,
      nowMs: this.clock.now(),
      skewBoundMs,
      shardCount,
      hasPeers,
      note: node.disk?.notes.clock,
    });
    if (reDating !== undefined)
      this.datedAhead = Array.from({ length: shardCount }, (_, shard) => this.ownSequence(shard));
    return reDating;
  }

  private scheduleTick(): void {
    const { scheduler, random } = this.node.cluster;
    const again = (isSoon: boolean) => {
      const { tickMs } = this.node;
      scheduler.after(isSoon ? tickMs / 20 : tickMs * (0.5 + random.next()), () => {
        if (!this.isRunning) return;
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
      if (this.isRunning) this.flush(() => this.scheduleFlush());
    });
  }

  /** A caller waits until the change that was just made is on disk. */
  flushSoon(): void {
    if (this.isFlushDue) return;
    this.isFlushDue = true;
    this.node.cluster.scheduler.after(0, () => {
      this.isFlushDue = false;
      if (this.isRunning) this.flush(() => {});
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
      this.advance();
      this.replica.prepareOwnChanges();
    });
    this.node.cluster.scheduler.settled();
    this.disk?.flush().then(
      () => {
        if (this.isRunning) this.guard(() => this.tick());
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
        if (!this.isRunning) return;
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
