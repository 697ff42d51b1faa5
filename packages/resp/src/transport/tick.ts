import { type Engine, StoreBusy } from '@quotadb/engine';
import type { ServerState } from '../session/server-state.js';

/**
 * Background work of a lane: deletes expired keys, samples figures, closes idle connections. Each piece is short, so
 * that no client waits for it; where a piece leaves work, `run` returns true, and the next follows after a round of
 * clients.
 */
export class Tick {
  static readonly INTERVAL_MS = 100;
  /** Keys deleted in one piece: about half a millisecond. */
  static readonly EXPIRE_LIMIT = 400;
  /** The timeouts of idle and slow connections are in seconds. */
  static readonly SWEEP_INTERVAL_MS = 1000;

  private readonly server: ServerState;
  private readonly engine: Engine;
  private readonly expires: boolean;
  private readonly sweep: (nowMs: number) => void;
  /** Times of the monotonic clock: if the system clock were set back, ticks would stop until it has caught up. */
  private sampledAtMs = 0;
  private sweptAtMs = 0;

  /** Of several lanes on one store, one deletes expired keys. */
  constructor(server: ServerState, engine: Engine, options: { expires: boolean; sweep: (nowMs: number) => void }) {
    this.server = server;
    this.engine = engine;
    this.expires = options.expires;
    this.sweep = options.sweep;
  }

  /** True when work is left. */
  run(): boolean {
    const { clock, statistics } = this.server;
    const startedAtMs = clock.monotonic();
    const nowMs = clock.now();
    const hasMore = this.expires && this.expire(nowMs);
    if (startedAtMs - this.sampledAtMs >= Tick.INTERVAL_MS) {
      this.sampledAtMs = startedAtMs;
      statistics.sampleRates(nowMs);
      statistics.peakUsedBytes = Math.max(statistics.peakUsedBytes, this.engine.stats().usedBytes);
    }
    this.server.monitors.send();
    if (startedAtMs - this.sweptAtMs >= Tick.SWEEP_INTERVAL_MS) {
      this.sweptAtMs = startedAtMs;
      this.sweep(nowMs);
    }
    statistics.recordTurn((clock.monotonic() - startedAtMs) * 1000);
    return hasMore;
  }

  private expire(nowMs: number): boolean {
    const { clock, config, latency, statistics } = this.server;
    const startedAtMs = clock.monotonic();
    this.engine.advanceTo(nowMs);
    const worked = this.expireUnlessBusy();
    const milliseconds = clock.monotonic() - startedAtMs;
    statistics.expiryMicroseconds += milliseconds * 1000;
    if (config.latencyThresholdMs > 0 && milliseconds >= config.latencyThresholdMs) {
      latency.record('expire-cycle', nowMs, Math.round(milliseconds));
    }
    return worked >= Tick.EXPIRE_LIMIT;
  }

  /** A shard that a slow script holds has to wait for the next tick, and those behind it too. */
  private expireUnlessBusy(): number {
    const { engine } = this;
    engine.yieldsToScripts = true;
    try {
      return engine.expireSome(Tick.EXPIRE_LIMIT);
    } catch (error) {
      if (!(error instanceof StoreBusy)) throw error;
      return 0;
    } finally {
      engine.yieldsToScripts = false;
    }
  }
}

/** Runs a tick on Node's event loop until it is stopped. */
export class TickTimer {
  private readonly tick: Tick;
  private readonly timer: NodeJS.Timeout;
  private again: NodeJS.Immediate | undefined = undefined;

  constructor(tick: Tick) {
    this.tick = tick;
    this.timer = setInterval(() => this.run(), Tick.INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.timer);
    clearImmediate(this.again);
  }

  private run(): void {
    if (!this.tick.run()) return;
    this.again ??= setImmediate(() => {
      this.again = undefined;
      this.run();
    });
  }
}
