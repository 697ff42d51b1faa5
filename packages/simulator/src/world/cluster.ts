import { Batch } from '@quotadb/engine';
import { Random } from '@quotadb/engine/testing';
import { nameOfOrigin } from '@quotadb/replication';
import { decodeFrame, type Frame, FrameKind } from '@quotadb/wire';
import { describeFrame } from './describe-frame.js';
import { Network } from './network.js';
import { SimulatedNode } from './node.js';
import type { Plan, Step } from './plan.js';
import type { NodeProcess, ProcessService } from './process.js';
import { Scheduler } from './scheduler.js';

export interface SimulationOptions {
  /** Keeps a line for every event. */
  readonly traces?: boolean;
  /** Only these steps of the plan are taken: the rest of a schedule that was made smaller. */
  readonly only?: ReadonlySet<number>;
  /** Disks are written and never synced, as with --fsync never. */
  readonly isUnsynced?: boolean;
  /** Plants a mistake in every process as it begins: the simulation has to find it. */
  readonly plant?: (process: NodeProcess) => void;
  /** A node that lost its state takes up its old identity: a mistake, for plants. */
  readonly keepsIncarnation?: boolean;
}

/** A mistake that a programmer could make, put into every process: a simulation that cannot find it proves nothing. */
export interface Mistake extends Pick<SimulationOptions, 'plant' | 'keepsIncarnation'> {
  readonly name: string;
}

export interface Outcome<AnyPlan extends Plan<string> = Plan<string>> {
  readonly seed: number;
  readonly failures: readonly string[];
  readonly trace: readonly string[];
  readonly plan: AnyPlan;
}

type StepOf<AnyPlan extends Plan<string>> = Step<AnyPlan['steps'][number]['kind']>;

/** A multiple of the length of every window. */
export const START_MS = Date.UTC(2026, 5, 1);
const MEMORY_BYTES = 4 * 1024 * 1024;
/** All replicas are checked after each group of this many steps. */
const STEPS_BETWEEN_CHECKS = 5;
const HEALING_TICK_MS = 100;
/** The tag that a frame with a batch begins with. */
const BATCH_TAG = (FrameKind.batch << 3) | 2;

/**
 * Replicas, their network, and the steps of a schedule. A subclass for each use (counters, quotas, rates) says what
 * clients do and what must hold.
 */
export abstract class Cluster<AnyPlan extends Plan<string> = Plan<string>> {
  readonly plan: AnyPlan;
  readonly scheduler = new Scheduler(START_MS);
  readonly random: Random;
  readonly network: Network;
  readonly nodes: SimulatedNode[] = [];
  readonly failures: string[] = [];
  readonly memoryBytes: number = MEMORY_BYTES;
  /** A step may ask for time to pass before the next one. */
  waitMs = 0;
  /** Nodes that lost their state. */
  lossesTotal = 0;
  /** By how much all clocks together are ahead of the scheduler's time. */
  aheadMs = 0;
  protected readonly options: SimulationOptions;
  protected readonly trace: string[] = [];
  /** By origin and shard: the newest own version that was sent to a peer. */
  protected readonly sentVersions = new Map<string, number>();
  private readonly batch = new Batch();
  private readonly labels = new Map<string, string>();

  constructor(plan: AnyPlan, options: SimulationOptions) {
    this.plan = plan;
    this.options = options;
    this.random = new Random(plan.seed ^ 0x5eed);
    this.network = new Network(this.scheduler, this.random, plan.network, {
      sent: (from, to, frame) => this.sent(from as NodeProcess, to as NodeProcess, frame),
      arrived: (from, to, frame) => this.arrived(from.region, to as NodeProcess, frame),
      failed: (at, error) => this.failed(`${(at as NodeProcess).label}: ${error.stack}`),
      said: (what) => this.said(what),
    });
  }

  // ---- for each use of the replicas ---------------------------------------------------------------------------------

  protected abstract act(step: StepOf<AnyPlan>, process: NodeProcess, random: Random): void;
  abstract checkAll(): void;
  /** All trouble has ended, and all nodes run or are about to. */
  protected abstract end(): Promise<void>;
  /** A part that a process has beside its replica. */
  serviceOf(_process: NodeProcess): ProcessService | undefined {
    return undefined;
  }
  protected up(_node: SimulatedNode, _process: NodeProcess): void {}
  /** A process that runs is about to end. */
  protected ending(_node: SimulatedNode, _process: NodeProcess): void {}
  /** A node lost its memory and disk; it still has its old identity. */
  protected losingState(_node: SimulatedNode): void {}
  /** A node lost its memory and disk, and the planted mistake lets it keep its identity. */
  protected keptIncarnation(_node: SimulatedNode): void {}
  /** A replica sends changes of its own. */
  protected sentBatch(_from: NodeProcess, _batch: Batch): void {}
  protected describeAll(): void {}

  // ---- the schedule -------------------------------------------------------------------------------------------------

  async run(): Promise<Outcome<AnyPlan>> {
    const { plan, failures, trace } = this;
    try {
      for (const region of plan.regions) this.addNode(region);
      this.wirePeers();
      for (const node of this.nodes) node.start();
      await this.takeSteps();
      if (failures.length === 0) await this.heal();
    } catch (error) {
      failures.push((error as Error).stack ?? String(error));
    }
    if (failures.length > 0 && this.options.traces) this.describeAll();
    for (const node of this.nodes) node.end();
    return { seed: plan.seed, failures, trace, plan };
  }

  private async takeSteps(): Promise<void> {
    let count = 0;
    for (const step of this.plan.steps) {
      await this.pass(step.afterMs);
      if (this.failures.length > 0) break;
      if (this.options.only !== undefined && !this.options.only.has(step.index)) continue;
      this.takeStep(step);
      if (this.waitMs > 0) await this.pass(this.waitMs);
      this.waitMs = 0;
      if (++count % STEPS_BETWEEN_CHECKS === 0) this.checkAll();
    }
  }

  protected pass(milliseconds: number): Promise<void> {
    return this.scheduler.runUntil(this.scheduler.nowMs + milliseconds, () => this.failures.length > 0);
  }

  private takeStep(step: StepOf<AnyPlan>): void {
    const random = new Random(step.seed);
    const processes = this.running();
    if (processes.length === 0) return;
    const process = random.pick(processes);
    this.said(`--- step ${step.index}: ${step.kind} (${process.label})`);
    process.engine.advanceTo(process.node.wallMs());
    this.act(step, process, random);
  }

  /** All trouble ends. */
  protected async heal(): Promise<void> {
    this.said('=== healing');
    this.network.heal();
    for (const node of this.nodes) {
      if (node.disk !== undefined) node.disk.isFailing = false;
      if (node.process !== undefined) node.process.isPaused = false;
      node.process?.freeMemory();
      node.slowDown(HEALING_TICK_MS * this.plan.unitMs);
      node.startUnlessUp();
    }
    await this.end();
  }

  /** How long a fault lasts: moments mostly, sometimes longer than any timeout. */
  trouble(random: Random): number {
    return random.next() * random.pick([100, 1000, 1000, 6000]) * this.plan.unitMs;
  }

  // ---- the trace ----------------------------------------------------------------------------------------------------

  said(what: string): void {
    const sinceMs = (this.scheduler.nowMs - START_MS).toFixed(1);
    if (this.options.traces) this.trace.push(`+${sinceMs.padStart(9)} ${what}`);
  }

  failed(what: string): void {
    this.said(`FAILED ${what}`);
    this.failures.push(what);
  }

  report(faults: readonly string[]): void {
    for (const fault of faults) this.failed(fault);
  }

  /** A short name for an origin, for people. */
  nameOf(origin: string): string {
    return this.labels.get(origin) ?? origin.slice(0, 6);
  }

  started(node: SimulatedNode, process: NodeProcess): void {
    this.options.plant?.(process);
    this.labels.set(process.origin, process.label);
    this.said(`${process.label} is up`);
    for (const region of node.peers) process.replica.addMember(region);
    for (const other of this.nodes) if (other.hasLeft) process.replica.removeMember(other.region);
    this.up(node, process);
  }

  /** No change of its own leaves a replica before its disk holds it. */
  protected sent(from: NodeProcess, to: NodeProcess, bytes: Uint8Array): void {
    if (this.options.traces) this.said(`${from.label} → ${to.region}: ${this.describe(bytes)}`);
    if (bytes[0] !== BATCH_TAG) return;
    const { batch } = decodeFrame(bytes, this.batch) as Extract<Frame, { kind: typeof FrameKind.batch }>;
    if (nameOfOrigin(batch.origin) !== from.origin) return;
    const newest = Math.max(batch.to, ...batch.version.subarray(0, batch.count));
    const name = `${from.origin}:${batch.shardIndex}`;
    this.sentVersions.set(name, Math.max(newest, this.sentVersions.get(name) ?? 0));
    if (from.disk !== undefined && newest > from.disk.durable(batch.shardIndex))
      this.failed(`${from.label} tells ${to.region} of a change that its disk does not hold`);
    this.sentBatch(from, batch);
  }

  private arrived(fromRegion: string, to: NodeProcess, bytes: Uint8Array): void {
    to.isStirred = true;
    to.engine.advanceTo(to.node.wallMs());
    if (this.options.traces) this.said(`${fromRegion} ⇒ ${to.label}: ${this.describe(bytes)}`);
  }

  private describe(bytes: Uint8Array): string {
    return describeFrame(decodeFrame(bytes), (origin) => this.nameOf(origin));
  }

  // ---- nodes --------------------------------------------------------------------------------------------------------

  running(): NodeProcess[] {
    return this.nodes.flatMap((node) => node.running ?? []);
  }

  present(): SimulatedNode[] {
    return this.nodes.filter((node) => !node.hasLeft);
  }

  addNode(region: Plan['regions'][number]): SimulatedNode {
    const node = new SimulatedNode(this, region);
    this.nodes.push(node);
    return node;
  }

  dial(from: NodeProcess, to: string): void {
    const target = this.nodes.find((other) => other.region === to)?.running;
    if (target !== undefined) this.network.dial(from, target);
  }

  /** Gives every node that is present its peers, in the topology of the plan. */
  wirePeers(): void {
    const nodes = this.present();
    const { topology } = this.plan;
    for (const node of nodes) node.peers.clear();
    for (const [index, node] of nodes.entries()) {
      if (topology === 'mesh') for (const other of nodes) if (other !== node) node.peers.add(other.region);
      if (topology === 'hub' && index > 0) this.pair(node, nodes[0]);
      if (topology === 'chain' && index > 0) this.pair(node, nodes[index - 1]);
    }
    for (const node of nodes) {
      for (const region of node.peers) node.running?.replica.addMember(region);
    }
  }

  /** The first dials the second; where the plan says so, the second has the first among its peers too. */
  private pair(one: SimulatedNode, other: SimulatedNode): void {
    one.peers.add(other.region);
    if (this.plan.isMutual) other.peers.add(one.region);
  }

  endProcess(node: SimulatedNode, isHeard: boolean): void {
    const { process } = node;
    if (process === undefined) return;
    if (process.isRunning) this.ending(node, process);
    this.network.drop(process, isHeard);
    node.end();
  }

  /** Memory and disk are gone: the node comes back as a new incarnation. */
  loseState(node: SimulatedNode): void {
    if (this.options.keepsIncarnation) {
      node.disk?.erase();
      this.keptIncarnation(node);
      return;
    }
    this.doubt(node);
    node.disk?.erase();
  }

  /**
   * The disk may hold less than peers know of the node: it comes back as a new incarnation, with the rest of its disk.
   */
  doubt(node: SimulatedNode): void {
    if (this.options.keepsIncarnation) return;
    this.lossesTotal++;
    this.losingState(node);
    node.takeNewIncarnation();
  }

  /** As the refusal, or the log, asks its operator to: the node is repaired and started as a new incarnation. */
  amnesia(node: SimulatedNode): void {
    const { process } = node;
    this.scheduler.after(0, () => {
      if (node.process !== process) return;
      this.said(`${process?.label} is started as a new incarnation`);
      this.endProcess(node, true);
      this.loseState(node);
      node.start();
    });
  }
}
