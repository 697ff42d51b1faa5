import type { Random } from '@quotadb/engine/testing';
import { type Allotment, limitOf, nameOfAllotment, type Policy, type TakeItem, windowAt } from '@quotadb/quota';
import { nameOfOrigin } from '@quotadb/replication';
import { isServerOf, regionOfServer } from '@quotadb/wire';
import type { Outcome, SimulationOptions } from '../world/cluster.js';
import { type Actions, faultsOf } from '../world/faults.js';
import type { SimulatedNode } from '../world/node.js';
import type { Step } from '../world/plan.js';
import type { NodeProcess } from '../world/process.js';
import { AdjustmentClients } from './adjustment-clients.js';
import { LAPSE_MS, QuotaChecks } from './checks.js';
import { forgePolicies, forgeRequest } from './hostile-region.js';
import { drawLeaseMs, JOBS, LeaseClients } from './lease-clients.js';
import { LostChanges } from './lost-changes.js';
import { QuotaOracle } from './oracle.js';
import {
  LEASE_MS,
  makeAdjustmentPlan,
  makeLeasePlan,
  makeMemberPlan,
  makeQuotaPlan,
  type QuotaPlan,
  type QuotaStepKind,
} from './plan.js';
import { QuotaClients, SECOND, TIMES_TO_LIVE_MS } from './quota-clients.js';
import { HEALING_LIMIT_MS, HEALING_POLL_MS, itemOf, MAIN, QuotaCluster } from './quota-cluster.js';
import { quotasOf } from './quota-service.js';

const SECOND_LIMIT = 50;
/** The most that an answer takes longer than its caller waits: disks fail for a while, and clocks go in steps. */
const PATIENCE_MS = 2000;
const DRAIN_WAIT_MS = 2000;
const DRAIN_ATTEMPTS = 120;
const DRAIN_DENIALS = 12;
const LEASE_ATTEMPTS = 60;
const SLOW_BYTES_PER_MS = 2;
/** Too short to take a whole limit from in peace. */
const SHORT_WINDOW_MS = 2000;
const LONG_ENOUGH_MS = 60_000;

export function simulateQuotas(seed: number, options: SimulationOptions = {}): Promise<Outcome<QuotaPlan>> {
  return new QuotaSimulation(makeQuotaPlan(seed), options).run();
}

/** The same with leases, and with regions that forward requests for tokens. */
export function simulateLeases(seed: number, options: SimulationOptions = {}): Promise<Outcome<QuotaPlan>> {
  return new QuotaSimulation(makeLeasePlan(seed), options).run();
}

/** Overrides, extra tokens, refunds, windows of the calendar, and regions that admit a part by themselves. */
export function simulateAdjustments(seed: number, options: SimulationOptions = {}): Promise<Outcome<QuotaPlan>> {
  return new QuotaSimulation(makeAdjustmentPlan(seed), options).run();
}

/** A region with several members, which die, join and come back. */
export function simulateMembers(seed: number, options: SimulationOptions = {}): Promise<Outcome<QuotaPlan>> {
  return new QuotaSimulation(makeMemberPlan(seed), options).run();
}

/** Quotas: clients in all regions, and an oracle that knows the answer to each of their requests. */
class QuotaSimulation extends QuotaCluster {
  private readonly oracle = new QuotaOracle(
    (what) => this.failed(what),
    () => this.allNodes.length,
  );
  private readonly checks = new QuotaChecks(this.oracle);
  private readonly lostChanges = new LostChanges();
  private readonly clients = new QuotaClients(this, this.oracle);
  private readonly leases = new LeaseClients(this, (policy) => this.oracle.highestOf(policy));
  private readonly adjustments = new AdjustmentClients(this, this.oracle);
  private isLowered = false;
  private readonly actions: Actions<QuotaStepKind> = {
    ...faultsOf(this),
    take: (process, random) => this.clients.takeBurst(process, random),
    takeAll: (process, random) => this.clients.takeAll(process, random),
    peek: (process, random) => this.clients.peek(process, random),
    reserve: (process, random) => this.clients.reserve(process, random),
    commit: (process, random) => this.clients.commit(process, random),
    cancel: (process, random) => this.clients.cancel(process, random),
    retry: (process, random) => this.clients.retry(process, random),
    acquire: (process, random) => this.leases.acquire(process, drawLeaseMs(random)),
    renew: (_, random) => {
      const lease = this.leases.pick(random);
      if (lease !== undefined) this.leases.renew(lease, drawLeaseMs(random));
    },
    release: (_, random) => {
      const lease = this.leases.pick(random);
      if (lease !== undefined) this.leases.release(lease);
    },
    changeLimit: (_, random) => {
      const before = this.policyAtHome(MAIN);
      const limit = 1 + random.below(this.plan.limit * 2);
      if (before === undefined) return;
      if (limit < before.limit) this.isLowered = true;
      this.defineKnown(MAIN, limit, before.allocator);
      const { leaseLimit, allocator } = this.plan;
      if (leaseLimit !== undefined) this.defineKnown(JOBS, 1 + random.below(leaseLimit * 2), allocator, LEASE_MS);
    },
    override: (_, random) => {
      const before = this.policyAtHome(MAIN);
      if (before === undefined) return;
      this.overrides = this.adjustments.drawOverrides(before, random);
      this.defineKnown(MAIN, before.limit, before.allocator);
      const after = this.policyAtHome(MAIN);
      if (after !== undefined && this.adjustments.isLower(before, after)) this.isLowered = true;
    },
    extra: (_, random) => this.adjustments.giveExtra(random),
    repeatExtra: (_, random) => this.adjustments.repeatExtra(random),
    refund: (process, random) => this.adjustments.refund(process, random),
    remint: (_, random) => this.remint(random),
    forgePolicies: (process, random) => forgePolicies(process, random),
    forgeRequest: (process, random) => forgeRequest(process, this.plan.subjects, random),
    // As it was, it goes on; with another allocator it has allotments of its own.
    defineAnew: (_, random) => {
      const home = this.nodes[0].running;
      if (home === undefined || this.policyAtHome(MAIN) === undefined) return;
      quotasOf(home).guard(() => quotasOf(home).drop(MAIN));
      const { region } = random.pick(this.plan.regions);
      this.defineKnown(MAIN, this.plan.limit, this.plan.joinPrefix === undefined ? region : regionOfServer(region));
    },
  };

  protected act(step: Step<QuotaStepKind>, process: NodeProcess, random: Random): void {
    this.defineMissing();
    this.oracle.pass();
    this.actions[step.kind](process, random);
  }

  protected override ending(_: SimulatedNode, process: NodeProcess): void {
    this.oracle.pass();
    this.oracle.ended(process);
    this.clients.ended(process);
    this.leases.ended(process);
  }

  protected override up(_: SimulatedNode, process: NodeProcess): void {
    this.oracle.restarted(process);
    this.clients.restarted(process);
    this.leases.restarted(process);
  }

  protected override admittedAlone({ node, label }: NodeProcess, allotment: Allotment, amount: number): void {
    this.said(`${label} admits ${amount} of ${nameOfAllotment(allotment)} alone`);
    this.oracle.admitted(node, allotment, amount);
  }

  /** What a region has lost with its disk, or by leaving for good. An operator never gives up one that may be back. */
  private remint(random: Random): void {
    const home = this.nodes[0].running;
    if (home === undefined || this.policyAtHome(MAIN) === undefined) return;
    const hasLost = this.nodes.filter((node) => {
      const { region, hasLeft, allOrigins } = node;
      // Of two servers under one name the home takes the one that it has no link to for lost, and it runs.
      if (this.twins.some((twin) => twin.region === region)) return false;
      return hasLeft || (isLinked(home, node) && allOrigins.length > 1);
    });
    if (hasLost.length === 0) return;
    const { region } = random.pick(hasLost);
    quotasOf(home).guard(() =>
      quotasOf(home).remints.ask(MAIN, [region], (refused) => {
        if (refused === undefined) this.reminted(home, region);
        else this.said(`${home.label} does not re-mint what ${region} has lost: ${refused.message}`);
      }),
    );
  }

  private reminted(home: NodeProcess, region: string): void {
    this.said(`${home.label} re-mints what ${region} has lost`);
    const { number, inheritances = [] } = this.policyAtHome(MAIN) as Policy;
    for (const { from } of inheritances) this.oracle.inherited(home, number, from);
    const origins = inheritances.map(({ from }) => from);
    this.lostChanges.note(home, number, origins);
  }

  protected override defineMissing(): void {
    const { limit, allocator, leaseLimit } = this.plan;
    if (this.nodes[0].running === undefined) return;
    if (this.policyAtHome(MAIN) === undefined) this.defineKnown(MAIN, limit, allocator);
    if (this.policyAtHome(SECOND) === undefined) this.defineKnown(SECOND, SECOND_LIMIT, allocator);
    if (leaseLimit !== undefined && this.policyAtHome(JOBS) === undefined)
      this.defineKnown(JOBS, leaseLimit, allocator, LEASE_MS);
  }

  private defineKnown(name: string, limit: number, allocator: string, leaseMs?: number): void {
    const isForgotten = !this.isKnown(name);
    const policy = this.define(name, limit, allocator, leaseMs);
    if (policy !== undefined) this.oracle.defined(policy, isForgotten);
  }

  // ---- the end ------------------------------------------------------------------------------------------------------

  checkAll(): void {
    this.oracle.pass();
    this.leases.check();
    for (const process of this.running()) process.advance();
    this.report(this.checks.find(this.running()));
    this.report(this.lostChanges.find(this.running()));
  }

  /** Without faults, every token that no client holds can be had in every region. */
  protected async end(): Promise<void> {
    // Policies that a lossy transport has lost are sent again when regions meet.
    this.network.breakAll();
    await this.meet();
    await this.pass(Math.max(...TIMES_TO_LIVE_MS) + LAPSE_MS + PATIENCE_MS);
    if (this.failures.length > 0) return;
    this.checkAll();
    for (const process of this.running())
      if (quotasOf(process).reservations.outstanding().size > 0)
        this.failed(`${process.label} still has reservations that are over`);
    const { windowMs, topology, hasRoutes, leaseLimit, isLossless } = this.plan;
    if (leaseLimit !== undefined) await this.holdAll();
    if (this.isLowered) await this.checkLowered();
    if (this.failures.length > 0) return;
    if ((topology !== 'mesh' && !hasRoutes) || this.policyAtHome(MAIN) === undefined) return;
    // Where memory is full, new allotments get no tokens.
    if (this.running().some(({ wasFull }) => wasFull)) return;
    if (windowMs !== SHORT_WINDOW_MS && isLossless && !this.isLowered && this.hasBegun()) await this.drain(true);
    if (windowMs < LONG_ENOUGH_MS || this.failures.length > 0 || this.nodes.some((node) => node.hasLeft)) return;
    this.leapIntoWindow(this.policyAtHome(MAIN) as Policy);
    await this.pass(HEALING_POLL_MS);
    await this.drain(false);
  }

  /** Every server that begins with tokens ran when the policy was defined. */
  private hasBegun(): boolean {
    const policy = this.policyAtHome(MAIN) as Policy;
    const begun = this.running().map((process) => {
      const { book } = quotasOf(process);
      const window = windowAt(policy, process.engine.nowMs);
      return book.tenure.mayStart(policy, window) ? book.initialOf(policy, window, policy.limit) : 0;
    });
    return begun.reduce((sum, tokens) => sum + tokens, 0) >= policy.limit;
  }

  /**
   * A limit was lowered, and all regions know of it and of each other's marks: nothing is allowed beyond it any more.
   */
  private async checkLowered(): Promise<void> {
    const policy = this.policyAtHome(MAIN);
    if (policy === undefined) return;
    const processes = this.running();
    const window = windowAt(policy, processes[0].engine.nowMs);
    for (const name of this.plan.subjects) {
      const item = itemOf(MAIN, name, 1);
      const allotment: Allotment = { policy: policy.number, window, subject: item.subject };
      await this.marksAreHeard(processes, allotment);
      await this.pass(PATIENCE_MS);
      const most = this.oracle.mostInForce(policy, allotment);
      for (const process of processes) {
        await this.takeAndWait(process, item);
        // Two that hold tokens of the higher limit could both set the last one aside: a known gap.
        await this.marksAreHeard(processes, allotment);
      }
      if (!processes.every(({ engine }) => windowAt(policy, engine.nowMs) === window)) return;
      const total = this.oracle.inForce(allotment);
      if (total > most)
        this.failed(`allotment ${nameOfAllotment(allotment)}: ${total} of ${most} after it was lowered`);
    }
  }

  /** Takes until nothing is left in any region. All of the limit is in force then, except wasted tokens. */
  private async drain(mayBeWasted: boolean): Promise<void> {
    const policy = this.policyAtHome(MAIN) as Policy;
    const processes = this.running();
    const windowOf = ({ engine, node }: NodeProcess) => windowAt(policy, Math.max(engine.nowMs, node.nowMs()));
    const window = windowOf(processes[0]);
    const [subject] = this.plan.subjects;
    const limit = limitOf(policy, Buffer.from(subject), window);
    const item = itemOf(MAIN, subject, Math.max(1, Math.ceil(limit / 4)));
    const isDisturbed = () => processes.some((other) => windowOf(other) !== window) || this.failures.length > 0;
    const allotment: Allotment = { policy: policy.number, window, subject: item.subject };
    let denials = 0;
    let { cost } = item;
    for (let attempt = 0; attempt < DRAIN_ATTEMPTS && denials < DRAIN_DENIALS; attempt++) {
      const process = processes[denials === 0 ? 0 : this.random.below(processes.length)];
      if (isDisturbed()) return;
      const isAllowed = await this.takeAndWait(process, { ...item, cost });
      // A slow link brings grants later than the answer that announces them.
      if (!isAllowed && cost === 1) await this.grantsArrive(allotment);
      if (!isAllowed && cost === 1) denials++;
      cost = Math.max(1, isAllowed ? Math.min(2 * cost, item.cost) : Math.floor(cost / 2));
      if (isAllowed) denials = 0;
    }
    if (isDisturbed()) return;
    this.checkAll();
    const wasted = mayBeWasted ? this.checks.wastedOf(processes, allotment) : 0;
    const total = this.oracle.inForce(allotment);
    if (total + wasted < limit)
      this.failed(
        `allotment ${nameOfAllotment(allotment)}: only ${total} of ${limit} can be had, ${wasted} were wasted`,
      );
  }

  private async marksAreHeard(processes: readonly NodeProcess[], allotment: Allotment): Promise<void> {
    const limitMs = this.scheduler.nowMs + HEALING_LIMIT_MS;
    while (!this.checks.isHeard(processes, allotment) && this.scheduler.nowMs < limitMs)
      await this.pass(HEALING_POLL_MS);
  }

  private async grantsArrive(allotment: Allotment): Promise<void> {
    const limitMs = this.scheduler.nowMs + HEALING_LIMIT_MS;
    while (this.checks.isUnderWay(this.running(), allotment) && this.scheduler.nowMs < limitMs)
      await this.pass(HEALING_POLL_MS);
  }

  private async takeAndWait(process: NodeProcess, item: TakeItem): Promise<boolean> {
    let isAllowed: boolean | undefined;
    process.engine.advanceTo(process.node.nowMs());
    this.clients.ask(process, undefined, [item], DRAIN_WAIT_MS, (answer) => {
      isAllowed = 'isAllowed' in answer && answer.isAllowed;
      this.clients.answered(process, [item], answer);
    });
    const limitMs = this.scheduler.nowMs + DRAIN_WAIT_MS + 2 * PATIENCE_MS;
    while (isAllowed === undefined && this.scheduler.nowMs < limitMs && this.failures.length === 0) await this.pass(50);
    if (isAllowed === undefined) this.failed(`${process.label} does not answer`);
    return isAllowed === true;
  }

  /**
   * Once the windows that a lost allocator could have begun are over, one region can hold as many leases as the limit.
   */
  private async holdAll(): Promise<void> {
    const policy = this.policyAtHome(JOBS);
    const allocator = this.nodes.find(({ region }) => policy !== undefined && isServerOf(region, policy.allocator));
    if (policy === undefined || allocator?.running === undefined) return;
    await this.pass(2 * LEASE_MS + 3 * policy.windowMs);
    // Over a slow link a grant may need longer than the window that it is of.
    const { windowBytes, delayMs } = this.plan.network;
    const isSlow = windowBytes / delayMs <= SLOW_BYTES_PER_MS;
    const process = isSlow ? allocator.running : this.random.pick(this.running());
    // A region that has left for good has taken its share with it.
    const begin = isSlow ? [allocator] : this.present();
    const { book } = quotasOf(process);
    const window = windowAt(policy, process.engine.nowMs);
    const limit = begin.reduce((sum, { region }) => sum + book.initialOf(policy, window, policy.limit, region), 0);
    const isDone = () => this.leases.held().length >= limit || this.failures.length > 0;
    for (let attempt = 0; attempt < LEASE_ATTEMPTS && !isDone(); attempt++) {
      for (const lease of this.leases.held()) this.leases.renew(lease, LEASE_MS);
      for (let missing = limit - this.leases.held().length; missing > 0; missing--)
        this.leases.acquire(process, LEASE_MS);
      await this.pass(100);
      this.leases.check();
    }
    if (!isDone()) this.failed(`only ${this.leases.held().length} of ${limit} leases can be held at once`);
    for (const lease of this.leases.held()) this.leases.release(lease);
  }
}

/** Whether a process is that of a node, or has a link to its present incarnation. */
function isLinked({ region, replica }: NodeProcess, node: SimulatedNode): boolean {
  const origin = replica.members.get(node.region)?.origin;
  if (region === node.region) return true;
  return replica.isConnected(node.region) && origin !== undefined && nameOfOrigin(origin) === node.originName;
}
