import { admittedUntilMs, type Batch, Status, splitInt64, timeOfVersion, versionAt } from '@quotadb/engine';
import { componentsOf, type Increment, type Random, recordOf, valueOfOpen, withKey } from '@quotadb/engine/testing';
import { nameOfOrigin } from '@quotadb/replication';
import { Cluster, type Outcome, type SimulationOptions, START_MS } from '../world/cluster.js';
import { type Actions, faultsOf } from '../world/faults.js';
import type { SimulatedNode } from '../world/node.js';
import type { Step } from '../world/plan.js';
import type { NodeProcess } from '../world/process.js';
import { type CheckContext, findFaults, findReadFaults, holdingsOf, noteEnd } from './checks.js';
import { findDifferences, judge } from './convergence.js';
import { Oracle } from './oracle.js';
import { type CounterPlan, type CounterStepKind, makeCounterPlan } from './plan.js';
import { RestoredCopies } from './restored-copies.js';

/**
 * In units of the plan: how often replicas are compared while they heal, and when they must agree. It bounds all that
 * docs/simulator.md allows for a while. Of 745 measured, half took 0.8 s, nine of ten 2.4 s, the longest 12.8 s.
 */
const HEALING_POLL_MS = 400;
const HEALING_LIMIT_MS = 60_000;
/** While expiries pass, all clocks are put forward this often, with this pause between. */
const EXPIRY_LEAPS = 8;
const LEAP_PAUSE_MS = 400;

export function simulateCounters(seed: number, options: SimulationOptions = {}): Promise<Outcome<CounterPlan>> {
  const { isUnsynced = false } = options;
  return new CounterSimulation({ ...makeCounterPlan(seed), isUnsynced }, options).run();
}

/** The state of a node when its process ended; compared with its state when it is back. */
interface Ended {
  readonly holdings: ReadonlySet<Increment>;
  readonly seen: (origin: string, shard: number) => number;
  readonly durable: readonly number[] | undefined;
}

/** Counters: clients that change them, an oracle that knows every change, and checks against it. */
class CounterSimulation extends Cluster<CounterPlan> {
  private readonly oracle = new Oracle();
  private readonly copies = new RestoredCopies(this.oracle, this.plan.keys);
  private readonly ended = new Map<SimulatedNode, Ended>();
  private readonly shards = new Map<string, number>();
  private readonly actions: Actions<CounterStepKind> = {
    ...faultsOf(this),
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
      this.change(process, key, () => this.isDone(process, key, valueOfOpen(process.engine), process.engine.persist()));
      this.said(`${process.label} persists ${key}`);
    },
    read: (process, random) => {
      const key = random.pick(this.plan.keys);
      if (!this.isUnchecked(process)) this.report(findReadFaults(process, key, this.context()));
    },
  };

  protected act(step: Step<CounterStepKind>, process: NodeProcess, random: Random): void {
    this.actions[step.kind](process, random);
  }

  private expiryIn(random: Random): number {
    return 1 + random.below(random.chance(0.5) ? this.plan.longestExpiryMs / 10 : this.plan.longestExpiryMs);
  }

  // ---- processes that end and come back -----------------------------------------------------------------------------

  protected override up(node: SimulatedNode, process: NodeProcess): void {
    if (node.isRestored || process.hasCarried) this.goOnFromCopy(node, process);
    else this.compareWithEnded(node, process);
  }

  /** An old copy of its disk was put back; or has become a new incarnation. */
  private goOnFromCopy(node: SimulatedNode, process: NodeProcess): void {
    const ended = this.ended.get(node);
    this.ended.delete(node);
    const held = holdingsOf(process, this.plan.keys, this.oracle);
    if (ended !== undefined) this.noteLost(node, ended, held, process);
    if (process.hasCarried) {
      this.oracle.deadOrigins.add(nameOfOrigin(node.allOrigins.at(-2) as Uint8Array));
      this.copies.carried(process, this.running(), (shard) => ended?.durable?.[shard] ?? 0);
      return;
    }
    node.isRestored = false;
    this.copies.begin(process, (shard) => this.sentChanges.newestOf(process.origin, shard));
    for (let shard = 0; shard < this.plan.shardCount; shard++)
      this.sentChanges.refused(process.origin, shard, process.ownSequence(shard));
  }

  protected override sentBatch(from: NodeProcess, batch: Batch): void {
    if (this.copies.isTooEarly(from, batch))
      this.failed(`${from.label} sends a change, and it was not shown yet that its disk is no old copy`);
  }

  override confirmed(process: NodeProcess): void {
    for (const region of this.copies.confirmed(process))
      this.failed(`${process.label} goes on from an old copy as the same, and ${region} has reported later changes`);
  }

  /** Changes that no peer can have admitted have got other versions. */
  private noteReDated(node: SimulatedNode, process: NodeProcess): void {
    const latest = versionAt(admittedUntilMs(node.nowMs(), this.plan.settings.skewBoundMs));
    const versionOf = (key: string) => {
      const own = componentsOf(process.engine, key).find(({ origin }) => origin === process.origin);
      return own?.version ?? process.ownSequence(this.shardOf(key));
    };
    this.oracle.reDated(process.origin, latest, versionOf);
    for (let shard = 0; shard < this.plan.shardCount; shard++) this.sentChanges.refused(process.origin, shard, latest);
  }

  protected override stopped(node: SimulatedNode, process: NodeProcess): void {
    const ended = this.ended.get(node);
    if (ended === undefined || node.disk === undefined) return;
    const durable = Array.from({ length: this.plan.shardCount }, (_, shard) => process.ownSequence(shard));
    this.ended.set(node, { ...ended, durable });
  }

  protected override ending(node: SimulatedNode, process: NodeProcess): void {
    const { disk, engine } = process;
    const seen = new Map<string, number>();
    for (const origin of process.replica.origins())
      for (let shard = 0; shard < this.plan.shardCount; shard++)
        seen.set(`${origin}:${shard}`, process.seenOf(origin, shard));
    this.ended.set(node, {
      holdings: holdingsOf(process, this.plan.keys, this.oracle),
      seen: (origin, shard) => seen.get(`${origin}:${shard}`) ?? 0,
      durable: disk && Array.from({ length: engine.shardCount }, (_, shard) => disk.durable(shard)),
    });
  }

  protected override losingState(node: SimulatedNode): void {
    const ended = this.ended.get(node);
    this.ended.delete(node);
    this.copies.lost(node);
    this.oracle.deadOrigins.add(node.originName);
    for (const { increment } of this.oracle.factsOf(node.originName))
      if (!this.isHeld(increment)) this.oracle.mayBeLost.add(increment);
    if (ended !== undefined) this.noteLost(node, ended, new Set());
  }

  protected override keptIncarnation(node: SimulatedNode): void {
    this.ended.delete(node);
  }

  private isHeld(increment: Increment): boolean {
    return this.running().some((process) => holdingsOf(process, [increment.key], this.oracle).has(increment));
  }

  /** Finds the changes that the process before knew and this one does not. */
  private compareWithEnded(node: SimulatedNode, process: NodeProcess): void {
    const ended = this.ended.get(node);
    if (ended === undefined) return;
    this.ended.delete(node);
    const sequenceOf = (shard: number) => process.datedAhead?.[shard] ?? process.ownSequence(shard);
    for (let shard = 0; shard < this.plan.shardCount; shard++) {
      const sequence = sequenceOf(shard);
      if (this.plan.isUnsynced) continue;
      if (sequence < (ended.durable?.[shard] ?? 0))
        this.failed(`${process.label} came back with less than its disk had acknowledged in shard ${shard}`);
      if (sequence < this.sentChanges.newestOf(process.origin, shard))
        this.failed(`${process.label} came back with less than others know of it in shard ${shard}`);
    }
    this.oracle.cameBack(
      process.origin,
      sequenceOf,
      (shard) => this.sentChanges.newestOf(process.origin, shard),
      (key) => this.shardOf(key),
    );
    if (process.datedAhead !== undefined) this.noteReDated(node, process);
    const held = holdingsOf(process, this.plan.keys, this.oracle);
    this.noteLost(node, ended, held, process);
  }

  /** Increments and resets that no running process knows, now that this node has lost them. */
  private noteLost(node: SimulatedNode, ended: Ended, stillHeld: ReadonlySet<Increment>, process?: NodeProcess): void {
    const others = this.running().filter((other) => other.node !== node);
    const heldByOthers = others.map((other) => holdingsOf(other, this.plan.keys, this.oracle));
    for (const increment of ended.holdings) {
      if (stillHeld.has(increment) || heldByOthers.some((held) => held.has(increment))) continue;
      this.oracle.mayBeLost.add(increment);
    }
    const knowing = process === undefined ? others : [...others, process];
    for (const reset of this.oracle.resets) {
      const { origin, shard, version, state, isStamped } = reset;
      if (state !== 'holds' || ended.seen(origin, shard) < version) continue;
      if (!isStamped) {
        if (origin === node.originName && process === undefined) reset.state = 'uncertain';
        continue;
      }
      if (!knowing.some((other) => other.seenOf(origin, shard) >= version)) reset.state = 'uncertain';
    }
  }

  // ---- changes ------------------------------------------------------------------------------------------------------

  private add(process: NodeProcess, random: Random, expires: boolean): void {
    const { engine } = process;
    const key = random.pick(this.plan.keys);
    const increment = this.oracle.ledger.next(key, random.chance(0.3), process.origin, engine.nowMs);
    if (increment === undefined) return;
    this.change(process, key, () => {
      const before = valueOfOpen(engine);
      if (!this.isDone(process, key, before, engine.add(...splitInt64(increment.amount)))) return;
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
    const { isDatedAhead } = process.node;
    this.oracle.made(increment, { origin, shard, version, bornAtMs: timeOfVersion(born), madeAtMs, isDatedAhead });
    this.copies.made(process, increment);
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
        if (!this.isUnchecked(process)) this.failed(`${process.label}: ${inSight}`);
        return;
      }
      const before = valueOfOpen(engine);
      const shard = this.shardOf(key);
      const versionBefore = process.ownSequence(shard);
      const status =
        assigned === undefined ? engine.remove() : engine.assign(...splitInt64(assigned.amount), random.chance(0.5));
      if (!this.isDone(process, key, before, status)) return;
      const version = process.ownSequence(shard);
      const isStamped = version > versionBefore;
      this.said(`${process.label} resets ${key} [${inSight.map(({ index }) => index)}] @${version}`);
      const { origin } = process;
      const increments = new Set(inSight);
      this.copies.reset(process, this.oracle.noteReset({ key, shard, origin, version, isStamped, increments }));
      if (assigned !== undefined) this.made(process, assigned);
    });
  }

  private expireOpen(process: NodeProcess, key: string, inMs: number): void {
    const { engine } = process;
    if (!engine.exists) return;
    const inSight = this.oracle.ledger.read(key, valueOfOpen(engine));
    if (!this.isDone(process, key, valueOfOpen(engine), engine.expireAt(engine.nowMs + inMs))) return;
    this.oracle.ledger.noteExpiry(key, engine.expiresAtMs, typeof inSight === 'string' ? [] : inSight);
    this.said(`${process.label} expires ${key} at +${engine.expiresAtMs - START_MS}`);
  }

  /** A change may be refused while memory is full, and must then have changed nothing. */
  private isDone(process: NodeProcess, key: string, before: bigint, status: Status): boolean {
    if (status === Status.Ok) return true;
    if (status !== Status.OutOfMemory || !process.isFull) this.failed(`${process.label}: status ${status}`);
    else if (valueOfOpen(process.engine) !== before)
      this.failed(`${process.label}: a change of ${key} was refused, and changed it`);
    this.said(`${process.label} has no memory for a change of ${key}`);
    return false;
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
      latestMs: Math.max(this.scheduler.nowMs + this.aheadMs + this.plan.skewBoundMs, this.latestLeapMs),
      shardOf: (key) => this.shardOf(key),
      nameOf: (origin) => this.nameOf(origin),
      isRunning: (origin) => this.running().some((process) => process.origin === origin),
      lossesTotal: this.lossesTotal,
    };
  }

  private isUnchecked(process: NodeProcess): boolean {
    return this.copies.isTooLate || this.copies.isUndecided(process);
  }

  checkAll(): void {
    for (const process of this.running()) {
      process.advance();
      if (!this.isUnchecked(process)) this.report(findFaults(process, this.context()));
    }
  }

  protected override describeAll(): void {
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

  /** All replicas must come to agree with each other and with the oracle. */
  protected async end(): Promise<void> {
    await this.converge();
    if (!this.plan.hasExpiry || this.failures.length > 0 || this.copies.isTooLate) return;
    await this.passExpiries();
    await this.converge();
  }

  /** While expiries pass only the clocks matter: all are put forward alike. */
  private async passExpiries(): Promise<void> {
    const { longestExpiryMs, graceMs, skewBoundMs, unitMs } = this.plan;
    for (let leap = 0; leap < EXPIRY_LEAPS && this.failures.length === 0; leap++) {
      this.aheadMs += Math.ceil((longestExpiryMs + graceMs + 2 * skewBoundMs) / EXPIRY_LEAPS);
      await this.pass(LEAP_PAUSE_MS * unitMs);
    }
  }

  private async converge(): Promise<void> {
    const { plan } = this;
    const limitMs = this.scheduler.nowMs + HEALING_LIMIT_MS * plan.unitMs;
    let differences: string[] = [];
    while (this.scheduler.nowMs < limitMs && this.failures.length === 0) {
      await this.pass(HEALING_POLL_MS * plan.unitMs);
      if (this.failures.length > 0 || this.copies.isTooLate) return;
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
    if (processes.length < this.present().length) return ['not all nodes are up'];
    for (const process of processes) process.advance();
    return findDifferences(processes, this.context());
  }
}
