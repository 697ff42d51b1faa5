import { type Engine, OWN_ORIGIN } from '@quotadb/engine';
import type { ReplicationBoard } from './replication-board.js';

/** Replies that wait until other servers hold the changes that they acknowledge. */
export interface ReplicaWaiter {
  replicated(isReplicated: boolean): void;
}

export interface HeldRepliesOptions {
  readonly board: ReplicationBoard;
  readonly nowMs: () => number;
  /** How many other servers. */
  readonly servers: number;
  readonly timeoutMs: number;
  /** On Node's event loop, where no loop of ours calls `submit` at the end of a round, and `settle` at times. */
  readonly isOnEventLoop: boolean;
}

/** An answer of the main thread to a request that it has not done; or, with a cause, has done and cannot promise. */
export interface Refused {
  readonly error: string;
  readonly cause?: 'disk_failed' | 'not_replicated';
}

export function unreplicated(servers: number, timeoutMs: number): Refused {
  return {
    error:
      `fewer than ${servers} other servers hold these changes after ${timeoutMs} ms (--replicate-before-reply): ` +
      'they stay here, and are sent when a server is back. See REPL.PEERS LIST',
    cause: 'not_replicated',
  };
}

interface WaitingGroup {
  /** Of this node's own changes, by shard, when the round was over. */
  readonly versions: Float64Array;
  readonly untilMs: number;
  readonly waiters: readonly ReplicaWaiter[];
}

/**
 * The replies of one lane that other servers must acknowledge first (--replicate-before-reply). All that begin to wait
 * in one round of the lane's loop wait for the same versions; versions and deadlines only grow, so the first group is
 * always the first to leave.
 */
export class HeldReplies {
  private readonly options: HeldRepliesOptions;
  private gathered: ReplicaWaiter[] = [];
  private readonly groups: WaitingGroup[] = [];
  private timer: NodeJS.Timeout | undefined = undefined;
  private isMarked = false;

  constructor(options: HeldRepliesOptions) {
    this.options = options;
  }

  get isGathering(): boolean {
    return this.gathered.length > 0;
  }

  /** A command has spent tokens that were marked before, without a change of its own: its reply waits for the marks. */
  mark(): void {
    this.isMarked = true;
  }

  /** Whether a command was marked since the last call. */
  takeMark(): boolean {
    const { isMarked } = this;
    this.isMarked = false;
    return isMarked;
  }

  hold(waiter: ReplicaWaiter, engine: Engine): void {
    this.gathered.push(waiter);
    if (this.options.isOnEventLoop && this.gathered.length === 1) setImmediate(() => this.submit(engine));
  }

  /** The round is over. */
  submit(engine: Engine): void {
    const { board, nowMs, timeoutMs } = this.options;
    const versions = new Float64Array(engine.shardCount);
    for (let shard = 0; shard < versions.length; shard++) versions[shard] = engine.seen(shard, OWN_ORIGIN);
    if (this.groups.length === 0) board.countWaiting(1);
    this.groups.push({ versions, untilMs: nowMs() + timeoutMs, waiters: this.gathered });
    this.gathered = [];
    this.settle();
    if (this.options.isOnEventLoop) this.watchDeadline();
  }

  /** Lets replies go whose changes enough servers hold, and fails those whose time is over. */
  settle(): void {
    const { board, servers, nowMs } = this.options;
    if (this.groups.length === 0) return;
    while (this.groups.length > 0) {
      const isReplicated = board.acknowledgedBy(this.groups[0].versions) >= servers;
      if (!isReplicated && nowMs() < this.groups[0].untilMs) return;
      const { waiters } = this.groups.shift() as WaitingGroup;
      for (const waiter of waiters) waiter.replicated(isReplicated);
    }
    board.countWaiting(-1);
  }

  private watchDeadline(): void {
    if (this.timer !== undefined || this.groups.length === 0) return;
    this.timer = setTimeout(
      () => {
        this.timer = undefined;
        this.settle();
        this.watchDeadline();
      },
      Math.max(1, this.groups[0].untilMs - this.options.nowMs()),
    );
  }
}
