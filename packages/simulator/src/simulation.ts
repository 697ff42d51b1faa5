import { Batch, Status, splitInt64, timeOfVersion } from '@quotadb/engine';
import { componentsOf, type Increment, Random, recordOf, valueOfOpen, withKey } from '@quotadb/engine/testing';
import { nameOfOrigin } from '@quotadb/replication';
import { decodeFrame, type Frame, FrameKind } from '@quotadb/wire';
import { type CheckContext, findFaults, findReadFaults, holdingsOf, noteEnd } from './checks.js';
import { findDifferences, judge } from './convergence.js';
import { describeFrame } from './describe-frame.js';
import { type Endpoint, Network } from './network.js';
import { Oracle } from './oracle.js';
import { makePlan, type Plan, type Step, type StepKind } from './plan.js';
import { Scheduler } from './scheduler.js';
import { type NodeHost, type NodeProcess, SimulatedNode } from './simulated-node.js';

export interface SimulationOptions {
  /** Keeps what happened, one line each. */
  readonly traces?: boolean;
  /** Only these steps of the plan are taken: what is left of a schedule when it was made smaller. */
  readonly only?: ReadonlySet<number>;
  /** Puts a mistake into every process as it begins: the simulation has to find it. */
  readonly plant?: (process: NodeProcess) => void;
  /** A node that lost what it knew takes up its old identity: a mistake, for plants. */
  readonly keepsIncarnation?: boolean;
}

export interface Outcome {
  readonly seed: number;
  readonly failures: readonly string[];
  readonly trace: readonly string[];
  readonly plan: Plan;
  readonly eventsTotal: number;
}

const START_MS = Date.UTC(2026, 5, 1);
const MOST_NODES = 5;
/** Every so many steps everything is checked on everybody. */
const STEPS_BETWEEN_CHECKS = 5;
/** In units of the plan: how often the end is looked for, and when it should have come. */
const HEALING_POLL_MS = 400;
const HEALING_LIMIT_MS = 150_000;
const HEALING_TICK_MS = 100;
const WAITING_TICK_MS = 500;

export function simulate(seed: number, options: SimulationOptions = {}): Promise<Outcome> {
  return new Simulation(makePlan(seed), options).run();
}

/** What a node knew when its process ended; compared with what it knows when it is back. */
interface Ended {
  readonly holdings: ReadonlySet<Increment>;
  readonly seen: (origin: string, shard: number) => number;
  readonly durable: readonly number[] | undefined;
}

class Simulation implements NodeHost {
  readonly plan: Plan;
  readonly scheduler = new Scheduler(START_MS);
  readonly random: Random;
  readonly plant?: (process: NodeProcess) => void;
  private readonly options: SimulationOptions;
  private readonly network: Network;
  private readonly oracle = new Oracle();
  private readonly nodes: SimulatedNode[] = [];
  private readonly labels = new Map<string, string>();
  private readonly ended = new Map<SimulatedNode, Ended>();
  /** By origin and shard: the newest own version that anybody was told. */
  private readonly told = new Map<string, number>();
  private readonly shards = new Map<string, number>();
  private readonly batch = new Batch();
  private readonly failures: string[] = [];
  private readonly trace: string[] = [];
  private lossesTotal = 0;

  constructor(plan: Plan, options: SimulationOptions) {
    this.plan = plan;
    this.options = options;
    this.random = new Random(plan.seed ^ 0x5eed);
    if (options.plant !== undefined) this.plant = options.plant;
    this.network = new Network(this.scheduler, this.random, plan.network, {
      sent: (from, to, frame) => this.sent(from as NodeProcess, to as NodeProcess, frame),
      arrived: (from, to, frame) => this.arrived(from, to, frame),
      failed: (at, error) => this.failed(`${(at as NodeProcess).label}: ${error.stack}`),
      said: (what) => this.said(what),
    });
  }

  async run(): Promise<Outcome> {
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
        this.take(step);
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

  private pass(milliseconds: number): Promise<void> {
    return this.scheduler.runUntil(this.scheduler.nowMs + milliseconds, () => this.failures.length > 0);
  }

  // ---- what others tell ---------------------------------------------------------------------------------------------

  said(what: string): void {
    if (this.options.traces) this.trace.push(`${this.time()} ${what}`);
  }

  failed(what: string): void {
    this.said(`FAILED ${what}`);
    this.failures.push(what);
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
    this.compareWithEnded(node, process);
  }

  /** What did the process before know that this one does not? */
  private compareWithEnded(node: SimulatedNode, process: NodeProcess): void {
    const ended = this.ended.get(node);
    if (ended === undefined) return;
    this.ended.delete(node);
    for (let shard = 0; shard < this.plan.shardCount; shard++) {
      const sequence = process.ownSequence(shard);
      if (sequence < (ended.durable?.[shard] ?? 0))
        this.failed(`${process.label} came back with less than its disk had acknowledged in shard ${shard}`);
      if (sequence < (this.told.get(`${process.origin}:${shard}`) ?? 0))
        this.failed(`${process.label} came back with less than others know of it in shard ${shard}`);
    }
    this.oracle.cameBack(
      process.origin,
      (shard) => process.ownSequence(shard),
      (key) => this.shardOf(key),
    );
    const held = holdingsOf(process, this.plan.keys, this.oracle);
    this.noteLost(node, ended, held, process);
  }

  /** Increments and resets that nobody who runs knows of, now that this node does not any more. */
  private noteLost(node: SimulatedNode, ended: Ended, stillHeld: ReadonlySet<Increment>, process?: NodeProcess): void {
    const others = this.running().filter((other) => other.node !== node);
    const heldByOthers = others.map((other) => holdingsOf(other, this.plan.keys, this.oracle));
    for (const increment of ended.holdings) {
      if (stillHeld.has(increment) || heldByOthers.some((held) => held.has(increment))) continue;
      this.oracle.mayBeLost.add(increment);
    }
    const knowing = process === undefined ? others : [...others, process];
    for (const reset of this.oracle.resets) {
      const { origin, shard, version, state } = reset;
      if (state !== 'holds' || ended.seen(origin, shard) < version) continue;
      if (!knowing.some((other) => other.seenOf(origin, shard) >= version)) reset.state = 'uncertain';
    }
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

  private arrived(_from: Endpoint, to: Endpoint, bytes: Uint8Array): void {
    const process = to as NodeProcess;
    process.engine.advanceTo(process.node.wallMs());
    if (this.options.traces) this.said(`${_from.region} ⇒ ${process.label}: ${this.describe(bytes)}`);
  }

  private describe(bytes: Uint8Array): string {
    return describeFrame(decodeFrame(bytes), (origin) => this.nameOf(origin));
  }

  // ---- nodes --------------------------------------------------------------------------------------------------------

  private running(): NodeProcess[] {
    return this.nodes.flatMap((node) => node.running ?? []);
  }

  private present(): SimulatedNode[] {
    return this.nodes.filter((node) => !node.hasLeft);
  }

  private addNode(region: Plan['regions'][number]): SimulatedNode {
    const node = new SimulatedNode(this, region, (from, to) => {
      const target = this.nodes.find((other) => other.region === to)?.running;
      if (target !== undefined) this.network.dial(from, target);
    });
    this.nodes.push(node);
    return node;
  }

  /** Who dials whom, in the topology of the plan, among those who are there. */
  private wirePeers(): void {
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

  private end(node: SimulatedNode, isHeard: boolean): Ended | undefined {
    const { process } = node;
    if (process === undefined) return undefined;
    const { disk, engine } = process;
    let ended = this.ended.get(node);
    if (process.isRunning) {
      const seen = new Map<string, number>();
      for (const origin of process.replica.origins())
        for (let shard = 0; shard < this.plan.shardCount; shard++)
          seen.set(`${origin}:${shard}`, process.seenOf(origin, shard));
      ended = {
        holdings: holdingsOf(process, this.plan.keys, this.oracle),
        seen: (origin, shard) => seen.get(`${origin}:${shard}`) ?? 0,
        durable: disk && Array.from({ length: engine.shardCount }, (_, shard) => disk.durable(shard)),
      };
    }
    this.network.drop(process, isHeard);
    node.end();
    return ended;
  }

  /** Memory and disk are gone: whoever comes back is somebody else. */
  private forget(node: SimulatedNode, ended: Ended | undefined): void {
    this.ended.delete(node);
    if (this.options.keepsIncarnation) {
      node.disk?.erase();
      return;
    }
    this.lossesTotal++;
    this.oracle.deadOrigins.add(node.originName);
    for (const { increment } of this.oracle.factsOf(node.originName))
      if (!this.isHeldByAnybody(increment)) this.oracle.mayBeLost.add(increment);
    if (ended !== undefined) this.noteLost(node, ended, new Set());
    node.disk?.erase();
    node.takeNewIncarnation();
  }

  private isHeldByAnybody(increment: Increment): boolean {
    return this.running().some((process) => holdingsOf(process, [increment.key], this.oracle).has(increment));
  }

  // ---- steps --------------------------------------------------------------------------------------------------------

  private take(step: Step): void {
    const random = new Random(step.seed);
    const processes = this.running();
    if (processes.length === 0) return;
    const process = random.pick(processes);
    this.said(`--- step ${step.index}: ${step.kind} (${process.label})`);
    process.engine.advanceTo(process.node.wallMs());
    this.actions[step.kind](process, random);
  }

  private readonly actions: Record<StepKind, (process: NodeProcess, random: Random) => void> = {
    add: (process, random) => this.add(process, random, false),
    addWithExpiry: (process, random) => this.add(process, random, true),
    remove: (process, random) => this.reset(process, random, false),
    assign: (process, random) => this.reset(process, random, true),
    expire: (process, random) => {
      const key = random.pick(this.plan.keys);
      this.change(process, key, () => this.expireOpen(process, key, this.expiryIn(random)));
    },
    persist: (process, random) => {
      const key = random.pick(this.plan.keys);
      this.change(process, key, () => this.expectOk(process.engine.persist()));
      this.said(`${process.label} persists ${key}`);
    },
    read: (process, random) => this.report(findReadFaults(process, random.pick(this.plan.keys), this.context())),
    cut: (process, random) => {
      const other = random.pick(this.nodes);
      if (other.region !== process.region) this.cutFor([[process.region, other.region]], random);
    },
    isolate: (process, random) => {
      const others = this.nodes.filter((node) => node !== process.node);
      const isOneWay = random.chance(0.3);
      this.cutFor(
        others.flatMap(({ region }) =>
          isOneWay
            ? ([[process.region, region]] as const)
            : ([
                [process.region, region],
                [region, process.region],
              ] as const),
        ),
        random,
      );
    },
    breakStream: (_, random) => this.network.breakOne(random, false),
    halfOpen: (_, random) => this.network.breakOne(random, true),
    killProcess: (process, random) => this.crash(process.node, random, true),
    failPower: (process, random) => this.crash(process.node, random, false),
    loseDisk: (process, random) => {
      if (!process.node.hasDisk) return;
      const ended = this.end(process.node, false);
      this.forget(process.node, ended);
      this.startLater(process.node, random);
    },
    join: (_, random) => {
      if (this.nodes.length >= MOST_NODES) return;
      const { skewBoundMs } = this.plan;
      const region = `j${this.nodes.length}`;
      const skewMs = Math.floor((random.next() * 2 - 1) * skewBoundMs);
      const node = this.addNode({ region, hasDisk: random.chance(0.5), skewMs });
      this.said(`${region} joins`);
      this.wirePeers();
      node.start();
    },
    leave: (process) => {
      if (this.present().length <= 2) return;
      const { node } = process;
      this.said(`${process.label} leaves for good`);
      const ended = this.end(node, true);
      node.hasLeft = true;
      this.forget(node, ended);
      for (const { replica } of this.running()) replica.removeMember(node.region);
      this.wirePeers();
    },
    jumpClock: (process, random) => {
      process.node.skewMs = Math.floor((random.next() * 2 - 1) * this.plan.skewBoundMs);
      this.said(`the clock of ${process.label} jumps to ${process.node.skewMs} ms off`);
    },
    failDisk: (process, random) => {
      const { disk } = process.node;
      if (disk === undefined) return;
      disk.isFailing = true;
      this.scheduler.after(this.trouble(random), () => {
        disk.isFailing = false;
      });
    },
    snapshot: (process) => {
      if (process.disk === undefined) return;
      this.scheduler.settled();
      process.disk.snapshot().catch((error: Error) => this.said(`no snapshot of ${process.label}: ${error.message}`));
    },
    pause: (process, random) => {
      process.isPaused = true;
      this.scheduler.after(this.trouble(random), () => {
        process.isPaused = false;
      });
    },
    wait: (_, random) => {
      this.waitMs = this.trouble(random);
    },
  };

  private waitMs = 0;

  /** How long something goes wrong: moments mostly, sometimes longer than anybody waits. */
  private trouble(random: Random): number {
    return random.next() * random.pick([100, 1000, 1000, 6000]) * this.plan.unitMs;
  }

  private expiryIn(random: Random): number {
    return 1 + random.below(random.chance(0.5) ? this.plan.longestExpiryMs / 10 : this.plan.longestExpiryMs);
  }

  private crash(node: SimulatedNode, random: Random, isHeard: boolean): void {
    this.said(`${node.process?.label} ${isHeard ? 'is killed' : 'loses its power'}`);
    const ended = this.end(node, isHeard);
    if (node.disk === undefined) {
      this.forget(node, ended);
    } else {
      if (isHeard) node.disk.killProcess();
      else node.disk.failPower();
      if (ended !== undefined) this.ended.set(node, ended);
    }
    this.startLater(node, random);
  }

  private startLater(node: SimulatedNode, random: Random): void {
    this.scheduler.after(this.trouble(random), () => node.startUnlessUp());
  }

  private cutFor(directions: readonly (readonly [string, string])[], random: Random): void {
    this.said(`cut: ${directions.map(([from, to]) => `${from}>${to}`).join(' ')}`);
    const mends = directions.map(([from, to]) => this.network.cut(from, to));
    this.scheduler.after(this.trouble(random), () => {
      this.said(`mended: ${directions.map(([from, to]) => `${from}>${to}`).join(' ')}`);
      for (const mend of mends) mend();
    });
  }

  // ---- changes ------------------------------------------------------------------------------------------------------

  private add(process: NodeProcess, random: Random, expires: boolean): void {
    const { engine } = process;
    const key = random.pick(this.plan.keys);
    const increment = this.oracle.ledger.next(key, random.chance(0.3), process.origin, engine.nowMs);
    if (increment === undefined) return;
    this.change(process, key, () => {
      const before = valueOfOpen(engine);
      this.expectOk(engine.add(...splitInt64(increment.amount)));
      if (valueOfOpen(engine) !== before + increment.amount) this.failed(`${key}: a reply is not the sum`);
      this.made(process, increment);
      if (expires && engine.expiresAtMs === 0) this.expireOpen(process, key, this.expiryIn(random));
    });
  }

  private change(process: NodeProcess, key: string, work: () => void): void {
    const shard = this.shardOf(key);
    const before = process.ownSequence(shard);
    withKey(process.engine, key, work);
    const after = process.ownSequence(shard);
    if (after > before) this.oracle.noteChange(process.origin, key, after);
    this.noteEnds(process, key);
  }

  private made(process: NodeProcess, increment: Increment): void {
    const shard = this.shardOf(increment.key);
    const version = process.ownSequence(shard);
    const [{ born }] = componentsOf(process.engine, increment.key);
    const { origin } = process;
    const madeAtMs = this.scheduler.nowMs;
    this.oracle.made(increment, { origin, shard, version, bornAtMs: timeOfVersion(born), madeAtMs });
    this.said(`${process.label} ${increment.amount > 0n ? '+' : '-'}${increment.key}/${increment.index} @${version}`);
  }

  private reset(process: NodeProcess, random: Random, assigns: boolean): void {
    const { engine } = process;
    const key = random.pick(this.plan.keys);
    const { ledger } = this.oracle;
    const assigned = assigns ? ledger.next(key, random.chance(0.3), process.origin, engine.nowMs) : undefined;
    if (assigns && assigned === undefined) return;
    this.change(process, key, () => {
      const inSight = ledger.read(key, valueOfOpen(engine));
      if (typeof inSight === 'string') {
        this.failed(`${process.label}: ${inSight}`);
        return;
      }
      if (assigned === undefined) this.expectOk(engine.remove());
      else this.expectOk(engine.assign(...splitInt64(assigned.amount), random.chance(0.5)));
      const shard = this.shardOf(key);
      const version = process.ownSequence(shard);
      this.said(`${process.label} resets ${key} [${inSight.map(({ index }) => index)}] @${version}`);
      this.oracle.noteReset({ key, shard, origin: process.origin, version, increments: new Set(inSight) });
      if (assigned !== undefined) this.made(process, assigned);
    });
  }

  private expireOpen(process: NodeProcess, key: string, inMs: number): void {
    const { engine } = process;
    if (!engine.exists) return;
    const inSight = this.oracle.ledger.read(key, valueOfOpen(engine));
    this.expectOk(engine.expireAt(engine.nowMs + inMs));
    this.oracle.ledger.noteExpiry(key, engine.expiresAtMs, typeof inSight === 'string' ? [] : inSight);
    this.said(`${process.label} expires ${key} at +${engine.expiresAtMs - START_MS}`);
  }

  private expectOk(status: Status): void {
    if (status !== Status.Ok) this.failed(`status ${status}`);
  }

  private noteEnds(process: NodeProcess, key: string): void {
    for (const component of componentsOf(process.engine, key)) noteEnd(process, key, component, this.oracle);
  }

  // ---- checks -------------------------------------------------------------------------------------------------------

  private shardOf(key: string): number {
    let shard = this.shards.get(key);
    if (shard === undefined) {
      const { engine } = this.running()[0];
      shard = engine.store.shardIndexOf(recordOf(engine, key).shard);
      this.shards.set(key, shard);
    }
    return shard;
  }

  private context(): CheckContext {
    return {
      plan: this.plan,
      oracle: this.oracle,
      nowMs: this.scheduler.nowMs,
      shardOf: (key) => this.shardOf(key),
      nameOf: (origin) => this.nameOf(origin),
    };
  }

  private report(faults: readonly string[]): void {
    for (const fault of faults) this.failed(fault);
  }

  private checkAll(): void {
    for (const process of this.running()) {
      process.engine.advanceTo(process.node.wallMs());
      this.report(findFaults(process, this.context()));
    }
  }

  private describeAll(): void {
    for (const process of this.running()) {
      this.trace.push(`${process.label} at +${process.engine.nowMs - START_MS}`);
      for (const origin of process.replica.origins()) {
        const seen = Array.from({ length: this.plan.shardCount }, (_, shard) => process.seenOf(origin, shard));
        this.trace.push(`  seen of ${this.nameOf(origin)}: ${seen}`);
      }
      for (const key of this.plan.keys) {
        for (const { origin, positive, negative, cancels, ...rest } of componentsOf(process.engine, key)) {
          const increments = this.oracle.ledger.inComponent(key, positive, negative).map(({ index }) => index);
          const canceled = cancels.map((cancel) => `${this.nameOf(cancel.slice(0, 64))}${cancel.slice(64)}`);
          this.trace.push(
            `  ${key} of ${this.nameOf(origin)} [${increments}] ${JSON.stringify({ ...rest, cancels: canceled })}`,
          );
        }
      }
    }
  }

  // ---- the end ------------------------------------------------------------------------------------------------------

  /** All trouble ends. Everybody must come to agree, and to what the oracle says. */
  private async heal(): Promise<void> {
    const { plan } = this;
    this.said('=== healing');
    this.network.heal();
    for (const node of this.nodes) {
      if (node.disk !== undefined) node.disk.isFailing = false;
      if (node.process !== undefined) node.process.isPaused = false;
      node.slowDown(HEALING_TICK_MS * plan.unitMs);
      node.startUnlessUp();
    }
    await this.converge();
    if (plan.hasExpiry && this.failures.length === 0) {
      for (const node of this.nodes) node.slowDown(WAITING_TICK_MS * plan.unitMs);
      await this.pass(plan.longestExpiryMs + plan.graceMs + 2 * plan.skewBoundMs);
      await this.converge();
    }
  }

  private async converge(): Promise<void> {
    const { plan } = this;
    const limitMs = this.scheduler.nowMs + HEALING_LIMIT_MS * plan.unitMs;
    let differences: string[] = [];
    while (this.scheduler.nowMs < limitMs && this.failures.length === 0) {
      await this.pass(HEALING_POLL_MS * plan.unitMs);
      if (this.failures.length > 0) return;
      differences = this.findDifferences();
      if (differences.length === 0) break;
    }
    if (this.failures.length > 0) return;
    for (const difference of differences) this.failed(`not healed: ${difference}`);
    this.checkAll();
    this.report(judge(this.running(), this.context()));
  }

  private findDifferences(): string[] {
    const processes = this.running();
    if (processes.length < this.present().length) return ['not everybody is up'];
    for (const { engine, node } of processes) engine.advanceTo(node.wallMs());
    return findDifferences(processes, this.context(), this.lossesTotal > 0);
  }
}

/** The tag that a frame with a batch begins with. */
const BATCH_TAG = (FrameKind.batch << 3) | 2;
