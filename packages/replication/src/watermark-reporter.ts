import { FrameKind, type Seen } from '@quotadb/wire';
import type { Link } from './link.js';
import type { Replica } from './replica.js';
import type { Watermarks } from './watermarks.js';

/**
 * Reports this node's watermarks to one peer, in `seen` frames. Reports of what came over this link are
 * acknowledgements, so they leave at every tick. Reports of all origins leave less often: the peer measures replication
 * lag by them.
 *
 * A watermark says what the store holds. Where a crash could take some of that back (there is a disk, and it is
 * behind), what the disk holds is reported apart, as durable: garbage collection waits for that.
 */
export class WatermarkReporter {
  private readonly replica: Replica;
  private readonly link: Link;
  /** By origin, as of the last report. */
  private readonly reported = new Map<string, Watermarks>();
  private readonly reportedDurable = new Map<string, Watermarks>();
  /** By origin, as of the last report of all origins. */
  private readonly reportedWhole = new Map<string, Watermarks>();
  private readonly durable: Watermarks;
  private wholeAtMs = Number.NEGATIVE_INFINITY;
  /** Of the newest ping that came from the peer. */
  private newestToken = 0;

  constructor(replica: Replica, link: Link) {
    this.replica = replica;
    this.link = link;
    this.durable = new Float64Array(replica.engine.shardCount);
  }

  noteToken(token: number): void {
    this.newestToken = Math.max(this.newestToken, token);
  }

  /** Whether to report all origins now: soon after a watermark moved, and at times also when none does. */
  isWholeDue(nowMs: number): boolean {
    const { statusIntervalMs, idleStatusIntervalMs } = this.replica.settings;
    const sinceMs = nowMs - this.wholeAtMs;
    if (sinceMs < statusIntervalMs) return false;
    return sinceMs >= idleStatusIntervalMs || this.replica.origins().some((origin) => this.hasMoved(origin));
  }

  /** All origins, this node's own among them. */
  reportWhole(): void {
    const { replica } = this;
    this.wholeAtMs = replica.clock.monotonicMs();
    for (const origin of replica.mentionedOrigins()) {
      const seen = Float64Array.from(replica.seenOf(origin));
      this.reported.set(origin, seen);
      this.reportedWhole.set(origin, Float64Array.from(seen));
      this.send(origin, { isWhole: true, shards: [...seen.keys()], versions: [...seen], isKept: replica.isAllDurable });
    }
    if (!replica.isAllDurable) this.reportDurable(true);
  }

  /** Acknowledges what came over this link since the last report. */
  reportMoved(): void {
    const { replica } = this;
    for (const origin of replica.origins()) {
      if (!replica.incoming.isSource(origin, this.link)) continue;
      this.sendMoved(origin, replica.seenOf(origin), this.reported, replica.isAllDurable, false);
    }
    if (!replica.isAllDurable) this.reportDurable(false);
  }

  private reportDurable(isAll: boolean): void {
    const { replica, durable } = this;
    for (const origin of replica.origins()) {
      replica.durableOf(origin, durable);
      this.sendMoved(origin, durable, this.reportedDurable, true, isAll);
    }
  }

  private hasMoved(origin: string): boolean {
    const reported = this.reportedWhole.get(origin);
    const seen = this.replica.seenOf(origin);
    return reported === undefined || seen.some((version, shard) => version !== reported[shard]);
  }

  /** The shards that differ from the last report; with `isAll` also the others, where they hold a change. */
  private sendMoved(
    origin: string,
    watermarks: Watermarks,
    reports: Map<string, Watermarks>,
    isKept: boolean,
    isAll: boolean,
  ): void {
    let reported = reports.get(origin);
    if (reported === undefined) {
      reported = new Float64Array(watermarks.length);
      reports.set(origin, reported);
    }
    const shards: number[] = [];
    for (let shard = 0; shard < watermarks.length; shard++)
      if (watermarks[shard] !== reported[shard] || (isAll && watermarks[shard] !== 0)) shards.push(shard);
    if (shards.length === 0) return;
    reported.set(watermarks);
    this.send(origin, { isWhole: false, shards, versions: shards.map((shard) => watermarks[shard]), isKept });
  }

  private send(origin: string, report: Pick<Seen, 'isWhole' | 'shards' | 'versions' | 'isKept'>): void {
    const { ownName, freshness, clock, processes, boot } = this.replica;
    const nowMs = clock.monotonicMs();
    const isOwn = origin === ownName;
    const process = !report.isWhole ? undefined : isOwn ? { boot, atMs: nowMs } : processes.newestOf(origin);
    this.link.send({
      kind: FrameKind.seen,
      origin: Buffer.from(origin, 'hex'),
      ageMs: isOwn ? 0 : freshness.ageMs(origin, nowMs),
      afterToken: this.newestToken,
      boot: process?.boot ?? 0,
      bootAgeMs: process === undefined ? 0 : nowMs - process.atMs,
      ...report,
    });
  }
}
