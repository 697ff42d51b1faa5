import type { Engine } from '@quotadb/engine';
import type { ServerState } from '../server-state.js';
import type { Transport } from '../transport/transport.js';

/**
 * What has to happen though nobody asked: expired keys are dropped, figures sampled, silent connections looked after.
 * Each piece is short, so that no client waits for it; when a piece left work over, the next follows after the loop has
 * served everybody once.
 */
export class Tick {
  static readonly INTERVAL_MS = 100;
  /** Keys dropped in one piece. */
  static readonly EXPIRE_LIMIT = 1000;
  /** Idle and slow connections are counted in seconds. */
  static readonly SWEEP_INTERVAL_MS = 1000;

  private readonly server: ServerState;
  private readonly engine: Engine;
  private readonly transport: Transport;
  private timer: NodeJS.Timeout | undefined = undefined;
  private again: NodeJS.Immediate | undefined = undefined;
  private sweptAtMs = 0;

  constructor(server: ServerState, engine: Engine, transport: Transport) {
    this.server = server;
    this.engine = engine;
    this.transport = transport;
  }

  start(): void {
    this.timer = setInterval(() => this.run(), Tick.INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.timer);
    clearImmediate(this.again);
  }

  run(): void {
    const { clock, statistics } = this.server;
    const startedAtMs = clock.monotonic();
    const nowMs = clock.now();
    this.expire(nowMs);
    statistics.sampleRates(nowMs);
    statistics.peakUsedBytes = Math.max(statistics.peakUsedBytes, this.engine.stats().usedBytes);
    if (nowMs - this.sweptAtMs >= Tick.SWEEP_INTERVAL_MS) {
      this.sweptAtMs = nowMs;
      this.transport.sweep(nowMs);
    }
    statistics.recordTurn((clock.monotonic() - startedAtMs) * 1000);
  }

  private expire(nowMs: number): void {
    const { clock, config, latency, statistics } = this.server;
    const startedAtMs = clock.monotonic();
    this.engine.advanceTo(nowMs);
    const worked = this.engine.expireSome(Tick.EXPIRE_LIMIT);
    const milliseconds = clock.monotonic() - startedAtMs;
    statistics.expiryMicroseconds += milliseconds * 1000;
    statistics.recordTurn(milliseconds * 1000);
    if (config.latencyThresholdMs > 0 && milliseconds >= config.latencyThresholdMs) {
      latency.record('expire-cycle', nowMs, Math.round(milliseconds));
    }
    if (worked < Tick.EXPIRE_LIMIT || this.again !== undefined) return;
    this.again = setImmediate(() => {
      this.again = undefined;
      this.expire(clock.now());
    });
  }
}
