import { type Engine, OWN_ORIGIN } from '@quotadb/engine';

/** Without anything to do a replica is looked after this often: it says that it is there, and what time it is. */
export const IDLE_TICK_MS = 250;
/** When nothing has changed for a while, whether something has is looked at less often. */
export const QUIET_AFTER_MS = 1000;
export const QUIET_BEAT_MS = 25;

/**
 * After a tick replication rests for so many times as long as the tick took. What it gathers meanwhile costs it less, as a
 * key that changed ten times is told once; and however much there is to tell, most of the time is left to those who count.
 */
export const REST_PER_TICK = 4;
/**
 * A tick is a quarter of what replication costs: most of the work is that of those who take in what it has sent, and a part of
 * five components costs them nearly as much as one of ten. So up to this time it rests longer.
 */
export const SPARING_REST_PER_TICK = 24;
export const SPARING_REST_MS = 20;

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
  private again: NodeJS.Timeout | undefined = undefined;
  private restsUntilMs = Number.NEGATIVE_INFINITY;
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
    clearTimeout(this.again);
  }

  /** Something has come in: the next beat is a tick. */
  stir(): void {
    this.isStirred = true;
  }

  /** As soon as it has rested, without waiting for the next beat. */
  hurry(): void {
    if (this.isStopped) return;
    this.again ??= setTimeout(
      () => {
        this.again = undefined;
        this.tick();
      },
      Math.max(0, this.restsUntilMs - this.options.monotonicMs()),
    );
  }

  /** Now, if it has rested; as soon as it has, otherwise. */
  tickSoon(): void {
    if (this.isResting(this.options.monotonicMs())) this.hurry();
    else this.tick();
  }

  /** Now, rested or not. */
  tick(): void {
    this.isStirred = false;
    this.tickedAtMs = this.options.monotonicMs();
    this.noteOwn();
    const hasMore = this.options.tick();
    const endedAtMs = this.options.monotonicMs();
    this.restsUntilMs = endedAtMs + restAfter(endedAtMs - this.tickedAtMs);
    if (hasMore) this.hurry();
  }

  private isResting(nowMs: number): boolean {
    return nowMs < this.restsUntilMs;
  }

  private beat(): void {
    const nowMs = this.options.monotonicMs();
    const isBusy = this.isStirred || this.hasMoved();
    if (isBusy) this.busyAtMs = nowMs;
    if (isBusy || nowMs - this.tickedAtMs >= IDLE_TICK_MS) this.tickSoon();
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

/** How long to rest after a tick that took so long. */
export function restAfter(tickMs: number): number {
  return Math.max(REST_PER_TICK * tickMs, Math.min(SPARING_REST_PER_TICK * tickMs, SPARING_REST_MS));
}
