import type { Link, LinkTransport } from '@quotadb/replication';
import { QuotaNode, type TestDisk } from './quota-node.js';

export interface QuotaSimulationOptions {
  /** Makes a mistake in a node, to see that it is found. */
  readonly plant?: (node: QuotaNode) => void;
  /** Left to the seed where they are not given. */
  readonly regionCount?: number;
  readonly limit?: number;
  readonly windowMs?: number;
  readonly leaseMs?: number;
  /** Who has a link to whom: everybody to everybody unless it says otherwise. */
  readonly shape?: Shape;
  readonly isLossless?: boolean;
}

/** Where the calls come from: from everywhere alike, mostly from one region, or from one region after another. */
export type Demand = 'uniform' | 'skewed' | 'moving';

/** Everybody to everybody, everybody to the second one, or one after another. */
export type Shape = 'mesh' | 'hub' | 'chain';

export interface QuotaOutcome {
  readonly failures: readonly string[];
  readonly allowed: number;
}

interface Wire {
  readonly ends: readonly [string, string];
  readonly links: Link[];
  readonly queues: [{ atMs: number; frame: Uint8Array }[], { atMs: number; frame: Uint8Array }[]];
}

const START_MS = Date.UTC(2026, 5, 1);
const SKEW_BOUND_MS = 2000;

/** A small generator: the same seed, the same schedule. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * Two to five regions with quotas, a network, disks and clocks from one seed. At every moment what was allowed of a
 * allotment must be at most its limit; when all is healed and nothing was lost, all of it can be had.
 */
export class QuotaSimulation {
  private readonly random: () => number;
  private readonly options: QuotaSimulationOptions;
  private readonly nodes = new Map<string, QuotaNode>();
  private readonly disks = new Map<string, TestDisk>();
  private readonly skews = new Map<string, number>();
  private readonly regions: string[];
  protected readonly limits = new Map<number, number>();
  private readonly allowed = new Map<string, number>();
  private readonly counted = new Map<string, number>();
  private wires: Wire[] = [];
  private readonly cuts = new Set<string>();
  protected readonly failures: string[] = [];
  private readonly subjects: string[];
  private incarnations = 0;
  protected nowMs = START_MS;
  private readonly isLossless: boolean;
  private readonly windowMs: number;
  protected readonly limit: number;

  constructor(seed: number, options: QuotaSimulationOptions = {}) {
    this.random = generator(seed);
    this.options = options;
    this.regions = ['a', 'b', 'c', 'd', 'e'].slice(0, options.regionCount ?? 2 + this.below(4));
    this.subjects = ['s', 't', 'u'].slice(0, 1 + this.below(3));
    this.isLossless = options.isLossless ?? this.random() < 0.3;
    this.windowMs = options.windowMs ?? (this.random() < 0.5 ? 60_000 : 3_600_000);
    this.limit = options.limit ?? (this.random() < 0.5 ? 100 : 1 + this.below(30));
    const withDisk = this.random();
    for (const region of this.regions) {
      this.skews.set(region, Math.floor((this.random() - 0.5) * SKEW_BOUND_MS));
      if (this.random() < withDisk) this.disks.set(region, this.newDisk());
      this.start(region);
    }
  }

  run(): QuotaOutcome {
    this.connectAll();
    this.pass(500);
    // Not everybody hears of a policy at once: somebody may come back who has not, and knows an older set.
    if (!this.isLossless) while (this.random() < 0.5) this.cut(this.pick(this.regions), this.pick(this.regions));
    this.define(this.limit, this.pick(this.regions));
    this.limits.set(this.policy(), this.limit);
    this.pass(300);
    const steps = 40 + this.below(120);
    for (let step = 0; step < steps && this.failures.length === 0; step++) {
      this.act();
      this.pass(this.below(60));
    }
    if (this.failures.length === 0) this.heal();
    let total = 0;
    for (const amount of this.allowed.values()) total += amount;
    return { failures: this.failures, allowed: total };
  }

  /** Calls for three times the limit, with the network up and nothing lost; returns how much of the limit was had. */
  runDemand(demand: Demand): number {
    this.connectAll();
    this.pass(500);
    this.home().define('calls', this.limit, this.windowMs, this.pick(this.regions));
    this.limits.set(this.policy(), this.limit);
    this.pass(300);
    const steps = 150;
    const burst = Math.ceil((3 * this.limit) / steps);
    for (let step = 0; step < steps && this.failures.length === 0; step++) {
      const node = this.nodes.get(this.demanding(demand, step / steps)) as QuotaNode;
      for (let call = 0; call < burst; call++) node.take('calls', 's', 1);
      this.pass(50);
    }
    this.pass(3000);
    if (this.failures.length > 0) throw new Error(this.failures.join('; '));
    return this.allowed.get(`${this.policy()}:${Math.floor(START_MS / this.windowMs)}:s`) ?? 0;
  }

  private define(limit: number, allocator: string): void {
    this.home().define('calls', limit, this.windowMs, allocator, this.options.leaseMs);
  }

  private demanding(demand: Demand, progress: number): string {
    if (demand === 'uniform') return this.pick(this.regions);
    if (demand === 'skewed') return this.random() < 0.9 ? (this.regions.at(-1) as string) : this.pick(this.regions);
    return this.regions[Math.floor(progress * this.regions.length)];
  }

  protected below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  private pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)];
  }

  private policy(): number {
    return (this.home().book.named('calls') as { number: number }).number;
  }

  private home(): QuotaNode {
    return this.nodes.get(this.regions[0]) as QuotaNode;
  }

  private newDisk(): TestDisk {
    return { batches: [], incarnation: ++this.incarnations, book: undefined };
  }

  private start(region: string): void {
    const disk = this.disks.get(region);
    const node = new QuotaNode({
      region,
      home: this.regions[0],
      incarnation: disk?.incarnation ?? ++this.incarnations,
      nowMs: () => this.nowMs + (this.skews.get(region) as number),
      ...(this.options.leaseMs !== undefined && { monotonicMs: () => this.nowMs }),
      skewBoundMs: SKEW_BOUND_MS,
      ...(disk && { disk }),
    });
    this.options.plant?.(node);
    this.nodes.set(region, node);
    this.counted.set(region, 0);
  }

  private act(): void {
    const region = this.pick(this.regions);
    const node = this.nodes.get(region) as QuotaNode;
    const dice = this.random();
    if (dice < 0.62) this.demand(node);
    else if (dice < 0.72) node.flush();
    else if (dice < 0.8) this.cut(region, this.pick(this.regions));
    else if (dice < 0.88) this.mend();
    else if (dice < 0.91 && !this.isLossless) this.crash(region);
    else if (dice < 0.93 && !this.isLossless) this.jump(region);
    else if (dice < 0.95) this.changeLimit();
    else if (dice < 0.96 && !this.isLossless && this.options.leaseMs === undefined) this.defineAnew();
  }

  protected demand(node: QuotaNode): void {
    const burst = 1 + this.below(8);
    for (let index = 0; index < burst; index++) node.take('calls', this.pick(this.subjects), 1 + this.below(3));
  }

  protected isRunning(node: QuotaNode): boolean {
    return this.nodes.get(node.region) === node;
  }

  protected highestLimit(): number {
    return Math.max(0, ...this.limits.values());
  }

  private crash(region: string): void {
    this.collect();
    for (const wire of [...this.wires]) if (wire.ends.includes(region)) this.drop(wire);
    this.start(region);
    this.connectAll();
  }

  private jump(region: string): void {
    this.skews.set(region, Math.floor((this.random() - 0.5) * SKEW_BOUND_MS));
  }

  private changeLimit(): void {
    if (!this.isLossless) {
      const limit = 1 + this.below(this.limit * 2);
      const policy = this.home().book.named('calls');
      if (policy === undefined) return;
      this.define(limit, policy.allocator);
      this.limits.set(policy.number, Math.max(this.limits.get(policy.number) as number, limit));
    }
  }

  /** The same name with allotments of its own. */
  private defineAnew(): void {
    const { book, engine } = this.home();
    if (book.set === undefined) return;
    book.drop('calls', engine.nowMs);
    this.define(this.limit, this.pick(this.regions));
    this.limits.set(this.policy(), this.limit);
  }

  // ---- the network ------------------------------------------------------------------------------------------------------

  private connectAll(): void {
    for (const [index, one] of this.regions.entries())
      for (const [further, other] of this.regions.entries())
        if (further > index && this.isPair(index, further) && !this.isWired(one, other)) this.connect(one, other);
  }

  private isPair(one: number, other: number): boolean {
    const { shape = 'mesh' } = this.options;
    if (shape === 'hub') return one === 1 || other === 1;
    return shape === 'mesh' || other === one + 1;
  }

  private isWired(one: string, other: string): boolean {
    return this.wires.some((wire) => wire.ends.includes(one) && wire.ends.includes(other));
  }

  private connect(one: string, other: string): void {
    if (this.cuts.has(one + other) || this.cuts.has(other + one)) return;
    const wire: Wire = { ends: [one, other], links: [], queues: [[], []] };
    for (const side of [0, 1] as const) {
      const carrier: LinkTransport = {
        isWritable: true,
        send: (frame) => wire.queues[side].push({ atMs: this.nowMs + 1 + this.below(40), frame }),
        close: () => this.drop(wire),
      };
      const node = this.nodes.get(wire.ends[side]) as QuotaNode;
      wire.links.push(node.replica.open(carrier, { isDialed: side === 0, address: wire.ends[1 - side] }));
    }
    this.wires.push(wire);
  }

  private cut(one: string, other: string): void {
    if (one === other) return;
    this.cuts.add(one + other);
    for (const wire of [...this.wires]) if (wire.ends.includes(one) && wire.ends.includes(other)) this.drop(wire);
  }

  private mend(): void {
    this.cuts.clear();
    this.connectAll();
  }

  private drop(wire: Wire): void {
    this.wires = this.wires.filter((other) => other !== wire);
    for (const link of wire.links) link.closed();
  }

  /** Time goes by, messages arrive, everybody ticks. */
  protected pass(milliseconds: number): void {
    for (let passed = 0; passed < milliseconds; passed += 10) {
      this.nowMs += 10;
      for (const wire of [...this.wires]) this.deliver(wire);
      for (const node of this.nodes.values()) node.tick();
      if (this.random() < 0.2) for (const node of this.nodes.values()) node.flush();
      this.collect();
    }
  }

  private deliver(wire: Wire): void {
    for (const side of [0, 1] as const) {
      const queue = wire.queues[side];
      while (queue.length > 0 && queue[0].atMs <= this.nowMs) {
        const { frame } = queue.shift() as { frame: Uint8Array };
        wire.links[1 - side].receive(frame);
      }
    }
  }

  // ---- what must hold ---------------------------------------------------------------------------------------------------

  /** Sums up what was allowed since it was looked at last. */
  protected collect(): void {
    for (const [region, node] of this.nodes) {
      const from = this.counted.get(region) as number;
      for (const { allotment, cost } of node.allowed.slice(from)) {
        const total = (this.allowed.get(allotment) ?? 0) + cost;
        this.allowed.set(allotment, total);
        const limit = this.limits.get(Number(allotment.split(':')[0])) as number;
        if (total > limit) this.failures.push(`allotment ${allotment}: ${total} allowed of ${limit}`);
      }
      this.counted.set(region, node.allowed.length);
    }
  }

  /** The network is whole again. Where nothing was lost, every region can have what is left. */
  private heal(): void {
    this.mend();
    this.pass(3000);
    if (!this.isLossless) return;
    this.checkLiveness(this.nodes.get(this.pick(this.regions)) as QuotaNode);
  }

  protected checkLiveness(node: QuotaNode): void {
    const subject = this.subjects[0];
    const windowBefore = Math.floor(node.engine.nowMs / this.windowMs);
    for (let turn = 0; turn < 4 * this.limit && this.failures.length === 0; turn++) {
      const before = node.deniedCount;
      node.take('calls', subject, 1);
      this.pass(300);
      if (node.deniedCount > before && turn > this.limit) break;
    }
    if (Math.floor(node.engine.nowMs / this.windowMs) !== windowBefore) return;
    const allotment = `${this.policy()}:${windowBefore}:${subject}`;
    const total = this.allowed.get(allotment) ?? 0;
    if (total < this.limit) this.failures.push(`allotment ${allotment}: only ${total} of ${this.limit} could be had`);
  }
}
