import type { Batch } from '@quotadb/engine';
import { Random } from '@quotadb/engine/testing';
import { decodeFrame } from '@quotadb/wire';
import { describeFrame } from './describe-frame.js';
import { Network } from './network.js';
import { SimulatedNode } from './node.js';
import { Operator } from './operator.js';
import type { Plan, Step } from './plan.js';
import type { NodeProcess, ProcessService } from './process.js';
import { Scheduler } from './scheduler.js';
import { SentChanges } from './sent-changes.js';
import { wirePeers } from './topology.js';

export interface SimulationOptions {
  /** Keeps a line for every event. */
  readonly traces?: boolean;
  /** Only these steps of the plan are taken: the rest of a schedule that was made smaller. */
  readonly only?: ReadonlySet<number>;
  /** Disks are written and never synced, as with --fsync never. */
  readonly isUnsynced?: boolean;
  /** Plants a mistake in every process as it begins: the simulation has to find it. */
  readonly plant?: (process: NodeProcess) => void;
  /** The same before a process reads its disk. */
  readonly prepare?: (process: NodeProcess) => void;
  /** A node that lost its state takes up its old identity: a mistake, for plants. */
  readonly keepsIncarnation?: boolean;
}

/** A mistake that a programmer could make, put into every process: a simulation that cannot find it proves nothing. */
export interface Mistake extends Pick<SimulationOptions, 'plant' | 'prepare' | 'keepsIncarnation'> {
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
/** Numbers of incarnations, in traces, that show a second process under one name. */
const TWIN_INCARNATION = 50;

/**
 * Replicas, their network, and the steps of a schedule. A subclass for each use (counters, quotas, rates) says what
 * clients do and what must hold.
 */
export abstract class Cluster<AnyPlan extends Plan<string> = Plan<string>> {
  readonly plan: AnyPlan;
  readonly scheduler: Scheduler;
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
  /** How far a clock that had leapt ahead at a start can have taken a replica. */
  latestLeapMs = 0;
  /** Nodes that run under the name of another one. */
  readonly twins: SimulatedNode[] = [];
  /** All that ever were. */
  readonly allNodes: SimulatedNode[] = [];
  readonly operator: Operator<AnyPlan> = new Operator(this);
  readonly options: SimulationOptions;
  /** Old copies of disks are put back in this schedule. */
  readonly hasCopies: boolean;
  protected readonly trace: string[] = [];
  protected readonly sentChanges = new SentChanges();
  private readonly labels = new Map<string, string>();

  constructor(plan: AnyPlan, options: SimulationOptions) {
    this.plan = plan;
    this.options = options;
    this.hasCopies = plan.steps.some(({ kind }) => kind === 'restoreCopy');
    this.scheduler = new Scheduler(plan.startMs ?? START_MS);
    this.random = new Random(plan.seed ^ 0x5eed);
    this.network = new Network(this.scheduler, this.random, plan.network, {
      sent: (from, to, frame) => this.sent(from as NodeProcess, to as NodeProcess, frame),
      arrived: (from, to, frame) => this.arrived(from.region, to as NodeProcess, frame),
      failed: (at, error) => this.failed(`${(at as NodeProcess).label}: ${error.stack}`),
      said: (what) => this.said(what),
    });
  }

  /**
   * Whether a process may start with a clock that has leapt. Without synced disks its data could become that of a lost
   * incarnation, which no process dates anew: a known gap (docs/consistency.md).
   */
  get mayStartAhead(): boolean {
    return !this.plan.isUnsynced;
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
  /** A process has ended, and claims that its disk holds everything. */
  protected stopped(_node: SimulatedNode, _process: NodeProcess): void {}
  /** Peers have shown that the disk of a process is no old copy: its changes since its start may be sent. */
  confirmed(_process: NodeProcess): void {}
  /** A node lost its memory and disk; it still has its old identity. */
  protected losingState(_node: SimulatedNode): void {}
  /** A node lost its memory and disk, and the planted mistake lets it keep its identity. */
  protected keptIncarnation(_node: SimulatedNode): void {}
  /** A replica sends changes of its own. */
  protected sentBatch(_from: NodeProcess, _batch: Batch): void {}
  protected describeAll(): void {}

  /** Gives each node that is there its peers. */
  wirePeers(): void {
    wirePeers(this.present(), this.plan);
  }

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
      if (++count % STEPS_BETWEEN_CHECKS === 0) this.check();
    }
  }

  private check(): void {
    this.checkTimes();
    this.checkAll();
  }

  /** The time of no replica is later than a clock can show that is right, unless its own was not when it started. */
  private checkTimes(): void {
    const latestMs = this.scheduler.nowMs + this.aheadMs + this.plan.skewBoundMs;
    for (const { node, engine, label } of this.running())
      if (!node.isDatedAhead && engine.nowMs > latestMs)
        this.failed(`the time of ${label} is ${engine.nowMs - latestMs} ms later than any clock that is right`);
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
    process.advance();
    this.act(step, process, random);
  }

  /** All trouble ends. */
  protected async heal(): Promise<void> {
    this.said('=== healing');
    this.network.heal();
    for (const twin of [...this.twins]) this.endTwin(twin);
    for (const node of this.nodes) {
      node.leapMs = 0;
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
    const sinceMs = (this.scheduler.nowMs - (this.plan.startMs ?? START_MS)).toFixed(1);
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
    if (node.isDamaged) this.failed(`${process.label} starts from a disk of which synced changes are missing`);
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
    const own = this.sentChanges.note(from.origin, bytes);
    if (own === undefined) return;
    const { batch, newest } = own;
    if (from.disk !== undefined && newest > from.disk.durable(batch.shardIndex))
      this.failed(`${from.label} sends ${to.region} a change that its disk does not hold`);
    this.sentBatch(from, batch);
  }

  private arrived(fromRegion: string, to: NodeProcess, bytes: Uint8Array): void {
    to.isStirred = true;
    to.advance();
    if (this.options.traces) this.said(`${fromRegion} ⇒ ${to.label}: ${this.describe(bytes)}`);
  }

  private describe(bytes: Uint8Array): string {
    return describeFrame(decodeFrame(bytes), (origin) => this.nameOf(origin));
  }

  // ---- nodes --------------------------------------------------------------------------------------------------------

  running(): NodeProcess[] {
    return [...this.nodes, ...this.twins].flatMap((node) => node.running ?? []);
  }

  present(): SimulatedNode[] {
    return this.nodes.filter((node) => !node.hasLeft);
  }

  addNode(region: Plan['regions'][number]): SimulatedNode {
    const node = new SimulatedNode(this, region);
    this.nodes.push(node);
    this.allNodes.push(node);
    return node;
  }

  dial(from: NodeProcess, to: string): void {
    const targets = this.running().filter(({ region }) => region === to);
    // An address leads to either of two processes under one name.
    if (targets.length > 0) this.network.dial(from, targets.length === 1 ? targets[0] : this.random.pick(targets));
  }

  endProcess(node: SimulatedNode, isHeard: boolean): void {
    const { process } = node;
    if (process === undefined) return;
    if (process.isRunning) this.ending(node, process);
    this.network.drop(process, isHeard);
    node.end();
  }

  /** A server is asked to end (SIGTERM): it flushes, and exits with an error where it cannot. */
  stop(node: SimulatedNode, ended: () => void): void {
    const { process } = node;
    if (process === undefined || !process.isRunning) return;
    this.said(`${process.label} is stopped`);
    this.network.drop(process, true);
    process.isRunning = false;
    const exit = (error: Error | undefined): void => {
      if (process.isOver) return;
      this.said(`${process.label} ends: ${error?.message ?? 'all is written'}`);
      this.ending(node, process);
      node.end();
      if (error === undefined) this.stopped(node, process);
      if (node.disk === undefined) this.loseState(node);
      ended();
    };
    this.scheduler.settled();
    if (process.disk === undefined) this.scheduler.after(0, () => exit(undefined));
    else process.disk.close().then(() => exit(undefined), exit);
  }

  /** A second process under the name of a node, with peers as it has, and nothing of its data. */
  addTwin(node: SimulatedNode, hasDisk: boolean): SimulatedNode {
    const { region, skewMs } = node;
    const twin = new SimulatedNode(this, { region, hasDisk, skewMs }, node.incarnation + TWIN_INCARNATION);
    for (const peer of node.peers) twin.peers.add(peer);
    this.twins.push(twin);
    this.allNodes.push(twin);
    this.said(`a second server runs as ${region}`);
    twin.start();
    return twin;
  }

  /** It never comes back. */
  endTwin(twin: SimulatedNode): void {
    const at = this.twins.indexOf(twin);
    if (at === -1) return;
    this.said(`the second server of ${twin.region} ends`);
    this.endProcess(twin, true);
    twin.hasLeft = true;
    this.twins.splice(at, 1);
    this.loseState(twin);
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
    node.isDamaged = false;
    node.isDatedAhead = false;
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

  /** The clocks of all peers are behind the time of a process. */
  foundAhead(process: NodeProcess): void {
    this.said(`${process.label} is ahead of its peers`);
    // Where a pong was under way for minutes the clock of a peer seems to be behind; nothing comes of that.
    if (process.node.isDatedAhead) this.operator.restartWithRightClock(process);
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
