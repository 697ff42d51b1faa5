import type { Configuration } from '@quotadb/config';
import { Random } from '@quotadb/engine/testing';
import type { ReplicationSettings } from '@quotadb/replication';
import { Network, type NetworkTraits, Scheduler } from '@quotadb/simulator/parts';
import { SimulatedRegion } from './simulated-region.js';

const REDIAL_MS = 500;
const MEMORY_BYTES = 32 * 1024 * 1024;
const SHARDS = 4;

export interface SimulatedRegionsOptions {
  readonly names: readonly string[];
  readonly seed: number;
  /** Where a window of any usual length begins. */
  readonly startMs: number;
  readonly network: NetworkTraits;
  readonly config?: Partial<Configuration>;
  readonly settings?: Partial<ReplicationSettings>;
  readonly skewMs?: (name: string) => number;
  readonly maxMemoryBytes?: number;
  readonly shardCount?: number;
  /** Sees every frame that is sent. */
  readonly sent?: (from: SimulatedRegion, frame: Uint8Array) => void;
  /** Puts a mistake into every region as it begins: the checks have to find it. */
  readonly plant?: (region: SimulatedRegion) => void;
}

/** Regions that all dial each other, over a network and with a clock that are both simulated. The same seed is the same run. */
export class SimulatedRegions {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly network: Network;
  readonly failures: string[] = [];
  private readonly options: SimulatedRegionsOptions;
  private readonly regions = new Map<string, SimulatedRegion>();
  private incarnations = 0;

  constructor(options: SimulatedRegionsOptions) {
    this.options = options;
    this.scheduler = new Scheduler(options.startMs);
    this.random = new Random(options.seed);
    this.network = new Network(this.scheduler, this.random, options.network, {
      sent: (from, _, frame) => options.sent?.(from as SimulatedRegion, frame),
      arrived: (_, to) => (to as SimulatedRegion).stir(),
      failed: (at, error) => this.fail(`${at.region}: ${error.stack}`),
      said: () => undefined,
    });
    for (const name of options.names) this.start(name);
    this.dial();
  }

  get running(): SimulatedRegion[] {
    return [...this.regions.values()];
  }

  of(name: string): SimulatedRegion {
    return this.regions.get(name)!;
  }

  fail(what: string): void {
    this.failures.push(what);
  }

  pass(milliseconds: number): Promise<void> {
    return this.scheduler.runUntil(this.scheduler.nowMs + milliseconds, () => false);
  }

  /** The process ends without a word, and another begins with nothing. */
  restart(name: string): void {
    const region = this.of(name);
    region.isRunning = false;
    this.network.drop(region, true);
    this.start(name);
  }

  /** Until everybody is connected with everybody. */
  async connected(): Promise<void> {
    const { names } = this.options;
    const isWhole = () =>
      this.running.every(({ replica, region }) => names.every((name) => name === region || replica.isConnected(name)));
    while (!isWhole()) await this.pass(REDIAL_MS);
  }

  end(): void {
    for (const region of this.running) region.isRunning = false;
  }

  private start(name: string): void {
    const { options, scheduler } = this;
    const region = new SimulatedRegion({
      scheduler,
      region: name,
      incarnation: ++this.incarnations,
      skewMs: options.skewMs?.(name) ?? 0,
      config: options.config ?? {},
      settings: options.settings ?? {},
      maxMemoryBytes: options.maxMemoryBytes ?? MEMORY_BYTES,
      shardCount: options.shardCount ?? SHARDS,
      failed: (what) => this.fail(what),
    });
    options.plant?.(region);
    for (const other of options.names) if (other !== name) region.replica.addMember(other);
    this.regions.set(name, region);
  }

  private dial(): void {
    const { names } = this.options;
    for (const [index, from] of names.entries())
      for (const to of names.slice(index + 1))
        if (!this.of(from).replica.isConnected(to)) this.network.dial(this.of(from), this.of(to));
    if (this.running.some(({ isRunning }) => isRunning)) this.scheduler.after(REDIAL_MS, () => this.dial());
  }
}
