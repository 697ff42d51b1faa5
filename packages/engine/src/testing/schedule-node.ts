import { Batch } from '../batches/batch.js';
import { Merge } from '../batches/merge.js';
import { batchSince, type WalkLimits } from '../batches/walk.js';
import { Engine } from '../keys/engine.js';
import { OWN_ORIGIN } from '../memory/layout.js';
import { nameOfOrigin } from './inspect.js';
import { placement } from './placement.js';
import { hashSecretOf } from './random.js';

export interface NodeOptions {
  readonly name: number;
  readonly incarnation: number;
  readonly shardCount: number;
  readonly nowMs: number;
  readonly skewMs: number;
  readonly graceMs: number;
}

export interface OpenWalk {
  readonly number: number;
  readonly start: number;
  at: number;
  passed: number;
}

/** A report of a node to others: its watermark of every origin. */
export interface SeenReport {
  readonly from: string;
  /** Grows with every report of one node. */
  readonly number: number;
  /** By origin and shard. */
  readonly seen: ReadonlyMap<string, number>;
}

const MEMORY_BYTES = 4 * 1024 * 1024;

/** One replica of a delivery schedule: an engine, its merge, and the reports it got from the others. */
export class ScheduleNode {
  readonly name: number;
  readonly incarnation: number;
  readonly skewMs: number;
  readonly engine: Engine;
  readonly merge: Merge;
  readonly origin: string;
  private readonly heard = new Map<string, SeenReport>();
  /** Each sender numbers its walks, so the numbers of two senders are often the same. */
  lastWalk = 0;
  private reports = 0;
  private readonly wholeWalk = new Batch();

  constructor(options: NodeOptions) {
    this.name = options.name;
    this.incarnation = options.incarnation;
    this.skewMs = options.skewMs;
    const origin = new Uint8Array(32);
    origin[0] = options.name + 1;
    origin[16] = options.incarnation + 1;
    this.engine = Engine.format({
      maxMemoryBytes: MEMORY_BYTES,
      origin,
      nowMs: options.nowMs + options.skewMs,
      hashSecret: hashSecretOf(options.name * 7919),
      shardCount: options.shardCount,
      expiryGraceMs: options.graceMs,
      ...placement,
    });
    this.merge = new Merge(this.engine);
    this.origin = nameOfOrigin(origin);
    for (let shard = 0; shard < options.shardCount; shard++) this.engine.acknowledge(shard, 0);
  }

  get label(): string {
    return `n${this.name}.${this.incarnation}`;
  }

  advanceTo(nowMs: number): void {
    this.engine.advanceTo(nowMs + this.skewMs);
  }

  /** This node's watermark of an origin that it may not know. */
  seenOf(shard: number, origin: string): number {
    const index = this.engine.origins.find(Buffer.from(origin, 'hex'));
    return index === -1 ? 0 : this.engine.seen(shard, index);
  }

  digestOf(shard: number, origin: string): string {
    const index = this.engine.origins.find(Buffer.from(origin, 'hex'));
    return index === -1 ? '0'.repeat(16) : this.engine.digestOf(shard, index);
  }

  /** The origins that this node can send, its own first. */
  knownOrigins(): string[] {
    return Array.from({ length: this.engine.origins.count }, (_, index) =>
      nameOfOrigin(this.engine.origins.idOf(index)),
    );
  }

  /** One part of a walk that begins or goes on, into a batch of its own. */
  walkPart(shard: number, origin: string, walk: OpenWalk, limits: WalkLimits): Batch {
    const index = this.engine.origins.find(Buffer.from(origin, 'hex'));
    const batch = batchSince(this.engine, shard, index, walk.at, new Batch(), limits, walk.start, walk.passed);
    batch.walk = walk.number;
    walk.at = batch.reached;
    walk.passed = batch.passed;
    return batch;
  }

  /** All there is behind a watermark, in one part, into a batch that is used again. */
  walkWhole(shard: number, origin: string, start: number, walk: number): Batch {
    const index = this.engine.origins.find(Buffer.from(origin, 'hex'));
    const batch = batchSince(this.engine, shard, index, start, this.wholeWalk);
    batch.walk = walk;
    return batch;
  }

  report(): SeenReport {
    const seen = new Map<string, number>();
    for (const origin of this.knownOrigins()) {
      for (let shard = 0; shard < this.engine.shardCount; shard++)
        seen.set(`${origin}:${shard}`, this.seenOf(shard, origin));
    }
    return { from: this.origin, number: ++this.reports, seen };
  }

  hear(report: SeenReport): void {
    const before = this.heard.get(report.from);
    if (before === undefined || before.number <= report.number) this.heard.set(report.from, report);
  }

  /** Acknowledges the changes that every member has reported as seen. */
  acknowledge(members: readonly string[]): void {
    for (let shard = 0; shard < this.engine.shardCount; shard++) {
      let version = this.engine.seen(shard, OWN_ORIGIN);
      for (const member of members) {
        if (member === this.origin) continue;
        version = Math.min(version, this.heard.get(member)?.seen.get(`${this.origin}:${shard}`) ?? 0);
      }
      this.engine.acknowledge(shard, version);
    }
  }
}
