import { Acknowledgements, Engine, type Holder, OWN_ORIGIN } from '@quotadb/engine';
import type { Random } from '@quotadb/engine/testing';
import {
  type Link,
  type LinkTransport,
  nameOfOrigin,
  REPLICA_ID_BYTES,
  Replica,
  replicaIdOf,
} from '@quotadb/replication';
import { Disk, StorageError } from '@quotadb/storage';
import type { Endpoint } from './network.js';
import type { Plan, RegionPlan } from './plan.js';
import type { QuotaParts } from './quotas/quota-parts.js';
import type { Scheduler } from './scheduler.js';
import { SimulatedDisk } from './simulated-disk.js';

export const CLUSTER = 'simulated';
const DIRECTORY = '/data';
const MEMORY_BYTES = 4 * 1024 * 1024;
const EXPIRED_PER_TICK = 50;

export interface NodeHost {
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly random: Random;
  /** By how much all clocks together are ahead of the scheduler's time. */
  readonly aheadMs: number;
  said(what: string): void;
  /** A short name for an origin, for people. */
  nameOf(origin: string): string;
  failed(what: string): void;
  /** Peers know more of this node than its disk does; where disks are not synced, that can be. */
  amnesia(node: SimulatedNode): void;
  /** The process is up, with what its disk gave back. */
  started(node: SimulatedNode, process: NodeProcess): void;
  /** Quotas of a process that has just begun, where the schedule has them. */
  quotasOf?(process: NodeProcess): QuotaParts;
  /** Puts a mistake into a process that has just begun. */
  plant?(process: NodeProcess): void;
}

/** One life of a node's process: everything that is gone when it ends. */
export class NodeProcess implements Endpoint {
  readonly node: SimulatedNode;
  readonly engine: Engine;
  readonly acknowledgements: Acknowledgements;
  readonly diskHolder: Holder | undefined;
  readonly bootedAtMs: number;
  isRunning = false;
  isOver = false;
  isPaused = false;
  disk: Disk | undefined = undefined;
  /** Of a process that runs. */
  replica!: Replica;
  quotas: QuotaParts | undefined = undefined;
  /** At some time there was no memory. */
  wasFull = false;
  private readonly ballast: number[] = [];
  private isFlushDue = false;

  constructor(node: SimulatedNode) {
    this.node = node;
    const { plan, scheduler } = node.host;
    this.bootedAtMs = scheduler.nowMs;
    this.engine = Engine.format({
      maxMemoryBytes: MEMORY_BYTES,
      origin: node.origin,
      nowMs: node.wallMs(),
      seed: node.host.random.below(2 ** 31),
      shardCount: plan.shardCount,
      expiryGraceMs: plan.graceMs,
    });
    this.acknowledgements = new Acknowledgements(this.engine);
    this.acknowledgements.joinPeers();
    if (node.hasDisk) this.diskHolder = this.acknowledgements.join();
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
    return this.node.host.scheduler.nowMs - this.bootedAtMs + 1000;
  }

  async start(): Promise<void> {
    const { node } = this;
    if (node.disk !== undefined) {
      const holder = this.diskHolder as Holder;
      const { disk } = await Disk.open({
        directory: DIRECTORY,
        engine: this.engine,
        fsync: node.host.plan.isUnsynced ? 'never' : node.host.plan.flushMs,
        snapshotLogBytes: Number.POSITIVE_INFINITY,
        fileSystem: node.disk.fileSystem(() => !this.isOver),
        now: () => node.wallMs(),
        acknowledge: (shard, version) => holder.acknowledge(shard, version),
      });
      if (this.isOver) return;
      this.disk = disk;
    }
    this.replica = this.makeReplica();
    this.quotas = node.host.quotasOf?.(this);
    this.isRunning = true;
    node.host.plant?.(this);
    node.host.started(node, this);
    this.scheduleTick();
    if (this.disk !== undefined) this.scheduleFlush();
    this.scheduleDial();
  }

  private makeReplica(): Replica {
    const { node, engine, acknowledgements, disk } = this;
    return new Replica({
      engine,
      identity: { cluster: CLUSTER, region: node.region, origin: node.origin, agreements: [] },
      clock: { monotonicMs: () => this.monotonicMs(), wallMs: () => node.wallMs() },
      acknowledgements,
      ...(disk && {
        durable: (shard: number) => disk.durable(shard),
        durableOf: (shard: number, origin: number) => disk.durableOf(shard, origin),
      }),
      settings: node.host.plan.settings,
      events: {
        refused: (link, { code, message }, by) => {
          node.host.said(`${this.label} and ${link.region}: refused (${code}) ${by}`);
          if (code === 'amnesia' && node.host.plan.isUnsynced) node.host.amnesia(node);
          else if (!HARMLESS_REFUSALS.includes(code))
            node.host.failed(`${this.label} refused ${link.region}: ${message}`);
        },
        established: (link) => this.quotas?.established(link),
        closed: (link) => this.quotas?.closed(link),
        quota: (link, frame) => this.quotas?.hear(link, frame),
        silent: (link) => node.host.said(`${this.label} hears nothing of ${link.region} any more`),
        mismatch: (link, origin, shard) =>
          node.host.said(`${this.label} and ${link.region} differ in ${node.host.nameOf(origin)}/${shard}`),
        givenUp: ({ region }) => node.host.said(`${this.label} does not wait for ${region} any more`),
      },
    });
  }

  open(carrier: LinkTransport, toRegion: string, isDialed: boolean): Link {
    return this.replica.open(carrier, {
      isDialed,
      address: toRegion,
      ...(isDialed && { expectedRegion: toRegion }),
    });
  }

  /** The time of this node, then everything that is due. */
  tick(): boolean {
    this.engine.advanceTo(this.node.wallMs());
    this.engine.expireSome(EXPIRED_PER_TICK);
    const hasMore = this.replica.tick();
    this.quotas?.tick();
    return hasMore;
  }

  private scheduleTick(): void {
    const { scheduler, random } = this.node.host;
    const again = (isSoon: boolean) => {
      const { tickMs } = this.node;
      scheduler.after(isSoon ? tickMs / 20 : tickMs * (0.5 + random.next()), () => {
        if (this.isOver) return;
        again(!this.isPaused && this.node.guard(this, () => this.tick()) === true);
      });
    };
    again(false);
  }

  private scheduleFlush(): void {
    const { scheduler, random } = this.node.host;
    scheduler.after(this.node.flushMs * (0.5 + random.next()), () => {
      if (!this.isOver) this.flush(() => this.scheduleFlush());
    });
  }

  /** Somebody waits for what was just changed to be on disk. */
  flushSoon(): void {
    if (this.isFlushDue) return;
    this.isFlushDue = true;
    this.node.host.scheduler.after(0, () => {
      this.isFlushDue = false;
      if (!this.isOver) this.flush(() => {});
    });
  }

  private flush(done: () => void): void {
    if (this.isPaused) {
      done();
      return;
    }
    // As a server does: what is about to be flushed is made ready for peers, and leaves when it is on disk.
    this.node.guard(this, () => {
      this.engine.advanceTo(this.node.wallMs());
      this.replica.prepareOwnChanges();
    });
    this.node.host.scheduler.settled();
    this.disk?.flush().then(
      () => {
        if (!this.isOver) this.node.guard(this, () => this.tick());
        done();
      },
      (error: Error) => {
        this.node.host.said(`${this.label} cannot flush: ${error.message}`);
        done();
      },
    );
  }

  private scheduleDial(): void {
    const { scheduler, plan, random } = this.node.host;
    const again = () =>
      scheduler.after(plan.redialMs * (0.2 + random.next()), () => {
        if (this.isOver) return;
        if (!this.isPaused) this.node.dialPeers(this);
        again();
      });
    again();
  }

  /** There is no memory for anything more, or only for what is there already, as if other keys had taken it. */
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

  /** Of the own origin: what was given out last. */
  ownSequence(shard: number): number {
    return this.engine.seen(shard, OWN_ORIGIN);
  }

  /** How far this process has come with an origin, by name. */
  seenOf(origin: string, shard: number): number {
    const index = this.engine.origins.find(this.node.idOf(origin));
    return index === -1 ? 0 : this.engine.seen(shard, index);
  }
}

/** These are part of normal life: two that dial each other at once, and one that was removed. */
const HARMLESS_REFUSALS: readonly string[] = ['duplicate', 'removed'];

/** A replica from its first start to the end of the schedule, through all its processes. */
export class SimulatedNode {
  readonly region: string;
  readonly host: NodeHost;
  readonly hasDisk: boolean;
  readonly disk: SimulatedDisk | undefined;
  readonly peers = new Set<string>();
  incarnation = 0;
  /** Of this incarnation, up to now. */
  processesTotal = 0;
  origin: Uint8Array;
  originName: string;
  /** Of all its incarnations, the one of now last. */
  readonly allOrigins: Uint8Array[] = [];
  skewMs: number;
  tickMs: number;
  flushMs: number;
  process: NodeProcess | undefined = undefined;
  /** It left for good. */
  hasLeft = false;
  private readonly dial: (from: NodeProcess, region: string) => void;
  private readonly ids = new Map<string, Uint8Array>();

  constructor(host: NodeHost, { region, hasDisk, skewMs }: RegionPlan, dial: (from: NodeProcess, to: string) => void) {
    this.host = host;
    this.region = region;
    this.hasDisk = hasDisk;
    this.skewMs = skewMs;
    this.tickMs = host.plan.tickMs;
    this.flushMs = host.plan.flushMs;
    this.dial = dial;
    if (hasDisk) this.disk = new SimulatedDisk(host.scheduler, host.random, host.plan.disk);
    this.origin = new Uint8Array();
    this.originName = '';
    this.takeNewIncarnation();
  }

  /** Who starts without what the last life knew is somebody else. */
  takeNewIncarnation(): void {
    this.incarnation++;
    this.processesTotal = 0;
    this.origin = Buffer.alloc(32);
    this.origin.set(replicaIdOf(CLUSTER, this.region));
    for (let at = REPLICA_ID_BYTES; at < 31; at++) this.origin[at] = this.host.random.below(256);
    this.origin[31] = this.incarnation;
    this.originName = nameOfOrigin(this.origin);
    this.allOrigins.push(this.origin);
  }

  wallMs(): number {
    return Math.floor(this.host.scheduler.nowMs + this.host.aheadMs + this.skewMs);
  }

  get running(): NodeProcess | undefined {
    return this.process?.isRunning ? this.process : undefined;
  }

  start(): void {
    this.processesTotal++;
    const process = new NodeProcess(this);
    this.process = process;
    this.host.scheduler.settled();
    process.start().catch((error: Error) => {
      if (process.isOver) return;
      // A disk that fails while it is being opened: whoever watches over the process starts it again.
      this.host.said(`${process.label} does not start: ${error.message}`);
      process.isOver = true;
      if (this.process === process) this.process = undefined;
      // A segment that was left behind after a failure, and never synced, may be shorter than the next one says.
      if (this.host.plan.isUnsynced && error instanceof StorageError) this.host.amnesia(this);
      else if (!DISK_ERRORS.includes(error.message))
        this.host.failed(`${process.label} does not start: ${error.stack}`);
      else this.host.scheduler.after(this.host.plan.redialMs, () => this.startUnlessUp());
    });
  }

  /** From now on timers run no more often than so. */
  slowDown(intervalMs: number): void {
    this.tickMs = Math.max(this.tickMs, intervalMs);
    this.flushMs = Math.max(this.flushMs, intervalMs);
  }

  startUnlessUp(): void {
    if (this.process === undefined && !this.hasLeft) this.start();
  }

  /** The process ends here and now; what it was waiting for never comes. */
  end(): void {
    if (this.process === undefined) return;
    this.process.isOver = true;
    this.process.isRunning = false;
    this.process = undefined;
  }

  dialPeers(process: NodeProcess): void {
    for (const region of this.peers) if (!process.replica.isConnected(region)) this.dial(process, region);
  }

  guard<T>(process: NodeProcess, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.host.failed(`${process.label}: ${(error as Error).stack}`);
      return undefined;
    }
  }

  idOf(origin: string): Uint8Array {
    let id = this.ids.get(origin);
    if (id === undefined) {
      id = Buffer.from(origin, 'hex');
      this.ids.set(origin, id);
    }
    return id;
  }
}

/** What a disk that is failing says. */
const DISK_ERRORS: readonly string[] = ['EIO', 'ENOSPC'];
