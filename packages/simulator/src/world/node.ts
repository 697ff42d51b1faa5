import { nameOfOrigin, REPLICA_ID_BYTES, replicaIdOf } from '@quotadb/replication';
import { StorageError } from '@quotadb/storage';
import type { Cluster } from './cluster.js';
import { SimulatedDisk } from './disk.js';
import type { RegionPlan } from './plan.js';
import { CLUSTER, NodeProcess } from './process.js';

/** The errors of a disk that is failing. */
const DISK_ERRORS: readonly string[] = ['EIO', 'ENOSPC'];

/** A replica from its first start to the end of the schedule, through all its processes. */
export class SimulatedNode {
  readonly region: string;
  readonly cluster: Cluster;
  readonly disk: SimulatedDisk | undefined;
  readonly peers = new Set<string>();
  incarnation: number;
  /** Processes that this incarnation has had. */
  processesTotal = 0;
  origin = new Uint8Array();
  originName = '';
  /** Of all its incarnations, the current one last. */
  readonly allOrigins: Uint8Array[] = [];
  skewMs: number;
  /** By how much its clock is wrong for a while, beyond the bound on the skew of clocks. */
  leapMs = 0;
  /** It has run with a clock that was far ahead, and its data was not dated anew since. */
  isDatedAhead = false;
  /** Files of its disk, or the end of one, were lost: no process may start from it until it is repaired. */
  isDamaged = false;
  isRepaired = true;
  /** An old copy of its disk was put back, and no process has started from it yet. */
  isRestored = false;
  tickMs: number;
  flushMs: number;
  process: NodeProcess | undefined = undefined;
  hasLeft = false;

  constructor(cluster: Cluster, { region, hasDisk, skewMs }: RegionPlan, incarnation = 0) {
    this.incarnation = incarnation;
    this.cluster = cluster;
    this.region = region;
    this.skewMs = skewMs;
    this.tickMs = cluster.plan.tickMs;
    this.flushMs = cluster.plan.flushMs;
    if (hasDisk) this.disk = new SimulatedDisk(cluster.scheduler, cluster.random, cluster.plan.disk);
    this.takeNewIncarnation();
  }

  /** A node that starts without the state of its last process needs another identity. */
  takeNewIncarnation(): void {
    this.incarnation++;
    this.processesTotal = 0;
    this.isRestored = false;
    this.origin = new Uint8Array(32);
    this.origin.set(replicaIdOf(CLUSTER, this.region));
    for (let at = REPLICA_ID_BYTES; at < 31; at++) this.origin[at] = this.cluster.random.below(256);
    this.origin[31] = this.incarnation;
    this.originName = nameOfOrigin(this.origin);
    this.allOrigins.push(this.origin);
  }

  get hasDisk(): boolean {
    return this.disk !== undefined;
  }

  /** What its clock shows. */
  wallMs(): number {
    return Math.floor(this.cluster.scheduler.nowMs + this.cluster.aheadMs + this.skewMs + this.leapMs);
  }

  /** The time that its process goes by, which need not follow a clock that leaps. */
  nowMs(): number {
    return this.process?.clock.now() ?? this.wallMs();
  }

  get running(): NodeProcess | undefined {
    return this.process?.isRunning ? this.process : undefined;
  }

  start(): void {
    const { cluster } = this;
    if (!cluster.mayStartAhead) this.leapMs = 0;
    if (this.disk?.notes.oldCopy?.origin === this.originName) this.takeNewIncarnation();
    this.processesTotal++;
    const process = new NodeProcess(this);
    this.process = process;
    cluster.scheduler.settled();
    process.start().catch((error: Error) => {
      if (process.isOver) return;
      cluster.said(`${process.label} does not start: ${error.message}`);
      process.isOver = true;
      if (this.process === process) this.process = undefined;
      if (this.isDamaged && error instanceof StorageError) {
        cluster.operator.repair(this);
        return;
      }
      // A segment that was left behind after a failure, and never synced, may be shorter than the next one says.
      if (cluster.plan.isUnsynced && error instanceof StorageError) cluster.amnesia(this);
      else if (!DISK_ERRORS.includes(error.message)) cluster.failed(`${process.label} does not start: ${error.stack}`);
      // The disk failed while it was opened: the supervisor starts the process again.
      else cluster.scheduler.after(cluster.plan.redialMs, () => this.startUnlessUp());
    });
  }

  /** From now on timers run at most once in this interval. */
  slowDown(intervalMs: number): void {
    this.tickMs = Math.max(this.tickMs, intervalMs);
    this.flushMs = Math.max(this.flushMs, intervalMs);
  }

  startUnlessUp(): void {
    if (this.process === undefined && !this.hasLeft && this.isRepaired) this.start();
  }

  /** The process ends here and now; nothing that it waits for is ever answered. */
  end(): void {
    if (this.process === undefined) return;
    this.process.isOver = true;
    this.process.isRunning = false;
    this.process = undefined;
  }

  dialPeers(process: NodeProcess): void {
    for (const region of this.peers) if (!process.replica.isConnected(region)) this.cluster.dial(process, region);
  }
}
