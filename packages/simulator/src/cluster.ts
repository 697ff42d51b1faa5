import { Batch } from '@quotadb/engine';
import { Random } from '@quotadb/engine/testing';
import { nameOfOrigin } from '@quotadb/replication';
import { decodeFrame, type Frame, FrameKind } from '@quotadb/wire';
import { describeFrame } from './describe-frame.js';
import { Network } from './network.js';
import type { Plan, Step } from './plan.js';
import { Scheduler } from './scheduler.js';
import { type NodeHost, type NodeProcess, SimulatedNode } from './simulated-node.js';

export interface SimulationOptions {
  /** Keeps what happened, one line each. */
  readonly traces?: boolean;
  /** Only these steps of the plan are taken: what is left of a schedule when it was made smaller. */
  readonly only?: ReadonlySet<number>;
  /** Puts a mistake into every process as it begins: the simulation has to find it. */
  readonly plant?: (process: NodeProcess) => void;
  /** Disks are written and never synced, as with --fsync never. */
  readonly isUnsynced?: boolean;
  /** A node that lost what it knew takes up its old identity: a mistake, for plants. */
  readonly keepsIncarnation?: boolean;
}

export interface Outcome<AnyPlan extends Plan<string> = Plan<string>> {
  readonly seed: number;
  readonly failures: readonly string[];
  readonly trace: readonly string[];
  readonly plan: AnyPlan;
  readonly eventsTotal: number;
}

export const START_MS = Date.UTC(2026, 5, 1);
/** Every so many steps everything is checked on everybody. */
const STEPS_BETWEEN_CHECKS = 5;
const HEALING_TICK_MS = 100;

/**
 * Replicas, what connects them and what a schedule does to them, whatever they are used for. Who says what clients do and
 * what must hold makes a class of it: simulation.ts for counters, quotas/quota-simulation.ts for quotas.
 */
export abstract class Cluster<AnyPlan extends Plan<string> = Plan<string>> implements NodeHost {
  readonly plan: AnyPlan;
  readonly scheduler = new Scheduler(START_MS);
  readonly random: Random;
  readonly plant?: (process: NodeProcess) => void;
  readonly network: Network;
  readonly nodes: SimulatedNode[] = [];
  readonly failures: string[] = [];
  /** A step may ask for so much time to pass before the next one. */
  waitMs = 0;
  /** Nodes that lost all they knew. */
  lossesTotal = 0;
  /** By how much all clocks together are ahead of the scheduler's time. */
  aheadMs = 0;
  protected readonly options: SimulationOptions;
  protected readonly trace: string[] = [];
  /** By origin and shard: the newest own version that anybody was told. */
  protected readonly told = new Map<string, number>();
  private readonly batch = new Batch();
  private readonly labels = new Map<string, string>();

  constructor(plan: AnyPlan, options: SimulationOptions) {
    this.plan = plan;
    this.options = options;
    this.random = new Random(plan.seed ^ 0x5eed);
    if (options.plant !== undefined) this.plant = options.plant;
    this.network = new Network(this.scheduler, this.random, plan.network, {
      sent: (from, to, frame) => this.sent(from as NodeProcess, to as NodeProcess, frame),
      arrived: (from, to, frame) => this.arrived(from.region, to as NodeProcess, frame),
      failed: (at, error) => this.failed(`${(at as NodeProcess).label}: ${error.stack}`),
      said: (what) => this.said(what),
    });
  }

  // ---- what there is to do and to check, by whoever knows what the replicas are for -----------------------------------

  protected abstract act(step: Step<AnyPlan['steps'][number]['kind']>, process: NodeProcess, random: Random): void;
  abstract checkAll(): void;
  /** All trouble has ended and everybody is up, or will be. */
  protected abstract end(): Promise<void>;
  /** A process that runs is about to end. */
  protected ending(_node: SimulatedNode, _process: NodeProcess): void {}
  /** Memory and disk of a node are gone; it still has its old identity. */
  protected forgetting(_node: SimulatedNode): void {}
  protected up(_node: SimulatedNode, _process: NodeProcess): void {}
  protected describeAll(): void {}

  // ---- the schedule -----------------------------------------------------------------------------------------------------

  async run(): Promise<Outcome<AnyPlan>> {
    const { plan } = this;
    try {
      for (const region of plan.regions) this.addNode(region);
      this.wirePeers();
      for (const node of this.nodes) node.start();
      let count = 0;
      for (const step of plan.steps) {
        await this.pass(step.afterMs);
        if (this.failures.length > 0) break;
        if (this.options.only !== undefined && !this.options.only.has(step.index)) continue;
        this.takeStep(step);
        if (this.waitMs > 0) await this.pass(this.waitMs);
        this.waitMs = 0;
        if (++count % STEPS_BETWEEN_CHECKS === 0) this.checkAll();
      }
      if (this.failures.length === 0) await this.heal();
    } catch (error) {
      this.failures.push((error as Error).stack ?? String(error));
    }
    if (this.failures.length > 0 && this.options.traces) this.describeAll();
    for (const node of this.nodes) node.end();
    const { failures, trace } = this;
    return { seed: plan.seed, failures, trace, plan, eventsTotal: this.scheduler.eventsTotal };
  }

  protected pass(milliseconds: number): Promise<void> {
    return this.scheduler.runUntil(this.scheduler.nowMs + milliseconds, () => this.failures.length > 0);
  }

  private takeStep(step: Step<AnyPlan['steps'][number]['kind']>): void {
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

  /** How long something goes wrong: moments mostly, sometimes longer than anybody waits. */
  trouble(random: Random): number {
    return random.next() * random.pick([100, 1000, 1000, 6000]) * this.plan.unitMs;
  }

  // ---- what others tell -------------------------------------------------------------------------------------------------

  said(what: string): void {
    if (this.options.traces) this.trace.push(`${this.time()} ${what}`);
  }

  failed(what: string): void {
    this.said(`FAILED ${what}`);
    this.failures.push(what);
  }

  report(faults: readonly string[]): void {
    for (const fault of faults) this.failed(fault);
  }

  nameOf(origin: string): string {
    return this.labels.get(origin) ?? origin.slice(0, 6);
  }

  private time(): string {
    return `+${(this.scheduler.nowMs - START_MS).toFixed(1).padStart(9)}`;
  }

  started(node: SimulatedNode, process: NodeProcess): void {
    this.labels.set(process.origin, process.label);
    this.said(`${process.label} is up`);
    for (const region of node.peers) process.replica.addMember(region);
    for (const other of this.nodes) if (other.hasLeft) process.replica.removeMember(other.region);
    this.up(node, process);
  }

  /** Nothing about itself leaves a replica that its disk does not hold. */
  private sent(from: NodeProcess, to: NodeProcess, bytes: Uint8Array): void {
    if (this.options.traces) this.said(`${from.label} → ${to.region}: ${this.describe(bytes)}`);
    if (bytes[0] !== BATCH_TAG) return;
    const frame = decodeFrame(bytes, this.batch) as Extract<Frame, { kind: typeof FrameKind.batch }>;
    const { origin, shardIndex, count, version, to: cut } = frame.batch;
    if (nameOfOrigin(origin) !== from.origin) return;
    let newest = cut;
    for (let index = 0; index < count; index++) newest = Math.max(newest, version[index]);
    const name = `${from.origin}:${shardIndex}`;
    this.told.set(name, Math.max(newest, this.told.get(name) ?? 0));
    if (from.disk !== undefined && newest > from.disk.durable(shardIndex))
      this.failed(`${from.label} tells ${to.region} of a change that its disk does not hold`);
  }

  private arrived(fromRegion: string, to: NodeProcess, bytes: Uint8Array): void {
    to.engine.advanceTo(to.node.wallMs());
    if (this.options.traces) this.said(`${fromRegion} ⇒ ${to.label}: ${this.describe(bytes)}`);
  }

  private describe(bytes: Uint8Array): string {
    return describeFrame(decodeFrame(bytes), (origin) => this.nameOf(origin));
  }

  // ---- nodes ------------------------------------------------------------------------------------------------------------

  running(): NodeProcess[] {
    return this.nodes.flatMap((node) => node.running ?? []);
  }

  present(): SimulatedNode[] {
    return this.nodes.filter((node) => !node.hasLeft);
  }

  addNode(region: Plan['regions'][number]): SimulatedNode {
    const node = new SimulatedNode(this, region, (from, to) => {
      const target = this.nodes.find((other) => other.region === to)?.running;
      if (target !== undefined) this.network.dial(from, target);
    });
    this.nodes.push(node);
    return node;
  }

  /** Who dials whom, in the topology of the plan, among those who are there. */
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

  /** Memory and disk are gone: whoever comes back is somebody else. */
  forget(node: SimulatedNode): void {
    if (this.options.keepsIncarnation) {
      node.disk?.erase();
      this.keptIncarnation(node);
      return;
    }
    this.doubt(node);
    node.disk?.erase();
  }

  /** What the disk holds may be less than others know: whoever comes back is somebody else, and knows what is left. */
  doubt(node: SimulatedNode): void {
    if (this.options.keepsIncarnation) return;
    this.lossesTotal++;
    this.forgetting(node);
    node.takeNewIncarnation();
  }

  /** As the refusal, or the log, says: whoever runs the node repairs it, and starts it as a new incarnation. */
  amnesia(node: SimulatedNode): void {
    const { process } = node;
    this.scheduler.after(0, () => {
      if (node.process !== process) return;
      this.said(`${process?.label} is started as a new incarnation`);
      this.endProcess(node, true);
      this.forget(node);
      node.start();
    });
  }

  /** The planted mistake: what was lost is not known to be. */
  protected keptIncarnation(_node: SimulatedNode): void {}
}

/** The tag that a frame with a batch begins with. */
const BATCH_TAG = (FrameKind.batch << 3) | 2;
