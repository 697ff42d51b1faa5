import { createHash } from 'node:crypto';
import {
  type Allotment,
  type Override,
  type Policy,
  PolicyError,
  type Seals,
  type TakeItem,
  windowAt,
  windowEndMs,
} from '@quotadb/quota';
import { Cluster } from '../world/cluster.js';
import type { SimulatedNode } from '../world/node.js';
import type { NodeProcess } from '../world/process.js';
import type { QuotaPlan } from './plan.js';
import { type BookStore, QuotaService, type QuotaServiceOptions, quotasOf } from './quota-service.js';

/** The policy of most requests. */
export const MAIN = 'calls';
/** How long a caller waits for tokens of other regions if its request does not say. */
const WAIT_MS = 1000;
/** Half an hour, where clocks are changed by that. */
const SHORTEST_CALENDAR_MS = 1_800_000;
export const HEALING_POLL_MS = 200;
export const HEALING_LIMIT_MS = 60_000;

/** Replicas with quotas. The home of their policies is the first region of the plan. */
export abstract class QuotaCluster<AnyPlan extends QuotaPlan<string> = QuotaPlan> extends Cluster<AnyPlan> {
  private readonly books = new Map<SimulatedNode, BookStore>();
  private idsTotal = 0;
  /** Of the policy of most requests. */
  overrides: readonly Override[] = [];

  /** Policies that are defined in another year begin there: a known gap. */
  override get mayStartAhead(): boolean {
    return false;
  }

  /** Clocks differ by twice as much as each is off. */
  get clockSkewBoundMs(): number {
    return 2 * this.plan.skewBoundMs;
  }

  override serviceOf(process: NodeProcess): QuotaService {
    return new QuotaService(this.serviceOptionsOf(process));
  }

  protected serviceOptionsOf(process: NodeProcess): QuotaServiceOptions {
    const store = this.books.get(process.node) ?? { saved: undefined };
    this.books.set(process.node, store);
    return {
      process,
      home: this.plan.regions[0].region,
      store,
      skewBoundMs: this.clockSkewBoundMs,
      newId: () => this.newId(),
      hasRoutes: this.plan.hasRoutes ?? false,
      seals: this.plan.isCertified ? sealsOf(process.region) : undefined,
      removed: () => new Set(this.nodes.filter(({ hasLeft }) => hasLeft).map(({ region }) => region)),
      admitted: (allotment, amount) => this.admittedAlone(process, allotment, amount),
    };
  }

  /** A process without a disk has admitted tokens beyond the limit alone. */
  protected admittedAlone(_process: NodeProcess, _allotment: Allotment, _amount: number): void {}

  protected override losingState(node: SimulatedNode): void {
    this.books.delete(node);
  }

  protected override keptIncarnation(node: SimulatedNode): void {
    this.books.delete(node);
  }

  newId(): string {
    return `id${++this.idsTotal}`;
  }

  policyAtHome(name: string): Policy | undefined {
    const home = this.nodes[0].running;
    return home && quotasOf(home).book.named(name);
  }

  /** Whether a region that runs, or the disk of any, has a policy of this name, or remembers that it was dropped. */
  protected isKnown(name: string): boolean {
    const saved = [...this.books.values()].map((store) => store.saved?.set);
    const sets = [...saved, ...this.running().map((process) => quotasOf(process).book.set)];
    return sets.some((set) => [...(set?.policies ?? []), ...(set?.dropped ?? [])].some((known) => known.name === name));
  }

  /** Undefined where the home is down or refuses it, and there was no such policy before. */
  protected define(name: string, limit: number, allocator: string, leaseMs?: number): Policy | undefined {
    const home = this.nodes[0].running;
    if (home === undefined) return undefined;
    const quotas = quotasOf(home);
    const { shares, calendar, admitFraction } = this.plan;
    const windowMs = leaseMs === undefined ? this.plan.windowMs : 0;
    const lasting = leaseMs === undefined ? { windowMs, calendar, admitFraction } : { windowMs, leaseMs };
    const overrides = name === MAIN ? this.overrides : undefined;
    home.advance();
    quotas.guard(() => {
      try {
        quotas.define({ name, limit, ...lasting, allocator, shares, waitMs: WAIT_MS, overrides });
        this.said(`${home.label} defines ${name} as ${limit} in ${windowMs} ms, allocated by ${allocator}`);
      } catch (error) {
        if (!(error instanceof PolicyError)) throw error;
        this.said(`${home.label} does not define ${name}: ${error.message}`);
      }
    });
    return quotas.book.named(name);
  }

  /** A take is from the window that its process is in, and that begins and ends when the almanac says. */
  checkCalendar({ engine, label }: NodeProcess, { window }: Allotment): void {
    const { boundaryMs } = this.plan;
    const { nowMs } = engine;
    // Where all clocks are put forward, the windows are others.
    if (boundaryMs === undefined || Math.abs(nowMs - boundaryMs) > SHORTEST_CALENDAR_MS) return;
    const startMs = Math.floor(window / 2 ** 20) * 60_000;
    const endMs = startMs + (window % 2 ** 20) * 60_000;
    if (nowMs < boundaryMs ? endMs !== boundaryMs : startMs !== boundaryMs)
      this.failed(`${label}: at ${nowMs} tokens are taken of the window from ${startMs} to ${endMs}`);
  }

  // ---- the end ------------------------------------------------------------------------------------------------------

  /** Defines what every schedule has, where the home does not know it yet, or any more. */
  protected defineMissing(): void {}

  /** All nodes run, are linked to their peers and know the newest policies. */
  protected async meet(): Promise<void> {
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
  protected leapIntoWindow(policy: Policy): void {
    const latestMs = Math.max(...this.running().map(({ engine, node }) => Math.max(engine.nowMs, node.nowMs())));
    const begin = windowEndMs(policy, windowAt(policy, latestMs + this.clockSkewBoundMs));
    this.aheadMs += begin + this.clockSkewBoundMs - Math.floor(this.scheduler.nowMs + this.aheadMs);
    this.said(`all clocks are put forward to ${begin}`);
  }
}

/** As signatures: only the region itself makes its seal, and every region can check it. */
export function sealsOf(region: string): Seals {
  const signatureOf = (by: string, text: string) => createHash('sha256').update(`${by}\0${text}`).digest('base64');
  return {
    seal: (text) => ({ certificate: region, signature: signatureOf(region, text) }),
    findFault: (text, { certificate, signature }, by) =>
      certificate === by && signature === signatureOf(by, text) ? undefined : `they have no seal of ${by}`,
  };
}

export function itemOf(name: string, subject: string, cost: number): TakeItem {
  return { name, subject: Uint8Array.from(Buffer.from(subject)), cost };
}
