import { splitInt64 } from '@quotadb/engine';
import { Random, valueOfOpen, withKey } from '@quotadb/engine/testing';
import { Cluster } from '../cluster.js';
import { FOREVER_MS, REGION_NAMES } from '../plan.js';
import type { NodeProcess } from '../simulated-node.js';
import { QuotaParts } from './quota-parts.js';
import type { QuotaPlan } from './quota-plan.js';

/** Where calls come from: from everywhere alike, mostly from one region, or from one region after another. */
export const DEMANDS = ['uniform', 'skewed', 'moving'] as const;
export type Demand = (typeof DEMANDS)[number];

/**
 * Who says whether a call is allowed. Counters begin with an empty window, in which a sliding one and a fixed one are the same.
 *
 *   limiter    | a region allows a call
 *   -----------|----------------------------------------------------------------------------------------------
 *   quota      | when it has a token for it (QUOTA.TAKE), which it may wait for
 *   local      | when fewer than the limit were allowed here
 *   divided    | when fewer than its part of the limit were allowed here
 *   exchanged  | when fewer than the limit were allowed everywhere, as far as it has heard: counts replicate
 */
export const LIMITERS = ['quota', 'local', 'divided', 'exchanged'] as const;
export type Limiter = (typeof LIMITERS)[number];

export interface DemandOptions {
  readonly limiter: Limiter;
  readonly demand: Demand;
  readonly regions: number;
  readonly limit: number;
  readonly seed: number;
}

export interface DemandOutcome {
  readonly asked: number;
  readonly admitted: number;
}

/** One way, between any two regions. */
export const DELAY_MS = 40;
/** Three times the limit is asked for. */
export const DEMAND_FACTOR = 3;
/** In bursts, so long apart. */
const BURSTS = 150;
export const BURST_MS = 50;
const WINDOW_MS = 24 * 3_600_000;
const CALLS = 'calls';
const SUBJECT = Uint8Array.from(Buffer.from('s'));
const MEETING_MS = 1000;
const LAST_ANSWERS_MS = 3000;

/** Real replicas with disks, and nothing in their way but distance: how much of one limit is allowed. */
export async function measureDemand(options: DemandOptions): Promise<DemandOutcome> {
  const cluster = new DemandCluster(options);
  const { failures } = await cluster.run();
  if (failures.length > 0) throw new Error(failures.join('; '));
  return { asked: cluster.asked, admitted: cluster.admitted };
}

class DemandCluster extends Cluster<QuotaPlan> {
  asked = 0;
  admitted = 0;
  private readonly demand: DemandOptions;
  private readonly dice: Random;

  constructor(options: DemandOptions) {
    super(planOf(options), {});
    this.demand = options;
    this.dice = new Random(options.seed);
  }

  quotasOf(process: NodeProcess): QuotaParts {
    const home = this.plan.regions[0].region;
    const { skewBoundMs } = this.plan;
    return new QuotaParts({ process, home, store: { saved: undefined }, skewBoundMs, newId: () => '' });
  }

  protected act(): void {}

  checkAll(): void {}

  /** There is nothing to heal. */
  protected override heal(): Promise<void> {
    return this.end();
  }

  protected async end(): Promise<void> {
    const { limit } = this.demand;
    const { windowMs, allocator } = this.plan;
    await this.pass(MEETING_MS);
    const [home] = this.running();
    home.quotas?.define({ name: CALLS, limit, windowMs, allocator, shares: [], waitMs: 1000 });
    await this.pass(MEETING_MS);
    const burst = Math.ceil((DEMAND_FACTOR * limit) / BURSTS);
    for (let index = 0; index < BURSTS; index++) {
      for (let call = 0; call < burst; call++) this.call(this.running()[this.regionAt(index / BURSTS)]);
      await this.pass(BURST_MS);
    }
    await this.pass(LAST_ANSWERS_MS);
  }

  private regionAt(progress: number): number {
    const { demand, regions } = this.demand;
    if (demand === 'uniform') return this.dice.below(regions);
    if (demand === 'skewed') return this.dice.chance(0.9) ? regions - 1 : this.dice.below(regions);
    return Math.floor(progress * regions);
  }

  private call(process: NodeProcess): void {
    const { limiter, limit, regions } = this.demand;
    this.asked++;
    process.engine.advanceTo(process.node.wallMs());
    if (limiter === 'quota') {
      process.quotas?.take(undefined, { items: [{ name: CALLS, subject: SUBJECT, cost: 1 }] }, (answer) => {
        if ('isAllowed' in answer && answer.isAllowed) this.admitted++;
      });
      return;
    }
    const most = limiter === 'divided' ? Math.floor(limit / regions) : limit;
    const key = limiter === 'exchanged' ? CALLS : `${CALLS}:${process.region}`;
    withKey(process.engine, key, () => {
      if (valueOfOpen(process.engine) >= BigInt(most)) return;
      process.engine.add(...splitInt64(1n));
      this.admitted++;
    });
  }
}

function planOf({ regions, limit, seed }: DemandOptions): QuotaPlan {
  const names = REGION_NAMES.slice(0, regions);
  return {
    seed,
    regions: names.map((region, index) => ({ region, hasDisk: true, skewMs: index * 7 })),
    topology: 'mesh',
    isMutual: true,
    shardCount: 4,
    unitMs: 1,
    tickMs: 10,
    redialMs: 50,
    flushMs: 100,
    settings: {
      partComponents: 256,
      patienceMs: 40,
      tickBytes: 1024 * 1024,
      statusIntervalMs: 100,
      idleStatusIntervalMs: 1000,
      pingIntervalMs: 500,
      silenceMs: 4000,
      digestIntervalMs: 800,
      digestShards: 8,
      stallMs: 1500,
      giveUpAfterMs: FOREVER_MS,
      skewBoundMs: 1000,
    },
    network: {
      delayMs: DELAY_MS,
      jitterMs: DELAY_MS / 4,
      loss: 0,
      duplication: 0,
      reordering: 0,
      windowBytes: Number.POSITIVE_INFINITY,
    },
    disk: { writeMs: 0.1, syncMs: 1 },
    skewBoundMs: 1000,
    graceMs: 2000,
    limit,
    windowMs: WINDOW_MS,
    subjects: ['s'],
    allocator: names[0],
    shares: [],
    isLossless: true,
    isUnsynced: false,
    steps: [],
  };
}
