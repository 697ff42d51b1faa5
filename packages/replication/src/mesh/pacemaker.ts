import { type Engine, OWN_ORIGIN } from '@quotadb/engine';

/** An idle replica ticks this often: it reports to its peers and pings them. */
export const IDLE_TICK_MS = 250;
/** After this time without a change, the pacemaker checks for changes less often. */
const QUIET_AFTER_MS = 1000;
const QUIET_BEAT_MS = 25;
/** Where replies wait for acknowledgements (--replicate-before-reply). */
const URGENT_BEAT_MS = 1;
const URGENT_QUIET_BEAT_MS = 5;

/**
 * After a tick replication rests for this many times as long as the tick took. Changes that gather meanwhile cost less,
 * as a key that changed ten times is sent once; and under any load most of the time is left to the clients.
 */
const REST_PER_TICK = 4;
/**
 * A tick is a quarter of the cost of replication: most of the work is done by the peers that merge the parts, and a
 * part of five components costs them nearly as much as one of ten. So up to SPARING_REST_MS it rests longer.
 */
const SPARING_REST_PER_TICK = 24;
export const SPARING_REST_MS = 20;

export interface PacemakerOptions {
  readonly engine: Engine;
  readonly intervalMs: number;
  /** Replies wait for acknowledgements, here and at peers: it beats and ticks as often as it can. */
  readonly isUrgent?: boolean;
  readonly monotonicMs: () => number;
  /** No own change has been made since the last tick. */
  readonly still?: (nowMs: number) => void;
  /** True when there is more to do at once. */
  readonly tick: () => boolean;
}

/**
 * Decides when a replica ticks: often enough that changes do not wait long, seldom enough that several leave together,
 * and hardly ever without changes, because a tick goes through every origin and shard. Checking for own changes is one
 * comparison a shard.
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

  /** A frame has come in: the next beat is a tick. */
  stir(): void {
    this.isStirred = true;
    if (this.options.isUrgent) this.hurry();
  }

  /** Ticks as soon as it has rested, without waiting for the next beat. */
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

  /** Ticks now, if it has rested, and otherwise as soon as it has. */
  tickSoon(): void {
    if (this.isResting(this.options.monotonicMs())) this.hurry();
    else this.tick();
  }

  /** Ticks now, rested or not. */
  tick(): void {
    this.isStirred = false;
    this.tickedAtMs = this.options.monotonicMs();
    this.noteOwn();
    const hasMore = this.options.tick();
    const endedAtMs = this.options.monotonicMs();
    const tookMs = endedAtMs - this.tickedAtMs;
    this.restsUntilMs = endedAtMs + (this.options.isUrgent ? tookMs : restAfter(tookMs));
    if (hasMore) this.hurry();
  }

  private isResting(nowMs: number): boolean {
    return nowMs < this.restsUntilMs;
  }

  private beat(): void {
    const nowMs = this.options.monotonicMs();
    const hasMoved = this.hasMoved();
    if (!hasMoved) this.options.still?.(nowMs);
    const isBusy = this.isStirred || hasMoved;
    if (isBusy) this.busyAtMs = nowMs;
    if (isBusy || nowMs - this.tickedAtMs >= IDLE_TICK_MS) this.tickSoon();
    if (this.isStopped) return;
    this.timer = setTimeout(() => this.beat(), this.nextBeatMs(nowMs - this.busyAtMs >= QUIET_AFTER_MS));
  }

  private nextBeatMs(isQuiet: boolean): number {
    const { intervalMs, isUrgent } = this.options;
    if (isUrgent) return isQuiet ? URGENT_QUIET_BEAT_MS : URGENT_BEAT_MS;
    return isQuiet ? Math.max(intervalMs, QUIET_BEAT_MS) : intervalMs;
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

export function restAfter(tickMs: number): number {
  return Math.max(REST_PER_TICK * tickMs, Math.min(SPARING_REST_PER_TICK * tickMs, SPARING_REST_MS));
}
