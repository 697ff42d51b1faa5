import { type Engine, OWN_ORIGIN } from '@quotadb/engine';

/** Without anything to do a replica is looked after this often: it says that it is there, and what time it is. */
export const IDLE_TICK_MS = 250;
/** When nothing has changed for a while, whether something has is looked at less often. */
export const QUIET_AFTER_MS = 1000;
export const QUIET_BEAT_MS = 25;

export interface PacemakerOptions {
  readonly engine: Engine;
  readonly intervalMs: number;
  readonly monotonicMs: () => number;
  /** True when there is more to do at once. */
  readonly tick: () => boolean;
}

/**
 * Decides when a replica ticks: so often that changes are gathered and not held up, and hardly ever when nothing has
 * changed, because a tick goes through every origin and shard. Looking whether this node's own changes have moved is a
 * comparison of one number a shard.
 */
export class Pacemaker {
  private readonly options: PacemakerOptions;
  private readonly own: Float64Array;
  private timer: NodeJS.Timeout | undefined = undefined;
  private again: NodeJS.Immediate | undefined = undefined;
  private isStirred = false;
  private tickedAtMs = Number.NEGATIVE_INFINITY;
  private busyAtMs = Number.NEGATIVE_INFINITY;
  private isStopped = false;

  constructor(options: PacemakerOptions) {
    this.options = options;
    this.own = new Float64Array(options.engine.shardCount);
  }

  start(): void {
    this.beat();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    clearImmediate(this.again);
  }

  /** Something has come in: the next beat is a tick. */
  stir(): void {
    this.isStirred = true;
  }

  /** Soon, without waiting for the next beat. */
  hurry(): void {
    this.again ??= setImmediate(() => {
      this.again = undefined;
      this.tick();
    });
  }

  tick(): void {
    this.isStirred = false;
    this.tickedAtMs = this.options.monotonicMs();
    this.noteOwn();
    if (this.options.tick()) this.hurry();
  }

  private beat(): void {
    const nowMs = this.options.monotonicMs();
    const isBusy = this.isStirred || this.hasMoved();
    if (isBusy) this.busyAtMs = nowMs;
    if (isBusy || nowMs - this.tickedAtMs >= IDLE_TICK_MS) this.tick();
    if (this.isStopped) return;
    const { intervalMs } = this.options;
    const isQuiet = nowMs - this.busyAtMs >= QUIET_AFTER_MS;
    this.timer = setTimeout(() => this.beat(), isQuiet ? Math.max(intervalMs, QUIET_BEAT_MS) : intervalMs);
  }

  private hasMoved(): boolean {
    const { engine } = this.options;
    for (let shard = 0; shard < this.own.length; shard++)
      if (engine.seen(shard, OWN_ORIGIN) !== this.own[shard]) return true;
    return false;
  }

  private noteOwn(): void {
    const { engine } = this.options;
    for (let shard = 0; shard < this.own.length; shard++) this.own[shard] = engine.seen(shard, OWN_ORIGIN);
  }
}
