import type { Batch } from '@quotadb/engine';
import { checkConsistency, componentsOf, type Random } from '@quotadb/engine/testing';
import { Charge } from '@quotadb/rate';
import { Cluster, type Outcome, type SimulationOptions } from '../world/cluster.js';
import { type Actions, faultsOf } from '../world/faults.js';
import type { Step } from '../world/plan.js';
import type { NodeProcess } from '../world/process.js';
import { type Cell, nameOfCell, RateOracle } from './oracle.js';
import { makeRatePlan, type RatePlan, type RateStepKind } from './plan.js';
import { type CellsSeen, decide, readCells } from './requests.js';

const HEALING_POLL_MS = 250;
const HEALING_LIMIT_MS = 30_000;

export function simulateRates(seed: number, options: SimulationOptions = {}): Promise<Outcome<RatePlan>> {
  return new RateSimulation(makeRatePlan(seed), options).run();
}

/** Rate limits: clients that ask in all regions, and an oracle that knows every cost that was admitted. */
class RateSimulation extends Cluster<RatePlan> {
  private readonly oracle = new RateOracle();
  /** By process, origin and cell: the most that the process has held of it. */
  private readonly highest = new Map<string, number>();
  /** By origin and cell: what its owner had published when the cell aged out. */
  private readonly agedOut = new Map<string, number>();
  private readonly actions: Actions<RateStepKind> = {
    ...faultsOf(this),
    request: (process, random) => this.request(process, random),
    sleep: (_, random) => {
      this.waitMs = random.next() * this.plan.windowMs;
    },
  };

  protected act(step: Step<RateStepKind>, process: NodeProcess, random: Random): void {
    this.actions[step.kind](process, random);
  }

  private request(process: NodeProcess, random: Random): void {
    const { keys, limit, windowMs, publishPercent } = this.plan;
    const { engine, label, origin } = process;
    const key = random.pick(keys);
    const cost = 1 + random.below(random.pick([1, 3, limit]));
    const isAdd = random.chance(0.1);
    const cells = readCells(engine, key, windowMs);
    const { startMs } = cells;
    const room = this.roomOf(process, cells);
    const request = { key, limit, windowMs, cost, publishPercent };
    const isAllowed = decide(process, request, isAdd ? Charge.Always : Charge.IfAllowed);
    this.said(`${label} ${isAllowed ? 'allows' : 'denies'} ${cost} of ${key}, of which it may allow ${room}`);
    if (isAllowed !== cost <= room)
      this.failed(`${label}: may allow ${room} of ${limit}, and the decision on ${cost} was ${isAllowed}`);
    if (isAllowed || isAdd) this.oracle.note(origin, { key, windowMs, startMs }, cost);
  }

  /** What the limit leaves; where others see the same come free, only the own share of it, or what was free before. */
  private roomOf({ engine }: NodeProcess, { startMs, current, previous }: CellsSeen): number {
    const { limit, windowMs } = this.plan;
    const [counted, before] = [current.own + current.foreign, previous.own + previous.foreign];
    const roomAt = (timeMs: number) => limit - counted - Math.ceil((before * (startMs + windowMs - timeMs)) / windowMs);
    const room = roomAt(engine.nowMs);
    const delayMs = Math.min(engine.countDelayMs, windowMs / 10);
    if (delayMs === 0 || previous.foreign === 0 || room <= 0) return room;
    const share = Math.ceil((previous.own * (room + counted)) / before) - current.own;
    return Math.min(room, Math.max(share, roomAt(engine.nowMs - delayMs)));
  }

  // ---- what must hold -----------------------------------------------------------------------------------------------

  /**
   * How many windows after a cell another one can be whose count makes it published. A cell is published with the one
   * after it; a region whose clock is behind counts in it and publishes the one before, too.
   */
  private get windowsAhead(): number {
    return 1 + Math.floor((2 * this.plan.skewBoundMs) / this.plan.windowMs);
  }

  /** No cell leaves its region before all regions together have counted as much as the publish threshold. */
  protected override sentBatch(from: NodeProcess, batch: Batch): void {
    const { limit, windowMs } = this.plan;
    // A region may know fewer regions than there are, never more: its threshold is this or higher.
    const publishPercent = Math.min(this.plan.publishPercent, 100 / this.plan.regions.length);
    for (let index = 0; index < batch.count; index++) {
      const cell = this.oracle.find(batch.keyBytes.subarray(batch.keyStart(index), batch.keyEnd[index]));
      if (cell === undefined || batch.present[index] === 0) continue;
      let near = 0;
      for (let shift = -1; shift <= this.windowsAhead; shift++)
        near += this.oracle.total({ ...cell, startMs: cell.startMs + shift * windowMs });
      if (near < (limit * publishPercent) / 100)
        this.failed(`${from.label} sends ${cell.key}, whose count is below the publish threshold`);
    }
  }

  checkAll(): void {
    for (const process of this.running()) {
      process.advance();
      checkConsistency(process.engine);
      for (const cell of this.oracle.cells.values()) this.checkCell(process, cell);
    }
  }

  private checkCell(process: NodeProcess, cell: Cell): void {
    const { engine, label, origin: self } = process;
    const { key, windowMs, startMs } = cell;
    const fail = (what: string) => this.failed(`${label}: ${what}`);
    const held = presentOf(process, cell);
    for (const [origin, amount] of held) {
      const place = `${self}:${origin}:${key}:${startMs}`;
      const counted = this.oracle.of(origin, cell);
      if (amount > counted) fail(`holds ${amount} of ${key} for an origin that counted ${counted}`);
      if (amount < (this.highest.get(place) ?? 0)) fail(`holds less of ${key} than before`);
      this.highest.set(place, amount);
    }
    const published = held.get(self) ?? 0;
    if (engine.nowMs >= startMs + 2 * windowMs) {
      const place = `${self}:${key}:${startMs}`;
      if (published > (this.agedOut.get(place) ?? published)) fail(`changed ${key} in a window that had aged out`);
      if (!this.agedOut.has(place)) this.agedOut.set(place, published);
    }
    const seen = readCells(engine, key, windowMs);
    const isCurrent = seen.startMs === startMs;
    if (!isCurrent && seen.startMs !== startMs + windowMs) return;
    const { own, foreign } = isCurrent ? seen.current : seen.previous;
    const sum = [...held.values()].reduce((total, amount) => total + amount, 0) - published;
    const counted = this.oracle.of(self, cell);
    if (own !== counted) fail(`reads ${own} of ${key} as its own count, and counted ${counted}`);
    if (foreign !== sum) fail(`reads ${foreign} of ${key} as the count of others, and holds ${sum}`);
  }

  // ---- the end ------------------------------------------------------------------------------------------------------

  /** Once one region has published a cell, all regions learn all that was counted in it. */
  protected async end(): Promise<void> {
    let differences: string[] = [];
    for (let passedMs = 0; passedMs < HEALING_LIMIT_MS && this.failures.length === 0; passedMs += HEALING_POLL_MS) {
      await this.pass(HEALING_POLL_MS);
      differences = this.findDifferences();
      if (differences.length === 0) break;
    }
    for (const difference of differences) this.failed(`not healed: ${difference}`);
    this.checkAll();
  }

  private findDifferences(): string[] {
    const running = this.running();
    if (running.length < this.present().length) return ['not all nodes are up'];
    const differences: string[] = [];
    for (const cell of this.oracle.cells.values()) {
      if (running.some(({ node }) => node.nowMs() >= cell.startMs + 2 * cell.windowMs)) continue;
      const held = running.map((process) => presentOf(process, cell));
      if (held.every(({ size }) => size === 0)) continue;
      for (const { label, origin } of running) {
        const counted = this.oracle.of(origin, cell);
        for (const [index, amounts] of held.entries()) {
          const known = amounts.get(origin) ?? 0;
          const { key } = cell;
          if (known !== counted)
            differences.push(`${running[index].label} knows ${known} of ${counted} that ${label} counted of ${key}`);
        }
      }
    }
    return differences;
  }
}

/** The published counts of a cell in one process, by origin. */
function presentOf({ engine }: NodeProcess, cell: Cell): Map<string, number> {
  const present = componentsOf(engine, nameOfCell(cell)).filter((component) => component.present);
  return new Map(present.map(({ origin, positive }) => [origin, Number(positive)]));
}
