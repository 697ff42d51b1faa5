import { systemMonotonicMs } from '../time/clock.js';
import { HeldReplies, type HeldRepliesOptions } from './held-replies.js';
import type { ReplicationBoard } from './replication-board.js';
import type { ReplicationDescription } from './replication-description.js';

/** Requests of clients to the thread that replicates; the answer is plain data or an error message. */
export type ReplicationRequest =
  | { readonly kind: 'addPeer'; readonly region: string; readonly host: string; readonly port: number }
  | { readonly kind: 'removePeer'; readonly region: string }
  | { readonly kind: 'shards'; readonly region: string };

export type ReplicationAnswer = { readonly error: string } | { readonly value: unknown };

/** A client that waits for acknowledgements of members. */
interface Waiter {
  readonly client: { readonly isConnected: boolean };
  readonly moved: () => void;
}

/** The age of this node's view of one region; undefined = it was never complete. */
export interface RegionAge {
  readonly region: string;
  readonly ageMs: number | undefined;
}

/** Replication as one lane sees it. */
export class LaneReplication {
  readonly board: ReplicationBoard;
  private readonly nowMs: () => number;
  private readonly waiters = new Set<Waiter>();
  /** Replies that wait until other servers hold the changes; undefined without --replicate-before-reply. */
  readonly held: HeldReplies | undefined;

  constructor(
    board: ReplicationBoard,
    nowMs: () => number = systemMonotonicMs,
    holding: Omit<HeldRepliesOptions, 'board' | 'nowMs'> = { servers: 0, timeoutMs: 0, isOnEventLoop: false },
  ) {
    this.board = board;
    this.nowMs = nowMs;
    this.held = holding.servers > 0 ? new HeldReplies({ ...holding, board, nowMs }) : undefined;
  }

  /** Undefined until replication has published a description. */
  describe(): ReplicationDescription | undefined {
    const text = this.board.description();
    return text === '' ? undefined : (JSON.parse(text) as ReplicationDescription);
  }

  ages(): RegionAge[] {
    const nowMs = this.nowMs();
    const asOf = this.board.regionsAsOf();
    const regions = this.describe()?.regions ?? [];
    return asOf.map((asOfMs, index) => ({
      region: regions[index] ?? `#${index}`,
      ageMs: asOfMs < 0 ? undefined : Math.max(0, nowMs - asOfMs),
    }));
  }

  /** Whether this node's view of every region is at most this old. */
  isFresh(maximumAgeMs: number): boolean {
    const since = this.nowMs() - maximumAgeMs;
    return this.board.regionsAsOf().every((asOfMs) => asOfMs >= 0 && asOfMs >= since);
  }

  /** The region with the oldest view. */
  stalest(): RegionAge | undefined {
    const age = ({ ageMs }: RegionAge) => ageMs ?? Number.POSITIVE_INFINITY;
    return this.ages().reduce<RegionAge | undefined>(
      (worst, region) => (worst === undefined || age(region) > age(worst) ? region : worst),
      undefined,
    );
  }

  /** Calls `moved` whenever members may have acknowledged more. Returns the function that ends that. */
  wait(client: Waiter['client'], moved: () => void): () => void {
    const waiter: Waiter = { client, moved };
    this.waiters.add(waiter);
    this.board.countWaiting(1);
    return () => this.leave(waiter);
  }

  /** Members may have acknowledged more, or time has passed. */
  settle(): void {
    this.held?.settle();
    for (const waiter of this.waiters) {
      if (!waiter.client.isConnected) this.leave(waiter);
      else waiter.moved();
    }
  }

  private leave(waiter: Waiter): void {
    if (this.waiters.delete(waiter)) this.board.countWaiting(-1);
  }
}
