import { ByteInput, type Engine, Status } from '@quotadb/engine';
import { Charge, SlidingLimit } from '@quotadb/rate';
import type { ServerState } from '@quotadb/resp';
import { RateStatistics } from '@quotadb/resp';
import { requireSafe } from '../require-safe.js';
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
  /** The publish threshold, a part of the limit; where it is left out, the server's own. */
  readonly publishPercent?: number | undefined;
}

/** The decisions of RATE.LIMIT, RATE.PEEK and RATE.ADD for callers on the main thread, on the store of all lanes. */
export class RateDecisions {
  private readonly engine: Engine;
  private readonly server: ServerState;
  private readonly sliding = new SlidingLimit();
  readonly statistics: RateStatistics;

  constructor(engine: Engine, server: ServerState) {
    this.engine = engine;
    this.server = server;
    this.statistics = new RateStatistics(() => server.clock.monotonic());
  }

  peek(key: Uint8Array, rate: RateRequest): RateDecision {
    return this.decide(key, rate, Charge.Never);
  }

  /** Counts a cost that is within the limit or was admitted elsewhere, and resolves when the count is durable. */
  async count(key: Uint8Array, rate: RateRequest, isAdmitted: boolean): Promise<RateDecision> {
    const { disk } = this.server;
    if (disk.refusesWrites) throw new WindowProblem('disk_failed');
    const changesBefore = this.engine.changes;
    const decision = this.decide(key, rate, isAdmitted ? Charge.Always : Charge.IfAllowed);
    this.statistics.note(key, 0, key.length, decision.allowed);
    if (this.engine.changes !== changesBefore) await requireSafe(this.server, this.engine);
    return decision;
  }

  private decide(key: Uint8Array, rate: RateRequest, charge: Charge): RateDecision {
    const { engine, sliding } = this;
    const { limit, windowMs, cost, publishPercent = this.server.config.ratePublishPercent } = rate;
    engine.advanceTo(this.server.clock.now());
    sliding.locate(engine, ByteInput.copyOf(key), 0, key.length, limit, windowMs);
    const status = sliding.decide(engine, cost, publishPercent, charge);
    if (status !== Status.Ok) throw refusalOf(status);
    const { allowed, remaining, resetAfterMs, retryAfterMs } = sliding;
    return { allowed, limit, remaining, resetAfterMs, retryAfterMs };
  }
}
