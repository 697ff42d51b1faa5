import type { Link } from './link.js';
import { WatermarkTable } from './watermarks.js';

/**
 * A replica that this one replicates with, connected or not. Its watermarks outlive the link: garbage collection waits
 * until every member has acknowledged a change.
 */
export class Member {
  readonly region: string;
  /** From --peer, or added by the operator; the others have dialed this node. */
  isConfigured: boolean;
  /** Of the incarnation that sent the last hello. Undefined before the first one. */
  origin: Uint8Array | undefined = undefined;
  seen: WatermarkTable;
  /** The part of `seen` that survives a crash of the member: garbage collection waits for this. */
  durable: WatermarkTable;
  link: Link | undefined = undefined;
  heardAtMs: number;
  /** When the last link of each incarnation ended, by the incarnation's name; only those of late. */
  readonly endedAtMs = new Map<string, number>();
  /** Away for so long that garbage collection does not wait for it; see ReplicationSettings.giveUpAfterMs. */
  isGivenUp = false;

  constructor(region: string, shardCount: number, isConfigured: boolean, nowMs: number) {
    this.region = region;
    this.seen = new WatermarkTable(shardCount);
    this.durable = new WatermarkTable(shardCount);
    this.isConfigured = isConfigured;
    this.heardAtMs = nowMs;
  }

  /** A link of it has ended. Incarnations whose links ended before `forgetBeforeMs` need not be known any more. */
  end(origin: string, nowMs: number, forgetBeforeMs: number): void {
    for (const [other, endedAtMs] of this.endedAtMs) if (endedAtMs < forgetBeforeMs) this.endedAtMs.delete(other);
    this.endedAtMs.set(origin, nowMs);
  }

  /** A member that is back, as a new incarnation or from its disk, may hold less than before: it reports how much. */
  begin(origin: Uint8Array, shardCount: number): void {
    this.origin = origin;
    this.seen = new WatermarkTable(shardCount);
    this.durable = new WatermarkTable(shardCount);
  }
}
