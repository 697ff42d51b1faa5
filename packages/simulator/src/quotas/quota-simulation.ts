import type { Random } from '@quotadb/engine/testing';
import { type Allotment, nameOfAllotment, type Policy, startingRegions, type TakeItem, windowAt } from '@quotadb/quota';
import type { Outcome, SimulationOptions } from '../world/cluster.js';
import { type Actions, faultsOf } from '../world/faults.js';
import type { SimulatedNode } from '../world/node.js';
import type { Step } from '../world/plan.js';
import type { NodeProcess } from '../world/process.js';
import { LAPSE_MS, QuotaChecks } from './checks.js';
import { forgePolicies, forgeRequest } from './hostile-region.js';
import { drawLeaseMs, JOBS, LeaseClients } from './lease-clients.js';
import { QuotaOracle } from './oracle.js';
import { LEASE_MS, makeLeasePlan, makeQuotaPlan, type QuotaPlan, type QuotaStepKind } from './plan.js';
import { MAIN, QuotaClients, SECOND, TIMES_TO_LIVE_MS } from './quota-clients.js';
import { itemOf, QuotaCluster } from './quota-cluster.js';
import { quotasOf } from './quota-service.js';

const SECOND_LIMIT = 50;
/** The most that an answer takes longer than its caller waits: disks fail for a while, and clocks go in steps. */
const PATIENCE_MS = 2000;
const HEALING_POLL_MS = 200;
const HEALING_LIMIT_MS = 60_000;
const DRAIN_WAIT_MS = 2000;
const DRAIN_ATTEMPTS = 120;
const DRAIN_DENIALS = 12;
const LEASE_ATTEMPTS = 60;
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

/** Quotas: clients in all regions, and an oracle that knows the answer to each of their requests. */
class QuotaSimulation extends QuotaCluster {
  private readonly oracle = new QuotaOracle((what) => this.failed(what));
  private readonly checks = new QuotaChecks(this.oracle);
  private readonly clients = new QuotaClients(this, this.oracle);
  private readonly leases = new LeaseClients(this, (policy) => this.oracle.limitOf({ policy }));
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
    forgePolicies: (process, random) => forgePolicies(process, random),
    forgeRequest: (process, random) => forgeRequest(process, this.plan.subjects, random),
    // As it was, it goes on; with another allocator it has allotments of its own.
    defineAnew: (_, random) => {
      const home = this.nodes[0].running;
      if (home === undefined || this.policyAtHome(MAIN) === undefined) return;
      quotasOf(home).guard(() => quotasOf(home).drop(MAIN));
      this.defineKnown(MAIN, this.plan.limit, random.pick(this.plan.regions).region);
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

  private defineMissing(): void {
    const { limit, allocator, leaseLimit } = this.plan;
    if (this.nodes[0].running === undefined) return;
    if (this.policyAtHome(MAIN) === undefined) this.defineKnown(MAIN, limit, allocator);
    if (this.policyAtHome(SECOND) === undefined) this.defineKnown(SECOND, SECOND_LIMIT, allocator);
    if (leaseLimit !== undefined && this.policyAtHome(JOBS) === undefined)
      this.defineKnown(JOBS, leaseLimit, allocator, LEASE_MS);
  }

  private defineKnown(name: string, limit: number, allocator: string, leaseMs?: number): void {
    const policy = this.define(name, limit, allocator, leaseMs);
    if (policy !== undefined) this.oracle.defined(policy.number, policy.name, policy.limit);
  }

  // ---- the end ------------------------------------------------------------------------------------------------------

  checkAll(): void {
    this.oracle.pass();
    this.leases.check();
    for (const { engine, node } of this.running()) engine.advanceTo(node.wallMs());
    this.report(this.checks.find(this.running()));
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
    if ((topology !== 'mesh' && !hasRoutes) || this.policyAtHome(MAIN) === undefined) return;
    if (windowMs !== SHORT_WINDOW_MS && isLossless && !this.isLowered && this.hasBegun()) await this.drain(true);
    if (windowMs < LONG_ENOUGH_MS || this.failures.length > 0 || this.nodes.some((node) => node.hasLeft)) return;
    this.leapIntoWindow(windowMs);
    await this.pass(HEALING_POLL_MS);
    await this.drain(false);
  }

  /** Every region that begins with tokens ran when the policy was defined. */
  private hasBegun(): boolean {
    const policy = this.policyAtHome(MAIN) as Policy;
    const starting = startingRegions(policy);
    return this.running().every((process) => {
      const { region, engine } = process;
      return !starting.has(region) || quotasOf(process).book.mayStart(policy, windowAt(policy, engine.nowMs));
    });
  }

  /** All nodes run, are linked to their peers and know the newest policies. */
  private async meet(): Promise<void> {
    const limitMs = this.scheduler.nowMs + HEALING_LIMIT_MS;
    const isWhole = () => {
      this.defineMissing();
      const processes = this.running();
      if (processes.length < this.present().length) return false;
      const versions = new Set(processes.map((process) => quotasOf(process).book.version));
      const areLinked = processes.every((process) =>
        [...process.node.peers].every((region) => quotasOf(process).routes.way(region)?.hops === 1),
      );
      return versions.size === 1 && areLinked;
    };
    while (!isWhole() && this.scheduler.nowMs < limitMs && this.failures.length === 0) await this.pass(HEALING_POLL_MS);
    if (!isWhole() && this.failures.length === 0) this.failed('not healed: not all regions know the policies');
  }

  /** All clocks go on into a window that no process has been in, and that every incarnation has seen begin. */
  private leapIntoWindow(windowMs: number): void {
    const latestMs = Math.max(...this.running().map(({ engine, node }) => Math.max(engine.nowMs, node.wallMs())));
    const begin = (Math.floor((latestMs + this.clockSkewBoundMs) / windowMs) + 1) * windowMs;
    this.aheadMs += begin + this.clockSkewBoundMs - Math.floor(this.scheduler.nowMs + this.aheadMs);
    this.said(`all clocks are put forward to ${begin}`);
  }

  /** Takes until nothing is left in any region. All of the limit is in force then, except wasted tokens. */
  private async drain(mayBeWasted: boolean): Promise<void> {
    const policy = this.policyAtHome(MAIN) as Policy;
    const item = itemOf(MAIN, this.plan.subjects[0], Math.max(1, Math.ceil(policy.limit / 4)));
    const processes = this.running();
    const windowOf = ({ engine, node }: NodeProcess) => windowAt(policy, Math.max(engine.nowMs, node.wallMs()));
    const window = windowOf(processes[0]);
    const isDisturbed = () => processes.some((other) => windowOf(other) !== window) || this.failures.length > 0;
    const allotment: Allotment = { policy: policy.number, window, subject: item.subject };
    let denials = 0;
    let { cost } = item;
    for (let attempt = 0; attempt < DRAIN_ATTEMPTS && denials < DRAIN_DENIALS; attempt++) {
      const process = processes[denials === 0 ? 0 : this.random.below(processes.length)];
      if (isDisturbed()) return;
      const isAllowed = await this.takeAndWait(process, { ...item, cost });
      if (!isAllowed && cost === 1) denials++;
      cost = Math.max(1, isAllowed ? cost : Math.floor(cost / 2));
      if (isAllowed) denials = 0;
    }
    if (isDisturbed()) return;
    this.checkAll();
    const wasted = mayBeWasted ? this.checks.wastedOf(processes, allotment) : 0;
    const total = this.oracle.inForce(allotment);
    if (total + wasted < policy.limit)
      this.failed(
        `allotment ${nameOfAllotment(allotment)}: only ${total} of ${policy.limit} can be had, ${wasted} were wasted`,
      );
  }

  private async takeAndWait(process: NodeProcess, item: TakeItem): Promise<boolean> {
    let isAllowed: boolean | undefined;
    process.engine.advanceTo(process.node.wallMs());
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
    const allocator = this.nodes.find(({ region }) => region === policy?.allocator);
    if (policy === undefined || allocator?.running === undefined) return;
    await this.pass(2 * LEASE_MS + 3 * policy.windowMs);
    const process = this.random.pick(this.running());
    const isDone = () => this.leases.held().length === policy.limit || this.failures.length > 0;
    for (let attempt = 0; attempt < LEASE_ATTEMPTS && !isDone(); attempt++) {
      for (const lease of this.leases.held()) this.leases.renew(lease, LEASE_MS);
      for (let missing = policy.limit - this.leases.held().length; missing > 0; missing--)
        this.leases.acquire(process, LEASE_MS);
      await this.pass(100);
      this.leases.check();
    }
    if (!isDone()) this.failed(`only ${this.leases.held().length} of ${policy.limit} leases can be held at once`);
    for (const lease of this.leases.held()) this.leases.release(lease);
  }
}
