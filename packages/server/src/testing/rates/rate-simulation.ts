import { Batch } from '@quotadb/engine';
import { checkConsistency, componentsOf, Random } from '@quotadb/engine/testing';
import { nameOfOrigin } from '@quotadb/replication';
import { decodeFrame, type Frame, FrameKind } from '@quotadb/wire';
import { type Cell, cellNameOf, isRateCell, makeRatePlan, RateLedger, type RatePlan } from './rate-ledger.js';
import type { SimulatedRegion } from './simulated-region.js';
import { SimulatedRegions } from './simulated-regions.js';

/** A multiple of every window's length. */
const START_MS = Date.UTC(2026, 5, 1);
const STEPS_BETWEEN_CHECKS = 5;
const HEALING_POLL_MS = 250;
const HEALING_LIMIT_MS = 30_000;
const BATCH_TAG = (FrameKind.batch << 3) | 2;

const FAULTS = ['cut', 'isolate', 'breakStream', 'halfOpen', 'restart', 'jumpClock', 'sleep'] as const;

export interface RateOutcome {
  readonly plan: RatePlan;
  readonly failures: readonly string[];
  readonly admitted: number;
}

/** One schedule of requests and trouble, all from its seed, with the invariants of global counters held against it. */
export async function simulateRates(seed: number, plant?: (region: SimulatedRegion) => void): Promise<RateOutcome> {
  return new RateSimulation(makeRatePlan(seed), plant).run();
}

class RateSimulation {
  private readonly plan: RatePlan;
  private readonly regions: SimulatedRegions;
  private readonly random: Random;
  private readonly ledger = new RateLedger();
  private readonly batch = new Batch();
  /** By region, origin and cell: the most that the region has held of it. */
  private readonly highest = new Map<string, number>();
  /** By origin and cell: what its owner had published when the cell aged out. */
  private readonly agedOut = new Map<string, number>();
  private admittedTotal = 0;
  /** Time that passes without requests before the next step. */
  private sleepMs = 0;

  constructor(plan: RatePlan, plant?: (region: SimulatedRegion) => void) {
    this.plan = plan;
    this.random = new Random(plan.seed ^ 0x7a7e);
    const { delayMs, isLossy } = plan;
    const rate = isLossy ? 0.05 : 0;
    const skews = new Map(plan.names.map((name) => [name, (this.random.next() * 2 - 1) * plan.skewBoundMs]));
    this.regions = new SimulatedRegions({
      names: plan.names,
      seed: plan.seed,
      startMs: START_MS,
      network: {
        delayMs,
        jitterMs: delayMs,
        loss: rate,
        duplication: rate,
        reordering: rate,
        windowBytes: Number.POSITIVE_INFINITY,
      },
      config: { ratePublishPercent: plan.publishPercent },
      settings: { stallMs: 500, digestIntervalMs: 300 },
      skewMs: (name) => skews.get(name)!,
      sent: (from, frame) => this.sent(from, frame),
      ...(plant && { plant }),
    });
  }

  async run(): Promise<RateOutcome> {
    const { plan, regions } = this;
    await regions.pass(2_000);
    for (let step = 0; step < plan.steps && regions.failures.length === 0; step++) {
      await regions.pass(this.sleepMs + this.random.next() * 2 * plan.spacingMs);
      this.sleepMs = 0;
      if (this.random.chance(0.12)) this.trouble(this.random.pick(FAULTS));
      else this.request(regions.of(this.random.pick(plan.names)), this.random.pick(plan.keys));
      if (step % STEPS_BETWEEN_CHECKS === 0) this.checkAll();
    }
    if (regions.failures.length === 0) await this.heal();
    regions.end();
    return { plan, failures: regions.failures, admitted: this.admittedTotal };
  }

  // ---- what happens ---------------------------------------------------------------------------------------------------

  private request(region: SimulatedRegion, key: string): void {
    const { limit, windowMs } = this.plan;
    const cost = 1 + this.random.below(this.random.pick([1, 3, limit]));
    const before = region.cells(key, windowMs);
    const isAdd = this.random.chance(0.1);
    const { allowed } = region.rate(isAdd ? 'RATE.ADD' : 'RATE.LIMIT', key, limit, windowMs, cost);
    const elapsedMs = region.engine.nowMs - before.startMs;
    const previous = before.previousOwn + before.previousForeign;
    const faded = Math.ceil((previous * (windowMs - elapsedMs)) / windowMs);
    const counted = before.currentOwn + before.currentForeign + faded;
    if (allowed !== counted + cost <= limit)
      this.fail(
        region,
        `counted ${counted} of ${limit} and said ${allowed} to ${cost}: others are not read as they should`,
      );
    if (!allowed && !isAdd) return;
    this.ledger.note(region.origin, { key, windowMs, startMs: before.startMs }, cost);
    this.admittedTotal += cost;
  }

  private trouble(kind: (typeof FAULTS)[number]): void {
    const { regions, random, plan } = this;
    const name = random.pick(plan.names);
    const others = plan.names.filter((other) => other !== name);
    const lastingMs = random.pick([200, 2_000, 10_000]);
    const cut = (from: string, to: string) => {
      const mend = regions.network.cut(from, to);
      regions.scheduler.after(lastingMs, mend);
    };
    if (kind === 'cut') cut(name, random.pick(others));
    else if (kind === 'isolate')
      for (const other of others)
        for (const [a, b] of [
          [name, other],
          [other, name],
        ])
          cut(a!, b!);
    else if (kind === 'breakStream' || kind === 'halfOpen') regions.network.breakOne(random, kind === 'halfOpen');
    else if (kind === 'restart') regions.restart(name);
    else if (kind === 'jumpClock') regions.of(name).skewMs = (random.next() * 2 - 1) * plan.skewBoundMs;
    else this.sleepMs = random.next() * plan.windowMs;
  }

  // ---- what must hold ---------------------------------------------------------------------------------------------------

  private fail(region: SimulatedRegion, what: string): void {
    this.regions.fail(`${region.region}: ${what}`);
  }

  /** Nothing of a cell leaves its region before what all have counted is worth it. */
  private sent(from: SimulatedRegion, frame: Uint8Array): void {
    if (frame[0] !== BATCH_TAG) return;
    const { batch } = decodeFrame(frame, this.batch) as Extract<Frame, { kind: typeof FrameKind.batch }>;
    if (nameOfOrigin(batch.origin) !== from.origin) return;
    for (let index = 0; index < batch.count; index++) {
      const name = batch.keyBytes.subarray(batch.keyStart(index), batch.keyEnd[index]);
      const cell = isRateCell(name) ? this.ledger.find(name) : undefined;
      if (cell === undefined || batch.present[index] === 0) continue;
      const { limit, publishPercent, windowMs } = this.plan;
      const near = [-windowMs, 0, windowMs].map((shift) =>
        this.ledger.total({ ...cell, startMs: cell.startMs + shift }),
      );
      if (near.reduce((sum, one) => sum + one, 0) < (limit * publishPercent) / 100)
        this.fail(from, `tells of ${cell.key}, of which nobody has counted enough`);
    }
  }

  private checkAll(): void {
    for (const region of this.regions.running) {
      checkConsistency(region.engine);
      for (const cell of this.ledger.cells.values()) this.checkCell(region, cell);
    }
  }

  private checkCell(region: SimulatedRegion, cell: Cell): void {
    const { key, windowMs, startMs } = cell;
    const held = componentsOf(region.engine, cellNameOf(cell)).filter(({ present }) => present);
    for (const { origin, positive } of held) {
      const place = `${region.origin}:${origin}:${key}:${startMs}`;
      if (Number(positive) > this.ledger.of(origin, cell))
        this.fail(region, `holds ${positive} of ${key} for an origin that counted ${this.ledger.of(origin, cell)}`);
      if (Number(positive) < (this.highest.get(place) ?? 0)) this.fail(region, `holds less of ${key} than it did`);
      this.highest.set(place, Number(positive));
    }
    const published = held.find(({ origin }) => origin === region.origin);
    const isOver = region.nowMs() >= startMs + 2 * windowMs;
    if (isOver) this.checkAgedOut(region, cell, Number(published?.positive ?? 0));
    const seen = region.cells(key, windowMs);
    const isCurrent = seen.startMs === startMs;
    if (!isCurrent && seen.startMs !== startMs + windowMs) return;
    const own = isCurrent ? seen.currentOwn : seen.previousOwn;
    const foreign = isCurrent ? seen.currentForeign : seen.previousForeign;
    const others = held.filter(({ origin }) => origin !== region.origin);
    const sum = others.reduce((total, { positive }) => total + Number(positive), 0);
    if (own !== this.ledger.of(region.origin, cell))
      this.fail(region, `says it counted ${own} of ${key}, and counted ${this.ledger.of(region.origin, cell)}`);
    if (foreign !== sum) this.fail(region, `says others counted ${foreign} of ${key}, and holds ${sum}`);
  }

  private checkAgedOut(region: SimulatedRegion, cell: Cell, published: number): void {
    const place = `${region.origin}:${cell.key}:${cell.startMs}`;
    const before = this.agedOut.get(place);
    if (before === undefined) this.agedOut.set(place, published);
    else if (published > before) this.fail(region, `has changed ${cell.key} in a window that had aged out`);
  }

  // ---- the end ------------------------------------------------------------------------------------------------------------

  /** Once one region has spoken of a cell, all know all that was counted in it. */
  private async heal(): Promise<void> {
    const { regions } = this;
    regions.network.heal();
    let differences: string[] = [];
    for (let passedMs = 0; passedMs < HEALING_LIMIT_MS; passedMs += HEALING_POLL_MS) {
      await regions.pass(HEALING_POLL_MS);
      differences = this.findDifferences();
      if (differences.length === 0) break;
    }
    for (const difference of differences) regions.fail(`not healed: ${difference}`);
    this.checkAll();
  }

  private findDifferences(): string[] {
    const differences: string[] = [];
    const { running } = this.regions;
    for (const cell of this.ledger.cells.values()) {
      if (running.some((region) => region.nowMs() >= cell.startMs + 2 * cell.windowMs)) continue;
      const held = running.map(({ engine }) => componentsOf(engine, cellNameOf(cell)).filter(({ present }) => present));
      if (held.every((components) => components.length === 0)) continue;
      for (const { region, origin } of running) {
        const counted = this.ledger.of(origin, cell);
        for (const [index, components] of held.entries()) {
          const known = Number(components.find((component) => component.origin === origin)?.positive ?? 0);
          if (known !== counted)
            differences.push(
              `${running[index]!.region} knows ${known} of ${counted} that ${region} counted of ${cell.key}`,
            );
        }
      }
    }
    return differences;
  }
}
