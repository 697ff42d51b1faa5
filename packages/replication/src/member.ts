import type { Link } from './link.js';
import { WatermarkTable } from './vectors.js';

/**
 * A replica that this one replicates with, whether it is connected now or not. What it has said it has seen outlives the
 * connection: nothing is forgotten here before it knows.
 */
export class Member {
  readonly region: string;
  /** From --peer, or added by the operator; the others came by themselves. */
  isConfigured: boolean;
  /** Of the incarnation that spoke last. Undefined before the first word. */
  origin: Uint8Array | undefined = undefined;
  seen: WatermarkTable;
  /** The same as far as it will still know after a crash: only this counts where something is forgotten. */
  kept: WatermarkTable;
  link: Link | undefined = undefined;
  heardAtMs: number;
  /** Away for too long to be waited for; see ReplicationSettings.forgetAfterMs. */
  isForgotten = false;
  /** How far behind it says it is with this node's own changes, and when it said so; -1 = not yet. */
  ageMs = -1;
  ageToldAtMs = 0;

  constructor(region: string, shardCount: number, isConfigured: boolean, nowMs: number) {
    this.region = region;
    this.seen = new WatermarkTable(shardCount);
    this.kept = new WatermarkTable(shardCount);
    this.isConfigured = isConfigured;
    this.heardAtMs = nowMs;
  }

  /** Whoever is back, as a new incarnation or from its disk, may know less than before: it will say how much. */
  begin(origin: Uint8Array, shardCount: number): void {
    this.origin = origin;
    this.seen = new WatermarkTable(shardCount);
    this.kept = new WatermarkTable(shardCount);
    this.ageMs = -1;
  }
}
