import { EPOCH_MS } from '@quotadb/engine';
import type { Random } from '@quotadb/engine/testing';
import type { Item } from '@quotadb/limits';
import { type Allotment, nameOfAllotment } from '@quotadb/quota';
import { QuotaChecks } from '../quotas/checks.js';
import { HEALING_LIMIT_MS, HEALING_POLL_MS } from '../quotas/quota-cluster.js';
import type { Outcome, SimulationOptions } from '../world/cluster.js';
import { type Actions, faultsOf } from '../world/faults.js';
import type { SimulatedNode } from '../world/node.js';
import type { Step } from '../world/plan.js';
import type { NodeProcess } from '../world/process.js';
import { LimitClients } from './limit-clients.js';
import { LimitCluster } from './limit-cluster.js';
import { LimitOperators } from './limit-operators.js';
import { limitsOf } from './limit-service.js';
import { expectedOf } from './model.js';
import { LimitOracle } from './oracle.js';
import { DOMAIN, HOLD_MS, JOBS, type LimitPlan, type LimitStepKind, makeLimitPlan, TRIED, USER, WORK } from './plan.js';
import { WorkClients } from './work-clients.js';

/** The longest that a request or a charge in shadow waits, and the most that its answer takes longer. */
const PATIENCE_MS = 5000;
const DRAIN_WAIT_MS = 2000;
const DRAIN_ATTEMPTS = 60;
const DRAIN_DENIALS = 8;
const HOLD_ATTEMPTS = 100;
const SLOW_BYTES_PER_MS = 2;
/** More seconds than clocks are apart. */
const NUMBERS_APART = 5;
/** Too short to take a whole limit from in peace. */
const SHORT_WINDOW_MS = 2000;

/** Limits of a catalogue with parents, limits in shadow and overrides, asked for in all regions. */
export function simulateLimits(seed: number, options: SimulationOptions = {}): Promise<Outcome<LimitPlan>> {
  return new LimitSimulation(makeLimitPlan(seed), options).run();
}

class LimitSimulation extends LimitCluster {
  private readonly oracle = new LimitOracle(
    (what) => this.failed(what),
    () => this.allNodes.length,
  );
  private readonly checks = new QuotaChecks(this.oracle);
  private readonly clients = new LimitClients(this, this.oracle);
  private readonly work = new WorkClients(this, this.clients, this.oracle);
  private readonly operators = new LimitOperators(this);
  private readonly actions: Actions<LimitStepKind> = {
    ...faultsOf(this),
    check: (process, random) => this.clients.checkBurst(process, random.pick([USER, USER, USER, TRIED, 'org']), random),
    checkDomain: (process, random) => this.clients.checkBurst(process, DOMAIN, random),
    peek: (process, random) => this.clients.peek(process, random.pick([USER, DOMAIN]), random),
    work: (process, random) => this.work.begin(process, random),
    workAgain: (process, random) => this.work.repeat(process, random),
    endWork: (_, random) => this.work.end(random),
    changeLimit: (_, random) => this.operators.changeLimit(random),
    override: (_, random) => this.operators.override(random),
    toggle: (_, random) => this.operators.toggle(random),
    dropLimit: (_, random) => this.operators.dropLimit(random),
  };

  protected act(step: Step<LimitStepKind>, process: NodeProcess, random: Random): void {
    this.defineMissing();
    this.actions[step.kind](process, random);
  }

  protected override ending(_: SimulatedNode, process: NodeProcess): void {
    this.oracle.ended(process);
  }

  protected override up(_: SimulatedNode, process: NodeProcess): void {
    this.oracle.restarted(process);
  }

  protected override admittedAlone({ node, label }: NodeProcess, allotment: Allotment, amount: number): void {
    this.said(`${label} admits ${amount} of ${nameOfAllotment(allotment)} alone`);
    this.oracle.admitted(node, allotment, amount);
  }

  protected chargedLate(process: NodeProcess, item: Item): void {
    this.clients.chargedLate(process, item);
  }

  protected changed(home: NodeProcess): void {
    const { catalogue = { limits: [] }, book } = limitsOf(home);
    this.oracle.changed(catalogue, book.list(), home.engine.nowMs);
  }

  protected override defineMissing(): void {
    const home = this.nodes[0].running;
    if (home === undefined || this.operators.catalogue !== undefined) return;
    // Numbers of policies are drawn from the clock, a second each. Where a home has lost its memory and learnt from a
    // region as empty as itself, the numbers of limits that other regions still have would be given to others: a known
    // gap.
    const number = Math.floor((home.engine.nowMs - EPOCH_MS) / 1000);
    if (this.oracle.highestNumber + NUMBERS_APART > number && this.oracle.highestNumber > 0) return;
    this.changeCatalogue({ replace: this.plan.catalogue });
  }

  checkAll(): void {
    for (const process of this.running()) process.advance();
    this.work.check();
    this.report(this.checks.find(this.running()));
  }

  // ---- the end ------------------------------------------------------------------------------------------------------

  protected async end(): Promise<void> {
    this.network.breakAll();
    await this.meet();
    await this.pass(PATIENCE_MS);
    if (this.failures.length > 0) return;
    this.checkAll();
    const home = this.nodes[0].running;
    if (this.failures.length > 0 || home === undefined || this.operators.catalogue === undefined) return;
    // A home that lost its memory may have got an earlier catalogue back: that one holds.
    this.changed(home);
    // Where memory is full, new allotments get no tokens.
    if (this.running().some(({ wasFull }) => wasFull)) return;
    for (const subject of this.plan.subjects) await this.checkInForce(subject);
    if (this.plan.windowMs <= SHORT_WINDOW_MS || this.nodes.some((node) => node.hasLeft)) return;
    for (const policy of limitsOf(this.running()[0]).book.list()) this.leapIntoWindow(policy);
    await this.pass(HEALING_POLL_MS);
    for (const subject of this.plan.subjects) await this.drain(subject);
    if (this.plan.hasLeases && this.failures.length === 0) await this.holdAll(this.plan.subjects[0]);
  }

  /**
   * All regions know the last catalogue and each other's marks: nothing is allowed beyond it any more. They have to
   * know them at each take, or two of them could exceed a lowered limit together: a known gap.
   */
  private async checkInForce(subject: string): Promise<void> {
    const [process] = this.running();
    const allotments = this.chainOf(process, USER, subject).map(({ allotment }) => allotment);
    await this.hearMarks(allotments);
    await this.pass(PATIENCE_MS);
    const before = allotments.map((allotment) => ({ allotment, most: this.oracle.mostFromNow(allotment) }));
    for (const one of this.running()) {
      await this.checkAndWait(one, USER, subject, 1);
      await this.hearMarks(allotments);
    }
    for (const { allotment, most } of before) {
      const total = this.oracle.inForce(allotment);
      if (total > most) this.failed(`allotment ${nameOfAllotment(allotment)}: ${total} of ${most} that are in force`);
    }
  }

  private async hearMarks(allotments: readonly Allotment[]): Promise<void> {
    const limitMs = this.scheduler.nowMs + HEALING_LIMIT_MS;
    const areHeard = () => allotments.every((allotment) => this.checks.isHeard(this.running(), allotment));
    while (!areHeard() && this.scheduler.nowMs < limitMs) await this.pass(HEALING_POLL_MS);
  }

  /**
   * In a fresh window a subject gets what it has and its parents have left, all of it, whatever limits in shadow say.
   */
  private async drain(subject: string): Promise<void> {
    const processes = this.running();
    const [first] = processes;
    const name = this.random.pick([USER, DOMAIN]);
    const chain = this.chainOf(first, name, subject).filter(({ shadow }) => !shadow);
    const left = () =>
      Math.min(...chain.map(({ allotment }) => this.oracle.lastLimitOf(allotment) - this.oracle.inForce(allotment)));
    if (chain.length === 0 || this.failures.length > 0) return;
    const largest = Math.max(1, Math.ceil(left() / 4));
    let cost = largest;
    let denials = 0;
    for (let attempt = 0; attempt < DRAIN_ATTEMPTS && denials < DRAIN_DENIALS && left() > 0; attempt++) {
      const process = denials === 0 ? first : this.random.pick(processes);
      const isAllowed = await this.checkAndWait(process, name, subject, cost);
      denials = isAllowed ? 0 : denials + (cost === 1 ? 1 : 0);
      if (denials > 0) await this.tokensMove(chain);
      cost = Math.max(1, isAllowed ? Math.min(2 * cost, largest, left()) : Math.floor(cost / 2));
    }
    this.checkAll();
    if (left() !== 0) this.failed(`${left()} more could not be had of ${name} for ${subject}, or were too many`);
    for (const process of processes)
      if (left() === 0 && (await this.checkAndWait(process, name, subject, 1)))
        this.failed(`${process.label} allows ${subject} more than ${name} has`);
  }

  /** Once the leases of the schedule are over, all that there are can be held again, and not one more. */
  private async holdAll(subject: string): Promise<void> {
    const { windowBytes, delayMs } = this.plan.network;
    const allocator = this.nodes.find(({ region }) => region === this.plan.allocator)?.running;
    const jobs = allocator && limitsOf(allocator).book.named(JOBS);
    // Over a slow link a grant may need longer than the window that it is of.
    if (allocator === undefined || jobs === undefined || windowBytes / delayMs <= SLOW_BYTES_PER_MS) return;
    this.work.endAll();
    await this.pass(2 * HOLD_MS + 3 * jobs.windowMs);
    // Of the starts some may be used up; of the leases none is held any more.
    const left = this.chainOf(allocator, WORK, subject).map(
      ({ allotment }) => this.oracle.lastLimitOf(allotment) - this.oracle.inForce(allotment),
    );
    const limit = Math.min(...left);
    const isDone = () => this.work.heldTotal >= limit || this.failures.length > 0;
    for (let attempt = 0; attempt < HOLD_ATTEMPTS && !isDone(); attempt++) {
      for (let missing = limit - this.work.heldTotal; missing > 0; missing--)
        this.work.ask(allocator, subject, this.newId(), 0);
      await this.pass(50);
      this.work.check();
    }
    if (!isDone()) this.failed(`only ${this.work.heldTotal} of ${limit} leases can be held at once for ${subject}`);
    this.work.ask(allocator, subject, this.newId(), 0, (isAllowed) => {
      if (isAllowed) this.failed(`${allocator.label} gives ${subject} a lease beyond ${limit}`);
    });
  }

  /** The allotments that a request costs, by the guide. */
  private chainOf(process: NodeProcess, name: string, subject: string) {
    const { catalogue = { limits: [] } } = limitsOf(process);
    return expectedOf(catalogue, name, subject).flatMap((expected) => {
      const allotment = this.clients.allotmentOf(process, expected.name, expected.subject);
      return allotment === undefined ? [] : [{ allotment, shadow: expected.shadow }];
    });
  }

  /** Grants that are under way arrive, and regions that were refused ask each other again. */
  private async tokensMove(chain: readonly { readonly allotment: Allotment }[]): Promise<void> {
    const limitMs = this.scheduler.nowMs + HEALING_LIMIT_MS;
    do await this.pass(HEALING_POLL_MS);
    while (
      this.scheduler.nowMs < limitMs &&
      chain.some(({ allotment }) => this.checks.isUnderWay(this.running(), allotment))
    );
  }

  private async checkAndWait(process: NodeProcess, name: string, subject: string, cost: number): Promise<boolean> {
    let isAllowed: boolean | undefined;
    process.engine.advanceTo(process.node.nowMs());
    this.clients.ask(process, { name, subject, cost }, DRAIN_WAIT_MS, (answer) => {
      isAllowed = answer;
    });
    const limitMs = this.scheduler.nowMs + DRAIN_WAIT_MS + PATIENCE_MS;
    while (isAllowed === undefined && this.scheduler.nowMs < limitMs && this.failures.length === 0) await this.pass(50);
    if (isAllowed === undefined) this.failed(`${process.label} does not answer`);
    return isAllowed === true;
  }
}
