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
  /** When its last link ended. */
  endedAtMs = Number.NEGATIVE_INFINITY;
  /** Away for so long that garbage collection does not wait for it; see ReplicationSettings.giveUpAfterMs. */
  isGivenUp = false;

  constructor(region: string, shardCount: number, isConfigured: boolean, nowMs: number) {
    this.region = region;
    this.seen = new WatermarkTable(shardCount);
    this.durable = new WatermarkTable(shardCount);
    this.isConfigured = isConfigured;
    this.heardAtMs = nowMs;
  }

  /** A member that is back, as a new incarnation or from its disk, may hold less than before: it reports how much. */
  begin(origin: Uint8Array, shardCount: number): void {
    this.origin = origin;
    this.seen = new WatermarkTable(shardCount);
    this.durable = new WatermarkTable(shardCount);
  }
}
