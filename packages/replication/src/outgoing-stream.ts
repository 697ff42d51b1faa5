import type { Engine } from '@quotadb/engine';
import type { Part, PartMaker, WalkPlace } from './parts.js';
import type { Watermarks } from './watermarks.js';

/** A stream goes on without an acknowledgement after this many times its patience. */
const GIVE_UP_AFTER = 50;

/** Where a stream sends its parts: the link. */
export interface StreamSink {
  readonly isWritable: boolean;
  sendPart(part: Part): void;
}

/** What the peer has acknowledged, and how long an acknowledgement may take. */
export interface Echo {
  readonly nowMs: number;
  readonly acknowledged: Watermarks;
  /** A walk that is not acknowledged within this time waits in a queue somewhere on the way. */
  readonly patienceMs: number;
}

interface OpenWalk extends WalkPlace {
  readonly start: number;
}

/**
 * One origin's changes to one peer that requested them. For each shard it keeps the watermark up to which they were
 * sent, and nothing else: later changes stay in the store, so a peer that is away costs no memory, however long.
 *
 *   a shard is …  | then
 *   --------------|----------------------------------------------------------------------------------------
 *   up to date    | nothing, until the store's watermark passes `sent`
 *   walking       | the next part begins where the last one ended; at the end `sent` moves to the cut
 *   overdue       | a walk was sent long ago and is not acknowledged: no other begins before it is. Changes
 *                 | meanwhile gather in the store, once for each key, and not in queues, once for each walk
 *   held back     | its next part is encoded, and waits until the disk holds its changes (own changes only)
 */
export class OutgoingStream {
  readonly origin: number;
  private readonly order: number;
  private readonly engine: Engine;
  private readonly parts: PartMaker;
  /** Up to where changes may be sent. Undefined where all of them may. */
  private readonly durable: ((shard: number) => number) | undefined;
  private readonly sent: Float64Array;
  /** For each shard the walk that is not acknowledged yet: where it ended, and when; 0 = none. */
  private readonly awaited: Float64Array;
  private readonly awaitedSinceMs: Float64Array;
  private readonly walks: (OpenWalk | undefined)[] = [];
  private readonly heldBack: (Part | undefined)[] = [];
  private nextShard = 0;

  constructor(options: {
    engine: Engine;
    parts: PartMaker;
    origin: number;
    watermarks: readonly number[];
    durable: ((shard: number) => number) | undefined;
  }) {
    this.engine = options.engine;
    this.parts = options.parts;
    this.origin = options.origin;
    this.order = options.engine.origins.orderOf(options.origin);
    this.durable = options.durable;
    this.sent = Float64Array.from(options.watermarks);
    this.awaited = new Float64Array(this.sent.length);
    this.awaitedSinceMs = new Float64Array(this.sent.length);
  }

  /** The store holds nothing of the origin any more, and has given its slot to another. */
  get isOver(): boolean {
    return this.engine.origins.orderOf(this.origin) !== this.order;
  }

  /** The watermark up to which everything was sent. */
  sentTo(shard: number): number {
    return this.sent[shard];
  }

  /** Sends parts that are ready, at most about `budgetBytes`; returns how many bytes it sent. */
  pump(sink: StreamSink, budgetBytes: number, echo: Echo): number {
    const { shardCount } = this.engine;
    let bytes = 0;
    for (let idle = 0; idle < shardCount && bytes < budgetBytes && sink.isWritable; ) {
      const part = this.isOverdue(this.nextShard, echo) ? undefined : this.nextPart(this.nextShard);
      if (part === undefined) {
        this.nextShard = (this.nextShard + 1) % shardCount;
        idle++;
        continue;
      }
      idle = 0;
      bytes += part.bytes.length;
      this.awaitEnd(this.nextShard, part, echo.nowMs);
      sink.sendPart(part);
    }
    return bytes;
  }

  private isOverdue(shard: number, { nowMs, acknowledged, patienceMs }: Echo): boolean {
    if (this.awaited[shard] === 0 || this.walks[shard] !== undefined) return false;
    if (acknowledged[shard] >= this.awaited[shard]) this.awaited[shard] = 0;
    const waitedMs = nowMs - this.awaitedSinceMs[shard];
    // An acknowledgement that never comes must not stop the stream: the peer requests it again, or is gone.
    return this.awaited[shard] !== 0 && waitedMs > patienceMs && waitedMs < GIVE_UP_AFTER * patienceMs;
  }

  private awaitEnd(shard: number, { to }: Part, nowMs: number): void {
    if (to === 0 || this.awaited[shard] !== 0) return;
    this.awaited[shard] = to;
    this.awaitedSinceMs[shard] = nowMs;
  }

  /** Encodes the changes that the disk is about to write, to be sent when it has. */
  prepare(): void {
    for (let shard = 0; shard < this.engine.shardCount; shard++) this.heldBack[shard] ??= this.makePart(shard, true);
    this.parts.release();
  }

  /** The next part of a shard that may be sent now. */
  private nextPart(shard: number): Part | undefined {
    const part = this.heldBack[shard] ?? this.makePart(shard, false);
    if (part === undefined) return undefined;
    if (this.durable !== undefined && part.newest > this.durable(shard)) {
      this.heldBack[shard] = part;
      this.parts.release();
      return undefined;
    }
    this.heldBack[shard] = undefined;
    return part;
  }

  private makePart(shard: number, isFlushing: boolean): Part | undefined {
    const walk = this.walks[shard];
    if (walk === undefined) {
      const start = this.sent[shard];
      const seen = this.engine.seen(shard, this.origin);
      if (seen <= start) return undefined;
      // A part made now would wait for the next flush, and changes until then for the flush after that.
      if (!isFlushing && this.durable !== undefined && seen > this.durable(shard)) return undefined;
      const part = this.parts.begin(shard, this.origin, start);
      this.note(shard, start, part);
      return part;
    }
    const part = this.parts.make(shard, this.origin, walk.start, walk);
    this.note(shard, walk.start, part);
    return part;
  }

  private note(shard: number, start: number, { walk, reached, passed, to }: Part): void {
    if (to !== 0) this.sent[shard] = to;
    this.walks[shard] = to !== 0 ? undefined : { walk, start, from: reached, passed };
  }
}
