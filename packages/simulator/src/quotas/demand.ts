import { splitInt64 } from '@quotadb/engine';
import { Random, valueOfOpen, withKey } from '@quotadb/engine/testing';
import { FOREVER_MS, type Plan, REGION_NAMES } from '../world/plan.js';
import type { NodeProcess } from '../world/process.js';
import type { QuotaPlan } from './plan.js';
import { itemOf, QuotaCluster } from './quota-cluster.js';
import { quotasOf } from './quota-service.js';

/** Where calls come from: all regions alike, mostly one region, or one region after another. */
export const DEMANDS = ['uniform', 'skewed', 'moving'] as const;
export type Demand = (typeof DEMANDS)[number];

/**
 * Who decides whether a call is allowed. Counters begin with an empty window, in which a sliding and a fixed one are
 * alike.
 *
 *   limiter    | a region allows a call
 *   -----------|----------------------------------------------------------------------------------------------
 *   quota      | when it has a token for it (QUOTA.TAKE), which it may wait for
 *   local      | when fewer than the limit were allowed here
 *   divided    | when fewer than its part of the limit were allowed here
 *   exchanged  | when fewer than the limit were allowed everywhere, as far as it knows: counts replicate
 */
export const LIMITERS = ['quota', 'local', 'divided', 'exchanged'] as const;
export type Limiter = (typeof LIMITERS)[number];

export interface DemandOptions {
  readonly limiter: Limiter;
  readonly demand: Demand;
  readonly regions: number;
  readonly limit: number;
  readonly seed: number;
  /** A mesh unless it is given. In others the last region is the allocator, which most have no link to. */
  readonly topology?: Plan['topology'];
}

export interface DemandOutcome {
  readonly asked: number;
  readonly admitted: number;
}

/** One way, between any two regions. */
export const DELAY_MS = 40;
/** Three times the limit is asked for. */
export const DEMAND_FACTOR = 3;
const BURSTS = 150;
export const BURST_MS = 50;
const WINDOW_MS = 24 * 3_600_000;
const CALLS = 'calls';
const MEETING_MS = 1000;
const LAST_ANSWERS_MS = 3000;

/** Measures how much of one limit is allowed: replicas with disks, far apart, without faults. */
export async function measureDemand(options: DemandOptions): Promise<DemandOutcome> {
  const cluster = new DemandCluster(options);
  const { failures } = await cluster.run();
  if (failures.length > 0) throw new Error(failures.join('; '));
  return { asked: cluster.asked, admitted: cluster.admitted };
}

class DemandCluster extends QuotaCluster {
  asked = 0;
  admitted = 0;
  private readonly demand: DemandOptions;
  private readonly dice: Random;

  constructor(options: DemandOptions) {
    super(planOf(options), {});
    this.demand = options;
    this.dice = new Random(options.seed);
  }

  protected act(): void {}

  checkAll(): void {}

  /** There is nothing to heal. */
  protected override heal(): Promise<void> {
    return this.end();
  }

  protected async end(): Promise<void> {
    const { limit } = this.demand;
    await this.pass(MEETING_MS);
    this.define(CALLS, limit, this.plan.allocator);
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
    process.advance();
    if (limiter === 'quota') {
      quotasOf(process).take(undefined, { items: [itemOf(CALLS, 's', 1)] }, (answer) => {
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

function planOf({ regions, limit, seed, topology = 'mesh' }: DemandOptions): QuotaPlan {
  const names = REGION_NAMES.slice(0, regions);
  return {
    seed,
    regions: names.map((region, index) => ({ region, hasDisk: true, skewMs: index * 7 })),
    topology,
    hasRoutes: topology !== 'mesh',
    isMutual: true,
    shardCount: 4,
    unitMs: 1,
    tickMs: 10,
    redialMs: 50,
    flushMs: 100,
    settings: {
      partComponents: 256,
      patienceMs: 40,
      resetIntervalMs: 600_000,
      tickBytes: 1024 * 1024,
      statusIntervalMs: 100,
      idleStatusIntervalMs: 1000,
      pingIntervalMs: 500,
      silenceMs: 4000,
      nameLeaseMs: 8000,
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
    skewBoundMs: 500,
    graceMs: 2000,
    limit,
    windowMs: WINDOW_MS,
    subjects: ['s'],
    allocator: topology === 'mesh' ? names[0] : names[names.length - 1],
    shares: [],
    isLossless: true,
    isUnsynced: false,
    steps: [],
  };
}
