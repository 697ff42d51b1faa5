import { ByteInput, type Engine, Status } from '@quotadb/engine';
import type { Request } from '@quotadb/wire';
import { SlidingCells } from '../../commands/rate/sliding-cells.js';
import { retryAfterMs } from '../../commands/rate/sliding-window.js';
import type { ServerState } from '../../server-state.js';
import { RateStatistics } from '../../statistics/rate-statistics.js';
import { waitForDisk } from '../wait-for-disk.js';
import { refusalOf, WindowProblem } from '../windows/problems.js';

export interface RateDecision {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAfterMs: number;
  readonly retryAfterMs: number;
}

export interface RateRequest {
  readonly limit: number;
  readonly windowMs: number;
  readonly cost: number;
}

/** What RATE.LIMIT, RATE.PEEK and RATE.ADD decide, for callers on the main thread, on the same cells. */
export class RateDecisions {
  private readonly engine: Engine;
  private readonly server: ServerState;
  private readonly cells = new SlidingCells();
  readonly statistics: RateStatistics;

  constructor(engine: Engine, server: ServerState) {
    this.engine = engine;
    this.server = server;
    this.statistics = new RateStatistics(() => server.clock.monotonic());
  }

  peek(key: Uint8Array, rate: RateRequest): RateDecision {
    return this.decide(key, rate, () => false);
  }

  /** Counts if it is within the limit, or whatever it is; done when that is as durable as this server promises. */
  async count(key: Uint8Array, rate: RateRequest, isAdmitted: boolean): Promise<RateDecision> {
    const { disk } = this.server;
    if (disk.refusesWrites) throw new WindowProblem('disk_failed');
    const changesBefore = this.engine.changes;
    const decision = this.decide(key, rate, (isWithin) => isAdmitted || isWithin);
    this.statistics.note(key, 0, key.length, decision.allowed);
    if (this.engine.changes !== changesBefore) await waitForDisk(this.server);
    return decision;
  }

  private decide(key: Uint8Array, rate: RateRequest, charges: (isWithin: boolean) => boolean): RateDecision {
    const { engine, cells } = this;
    const { limit, windowMs, cost } = rate;
    engine.advanceTo(this.server.clock.now());
    cells.locate(engine, requestOf(key), 0, windowMs);
    cells.openCurrent(engine);
    const isWithin = cells.counted + cost <= limit;
    const status = cost > 0 && charges(isWithin) ? cells.charge(engine, cost) : Status.Ok;
    engine.close();
    if (status !== Status.Ok) throw refusalOf(status);
    const { current, previous, elapsedMs } = cells;
    return {
      allowed: isWithin,
      limit,
      remaining: Math.max(limit - cells.counted, 0),
      resetAfterMs: windowMs - elapsedMs,
      retryAfterMs: isWithin ? 0 : retryAfterMs(current, previous, windowMs, elapsedMs, limit, cost),
    };
  }
}

/** The key as the one argument of a request. */
function requestOf(key: Uint8Array): Request {
  return {
    input: ByteInput.copyOf(key),
    argumentCount: 1,
    argumentStart: Int32Array.of(0),
    argumentLength: Int32Array.of(key.length),
  };
}
