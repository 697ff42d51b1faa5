import { ByteInput, type Engine, Status } from '@quotadb/engine';
import { type DecideRequest, type FixedWindow, type LimitStore, refusals } from '@quotadb/envoy';
import { COUNTER_PREFIX, type Decision, type DecisionRefusal } from '@quotadb/limits';
import { WindowCell } from '@quotadb/rate';
import type { Refused, ServerState } from '@quotadb/resp';
import type { UsageCounter } from '@quotadb/usage';
import type { LimitService } from '../limits/service.js';

export const MAXIMUM_COUNTER_BYTES = 1024;
const TWO_POW_32 = 2 ** 32;

export interface EnvoyLimitStoreOptions {
  readonly engine: Engine;
  readonly state: ServerState;
  readonly limits: LimitService;
  /** Resolves when all changes made so far are as safe as this server promises before it answers. */
  readonly whenSafe: () => Promise<Refused | undefined>;
}

/** The counters of Envoy's limits, in the store of this server; used by the main thread. */
export class EnvoyLimitStore implements LimitStore {
  private readonly engine: Engine;
  private readonly state: ServerState;
  private readonly limits: LimitService;
  private readonly cell = new WindowCell();
  private readonly input = new ByteInput(
    new Uint8Array(COUNTER_PREFIX.length + MAXIMUM_COUNTER_BYTES + ByteInput.SLACK_BYTES),
  );

  /** The part of the input behind the prefix. */
  private readonly name: Buffer;
  private readonly usage: UsageCounter | undefined;
  private readonly whenSafe: () => Promise<Refused | undefined>;

  constructor({ engine, state, limits, whenSafe }: EnvoyLimitStoreOptions) {
    this.engine = engine;
    this.whenSafe = whenSafe;
    this.state = state;
    this.limits = limits;
    this.input.bytes.set(COUNTER_PREFIX);
    this.usage = state.quotas.usage(engine);
    this.name = Buffer.from(this.input.bytes.buffer, COUNTER_PREFIX.length, MAXIMUM_COUNTER_BYTES);
  }

  nowMs(): number {
    return this.engine.nowMs;
  }

  addFixed(counter: string, windowMs: number, amount: number): number {
    const { engine, state, cell, input } = this;
    if (state.disk.refusesWrites) throw refusals.undecided('the disk has failed: nothing is counted');
    engine.advanceTo(state.clock.now());
    cell.chooseCurrent(engine, Math.floor(windowMs / TWO_POW_32), windowMs | 0);
    const length = COUNTER_PREFIX.length + this.name.write(counter);
    if (amount > 0) this.add(length, amount);
    else {
      cell.read(engine, input, 0, length);
      const excess = Math.min(-amount, this.count);
      if (excess > 0) this.add(length, -excess);
    }
    return this.count;
  }

  get hasUsage(): boolean {
    return this.usage !== undefined;
  }

  countUsage({ limit, counter, startMs, endMs }: FixedWindow, amount: number): boolean {
    const { usage, name } = this;
    if (usage === undefined) return true;
    const window = { limit, startMs, endMs, subject: name.subarray(0, name.write(counter)) };
    if (amount > 0) return usage.admitted(window, amount);
    usage.withdrawn(window, -amount);
    return true;
  }

  whenDurable(): Promise<void> | undefined {
    const { disk, replication } = this.state;
    if (!disk.isOn && replication.held === undefined) return undefined;
    return this.whenSafe().then((refused) => {
      if (refused !== undefined) throw refusals.undecided(refused.error);
    });
  }

  decide(request: DecideRequest): Promise<Decision | DecisionRefusal> {
    return this.limits.decide(request);
  }

  private add(length: number, amount: number): void {
    const { engine, cell, input } = this;
    const status = cell.increment(engine, input, 0, length, amount < 0 ? -1 : 0, amount | 0);
    if (status !== Status.Ok) throw refusals.noMemory();
  }

  private get count(): number {
    const { countHigh, countLow } = this.cell;
    return countHigh < 0 ? 0 : countHigh * TWO_POW_32 + (countLow >>> 0);
  }
}
