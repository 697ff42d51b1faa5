import type { Random } from '@quotadb/engine/testing';
import {
  type Allotment,
  nameOfAllotment,
  type Policy,
  PolicyError,
  startingRegions,
  type TakeAnswer,
  type TakeItem,
  windowAt,
} from '@quotadb/quota';
import { Cluster, type Outcome, type SimulationOptions } from '../cluster.js';
import { type Actions, faultsOf } from '../faults.js';
import type { Step } from '../plan.js';
import type { NodeProcess, SimulatedNode } from '../simulated-node.js';
import { LAPSE_MS, QuotaChecks } from './quota-checks.js';
import { type Held, QuotaOracle } from './quota-oracle.js';
import { type BookStore, QuotaParts } from './quota-parts.js';
import { makeQuotaPlan, type QuotaPlan, type QuotaStepKind } from './quota-plan.js';

export function simulateQuotas(seed: number, options: SimulationOptions = {}): Promise<Outcome<QuotaPlan>> {
  return new QuotaSimulation(makeQuotaPlan(seed), options).run();
}

/** The one that all is taken from, and one more for takes of several limits at once. */
const MAIN = 'calls';
const SECOND = 'bytes';
const SECOND_LIMIT = 50;
const TIMES_TO_LIVE_MS = [200, 1000, 5000];
const WAITS_MS = [0, 0, 300, 2000];
const LONGEST_BURST = 8;
/** An answer comes within so long of what a caller is willing to wait: disks fail for a while, and clocks go in steps. */
const PATIENCE_MS = 2000;
const HEALING_POLL_MS = 200;
const HEALING_LIMIT_MS = 60_000;
const DRAIN_WAIT_MS = 2000;
const DRAIN_ATTEMPTS = 120;
const DRAIN_DENIALS = 12;

/** Too short for anybody to take all of it in peace. */
const SHORT_WINDOW_MS = 2000;
const LONG_ENOUGH_MS = 60_000;

/** What a client has asked for under an id of its own. */
interface Operation {
  readonly id: string;
  readonly process: NodeProcess;
  readonly items: readonly TakeItem[];
  answers: number;
  first: TakeAnswer | undefined;
}

/** Quotas: clients that take, reserve and settle in all regions, and an oracle that knows what they were told. */
class QuotaSimulation extends Cluster<QuotaPlan> {
  private readonly oracle = new QuotaOracle((what) => this.failed(what));
  private readonly checks = new QuotaChecks(this.oracle);
  private readonly books = new Map<SimulatedNode, BookStore>();
  private readonly operations: Operation[] = [];
  private idsTotal = 0;
  private isLowered = false;
  private readonly actions: Actions<QuotaStepKind> = {
    ...faultsOf(this),
    take: (process, random) => {
      for (let burst = 1 + random.below(LONGEST_BURST); burst > 0; burst--)
        this.take(process, [this.item(MAIN, random)], random);
    },
    takeAll: (process, random) => this.take(process, [this.item(MAIN, random), this.item(SECOND, random)], random),
    peek: (process, random) => {
      process.quotas?.operations.peek(MAIN, bytesOf(random.pick(this.plan.subjects)));
    },
    reserve: (process, random) => this.reserve(process, random),
    commit: (process, random) => this.commit(process, random),
    cancel: (process, random) => this.cancel(process, random),
    retry: (process, random) => this.retry(process, random),
    changeLimit: (_, random) => {
      const limit = 1 + random.below(this.plan.limit * 2);
      const before = this.policyAtHome(MAIN);
      if (before !== undefined && limit < before.limit) this.isLowered = true;
      if (before !== undefined) this.define(MAIN, limit, before.allocator);
    },
    // The same name with allotments of its own.
    defineAnew: (_, random) => {
      const before = this.policyAtHome(MAIN);
      const home = this.home();
      if (before === undefined || home?.quotas === undefined) return;
      home.quotas.guard(() => home.quotas?.drop(MAIN));
      this.define(MAIN, this.plan.limit, random.pick(this.plan.regions).region);
    },
  };

  protected act(step: Step<QuotaStepKind>, process: NodeProcess, random: Random): void {
    this.defineUnlessThere();
    this.oracle.pass();
    this.actions[step.kind](process, random);
  }

  /** Clocks differ by twice as much as each is off. */
  private get skewBoundMs(): number {
    return 2 * this.plan.skewBoundMs;
  }

  // ---- lives of nodes ---------------------------------------------------------------------------------------------------

  quotasOf(process: NodeProcess): QuotaParts {
    const { node } = process;
    let store = this.books.get(node);
    if (store === undefined) {
      store = { saved: undefined };
      this.books.set(node, store);
    }
    return new QuotaParts({
      process,
      home: this.plan.regions[0].region,
      store,
      skewBoundMs: this.skewBoundMs,
      newId: () => this.newId(),
    });
  }

  protected override ending(_: SimulatedNode, process: NodeProcess): void {
    this.oracle.pass();
    this.oracle.ended(process);
  }

  protected override forgetting(node: SimulatedNode): void {
    this.books.delete(node);
  }

  protected override keptIncarnation(node: SimulatedNode): void {
    this.books.delete(node);
  }

  private newId(): string {
    return `id${++this.idsTotal}`;
  }

  // ---- policies ---------------------------------------------------------------------------------------------------------

  private home(): NodeProcess | undefined {
    return this.nodes[0].running;
  }

  private policyAtHome(name: string): Policy | undefined {
    return this.home()?.quotas?.book.named(name);
  }

  private defineUnlessThere(): void {
    const { limit, allocator } = this.plan;
    if (this.home() === undefined) return;
    if (this.policyAtHome(MAIN) === undefined) this.define(MAIN, limit, allocator);
    if (this.policyAtHome(SECOND) === undefined) this.define(SECOND, SECOND_LIMIT, allocator);
  }

  private define(name: string, limit: number, allocator: string): void {
    const home = this.home();
    if (home?.quotas === undefined) return;
    const { quotas } = home;
    const { windowMs, shares } = this.plan;
    home.engine.advanceTo(home.node.wallMs());
    quotas.guard(() => {
      try {
        quotas.define({ name, limit, windowMs, allocator, shares, waitMs: 1000 });
        this.said(`${home.label} defines ${name} as ${limit} in ${windowMs} ms, allocated by ${allocator}`);
      } catch (error) {
        if (!(error instanceof PolicyError)) throw error;
        this.said(`${home.label} does not define ${name}: ${error.message}`);
      }
    });
    const policy = quotas.book.named(name);
    if (policy !== undefined) this.oracle.defined(policy.number, policy.limit);
  }

  // ---- what clients do ----------------------------------------------------------------------------------------------------

  private item(name: string, random: Random): TakeItem {
    const most = name === MAIN ? random.pick([3, Math.ceil(this.plan.limit / 3)]) : 3;
    return { name, subject: bytesOf(random.pick(this.plan.subjects)), cost: 1 + random.below(most) };
  }

  private take(process: NodeProcess, items: readonly TakeItem[], random: Random): void {
    const id = random.chance(0.3) ? this.newId() : undefined;
    const waitMs = random.pick(WAITS_MS);
    if (id === undefined) {
      this.ask(process, undefined, items, waitMs, (answer) => this.answered(process, items, answer));
      return;
    }
    const operation: Operation = { id, process, items, answers: 0, first: undefined };
    this.operations.push(operation);
    this.askFor(operation, waitMs);
  }

  /** Asked once, and once more where the first answer was not heard: it is the same one, and nothing more is taken. */
  private askFor(operation: Operation, waitMs: number): void {
    const { process, id, items } = operation;
    const isFresh = this.ask(process, id, items, waitMs, (answer) => {
      const { first } = operation;
      operation.answers++;
      const isRemembered = first !== undefined && 'isAllowed' in first && first.isAllowed;
      if (isRemembered && JSON.stringify(first) !== JSON.stringify(answer))
        this.failed(`${process.label}: ${id} was answered in two ways`);
      if (isRemembered) return;
      operation.first = answer;
      this.answered(process, items, answer);
    });
    if (!isFresh) this.failed(`${process.label}: ${id} was taken for another operation`);
  }

  private ask(
    process: NodeProcess,
    id: string | undefined,
    items: readonly TakeItem[],
    waitMs: number,
    done: (answer: TakeAnswer) => void,
  ): boolean {
    const heard = (answer: TakeAnswer) => {
      if (!process.isOver) done(answer);
    };
    return process.quotas?.take(id, { items, waitMs }, heard) ?? true;
  }

  private answered(process: NodeProcess, items: readonly TakeItem[], answer: TakeAnswer): void {
    this.oracle.pass();
    if ('error' in answer || !answer.isAllowed) return;
    for (const [index, allotment] of answer.allotments.entries()) {
      this.said(`${process.label} allows ${items[index].cost} of ${nameOfAllotment(allotment)}`);
      this.oracle.taken(process, allotment, items[index].cost);
    }
  }

  private retry(process: NodeProcess, random: Random): void {
    const mine = this.operations.filter((operation) => operation.process === process);
    if (mine.length === 0) return;
    const operation = random.pick(mine);
    if (random.chance(0.2)) {
      const items = [{ ...operation.items[0], cost: operation.items[0].cost + 1 }];
      const isKnown =
        operation.answers === 0 ||
        (operation.first !== undefined && 'allotments' in operation.first && operation.first.isAllowed);
      // What was denied is forgotten: then this would be a new operation.
      if (isKnown && this.ask(process, operation.id, items, 0, () => {}))
        this.failed(`${process.label}: ${operation.id} was used for two operations`);
      return;
    }
    this.askFor(operation, random.pick(WAITS_MS));
  }

  private reserve(process: NodeProcess, random: Random): void {
    const item = this.item(MAIN, random);
    const ttlMs = random.pick(TIMES_TO_LIVE_MS);
    const { quotas } = process;
    quotas?.guard(() =>
      quotas.reservations.reserve({ item, ttlMs, waitMs: random.pick(WAITS_MS) }, (reserved) => {
        if (process.isOver || 'error' in reserved || !reserved.isAllowed) return;
        const allotment = quotas.operations.answering?.[0] as Allotment;
        this.oracle.pass();
        this.said(
          `${process.label} reserves ${item.cost} of ${nameOfAllotment(allotment)} as ${reserved.id} for ${ttlMs} ms`,
        );
        this.oracle.reserved(process, reserved.id, allotment, item.cost, ttlMs);
      }),
    );
  }

  private heldBy(process: NodeProcess, random: Random): Held | undefined {
    const mine = [...this.oracle.held.values()].filter((held) => held.process === process);
    return mine.length === 0 ? undefined : random.pick(mine);
  }

  private commit(process: NodeProcess, random: Random): void {
    const held = this.heldBy(process, random);
    const { quotas } = process;
    if (held === undefined || quotas === undefined) return;
    const { id, cost, allotment, state } = held;
    const actual = random.pick([0, random.below(cost + 1), cost, cost + 1 + random.below(cost)]);
    if (state === 'committing') return;
    const isDone = state === 'settled';
    let isAnswered = false;
    let hasBegun = false;
    const begin = () => {
      if (!hasBegun) this.oracle.committing(held, actual);
      hasBegun = true;
    };
    quotas.guard(() =>
      quotas.reservations.commit(id, actual, (settlement) => {
        if (process.isOver) return;
        isAnswered = true;
        if ('error' in settlement) {
          if (state === 'held') this.failed(`${process.label}: ${id} cannot be committed: ${settlement.error}`);
          return;
        }
        if (isDone) {
          const isSame =
            held.settlement === undefined || JSON.stringify(settlement) === JSON.stringify(held.settlement);
          if (actual !== held.actual || !isSame) this.failed(`${process.label}: ${id} was settled twice`);
          return;
        }
        if (settlement.charged + settlement.uncharged !== actual)
          this.failed(`${process.label}: ${id} used ${actual}, and was settled as ${JSON.stringify(settlement)}`);
        begin();
        this.said(`${process.label} commits ${id} with ${actual} for ${cost}: ${JSON.stringify(settlement)}`);
        this.oracle.committed(held, settlement, quotas.operations.answering?.[0] ?? allotment);
      }),
    );
    // It waits for more: from now on it is settled, and cannot lapse.
    if (!isAnswered && !isDone) begin();
  }

  private cancel(process: NodeProcess, random: Random): void {
    const held = this.heldBy(process, random);
    const { quotas } = process;
    if (held === undefined || quotas === undefined) return;
    const { state, id } = held;
    const isCancelled = quotas.reservations.cancel(id);
    this.said(`${process.label} cancels ${id}: ${isCancelled}`);
    if (isCancelled && (state === 'settled' || state === 'committing'))
      this.failed(`${process.label}: ${id} was settled, and then cancelled`);
    else if (!isCancelled && state === 'held') this.failed(`${process.label}: ${id} cannot be cancelled`);
    else if (isCancelled) this.oracle.cancelled(held);
  }

  // ---- the end ----------------------------------------------------------------------------------------------------------

  checkAll(): void {
    this.oracle.pass();
    for (const { engine, node } of this.running()) engine.advanceTo(node.wallMs());
    this.report(this.checks.find(this.running()));
  }

  /** With nothing in the way, what nobody holds any more can be had by everybody. */
  protected async end(): Promise<void> {
    // What a lossy carrier has lost of policies is told again when regions meet.
    this.network.breakAll();
    await this.meet();
    await this.pass(Math.max(...TIMES_TO_LIVE_MS) + LAPSE_MS + PATIENCE_MS);
    if (this.failures.length > 0) return;
    this.checkAll();
    for (const { label, quotas } of this.running())
      if (quotas !== undefined && quotas.reservations.outstanding().size > 0)
        this.failed(`${label} still has reservations that are over`);
    const { windowMs } = this.plan;
    if (this.plan.topology !== 'mesh' || this.policyAtHome(MAIN) === undefined) return;
    if (windowMs !== SHORT_WINDOW_MS && this.plan.isLossless && !this.isLowered && this.hasBegun())
      await this.drain(true);
    if (windowMs < LONG_ENOUGH_MS || this.failures.length > 0 || this.nodes.some((node) => node.hasLeft)) return;
    this.leapIntoWindow(windowMs);
    await this.pass(HEALING_POLL_MS);
    await this.drain(false);
  }

  /** Whoever begins with something was there when the policy was defined. */
  private hasBegun(): boolean {
    const policy = this.policyAtHome(MAIN) as Policy;
    const starting = startingRegions(policy);
    return this.running().every(({ region, quotas, engine }) => {
      if (!starting.has(region)) return true;
      return quotas?.book.mayStart(policy, windowAt(policy, engine.nowMs));
    });
  }

  /** Everybody is up, linked to everybody and knows of the newest policies. */
  private async meet(): Promise<void> {
    const limitMs = this.scheduler.nowMs + HEALING_LIMIT_MS;
    const isWhole = () => {
      this.defineUnlessThere();
      const processes = this.running();
      if (processes.length < this.present().length) return false;
      const versions = new Set(processes.map(({ quotas }) => quotas?.book.version));
      const areLinked = processes.every(({ node, quotas }) =>
        [...node.peers].every((region) => quotas?.isLinkedTo(region)),
      );
      return versions.size === 1 && areLinked;
    };
    while (!isWhole() && this.scheduler.nowMs < limitMs && this.failures.length === 0) await this.pass(HEALING_POLL_MS);
    if (!isWhole() && this.failures.length === 0) this.failed('not healed: not everybody knows of the policies');
  }

  /** All clocks go on into a window that nobody has been in, and that every life has seen begin. */
  private leapIntoWindow(windowMs: number): void {
    const latestMs = Math.max(...this.running().map(({ engine, node }) => Math.max(engine.nowMs, node.wallMs())));
    const begin = (Math.floor((latestMs + this.skewBoundMs) / windowMs) + 1) * windowMs;
    this.aheadMs += begin + this.skewBoundMs - Math.floor(this.scheduler.nowMs + this.aheadMs);
    this.said(`all clocks are put forward to ${begin}`);
  }

  /** Takes until nothing is left, here and there. All of the limit is in force then but for what was wasted. */
  private async drain(mayBeWasted: boolean): Promise<void> {
    const policy = this.policyAtHome(MAIN) as Policy;
    const subject = bytesOf(this.plan.subjects[0]);
    const processes = this.running();
    const windowOf = ({ engine, node }: NodeProcess) => windowAt(policy, Math.max(engine.nowMs, node.wallMs()));
    const window = windowOf(processes[0]);
    const allotment: Allotment = { policy: policy.number, window, subject };
    let denials = 0;
    let cost = Math.max(1, Math.ceil(policy.limit / 4));
    for (let attempt = 0; attempt < DRAIN_ATTEMPTS && denials < DRAIN_DENIALS; attempt++) {
      const process = processes[denials === 0 ? 0 : this.random.below(processes.length)];
      if (processes.some((other) => windowOf(other) !== window) || this.failures.length > 0) return;
      const isAllowed = await this.takeAndWait(process, { name: MAIN, subject, cost });
      if (!isAllowed && cost === 1) denials++;
      cost = Math.max(1, isAllowed ? cost : Math.floor(cost / 2));
      if (isAllowed) denials = 0;
    }
    if (processes.some((other) => windowOf(other) !== window) || this.failures.length > 0) return;
    this.checkAll();
    const wasted = mayBeWasted ? this.checks.wastedOf(processes, allotment) : 0;
    const total = this.oracle.inForce(allotment);
    if (total + wasted < policy.limit)
      this.failed(
        `allotment ${nameOfAllotment(allotment)}: only ${total} of ${policy.limit} can be had, and ${wasted} were wasted`,
      );
  }

  private async takeAndWait(process: NodeProcess, item: TakeItem): Promise<boolean> {
    let answer: TakeAnswer | undefined;
    process.engine.advanceTo(process.node.wallMs());
    this.ask(process, undefined, [item], DRAIN_WAIT_MS, (heard) => {
      answer = heard;
      this.answered(process, [item], heard);
    });
    const limitMs = this.scheduler.nowMs + DRAIN_WAIT_MS + 2 * PATIENCE_MS;
    while (answer === undefined && this.scheduler.nowMs < limitMs && this.failures.length === 0) await this.pass(50);
    if (answer === undefined) this.failed(`${process.label} does not answer`);
    return answer !== undefined && 'isAllowed' in answer && answer.isAllowed;
  }
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text));
}
