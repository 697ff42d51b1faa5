import type { Link } from './link.js';
import type { HeardProcess } from './processes.js';
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
  /**
   * When it reported its watermarks and they showed no old copy, first since a peer refused the name (own-starts.ts).
   */
  confirmedAtMs: number | undefined = undefined;
  /** The processes whose links have ended, and when; only those of late. */
  private ended: HeardProcess[] = [];
  /** Away for so long that garbage collection does not wait for it; see ReplicationSettings.giveUpAfterMs. */
  isGivenUp = false;

  constructor(region: string, shardCount: number, isConfigured: boolean, nowMs: number) {
    this.region = region;
    this.seen = new WatermarkTable(shardCount);
    this.durable = new WatermarkTable(shardCount);
    this.isConfigured = isConfigured;
    this.heardAtMs = nowMs;
  }

  /** A link to a process of it has ended. Those that ended before `forgetBeforeMs` need not be known any more. */
  end(process: HeardProcess, forgetBeforeMs: number): void {
    this.ended = this.ended.filter(({ atMs }) => atMs >= forgetBeforeMs);
    this.ended.push(process);
  }

  /** When the last link to a process ended; without a boot number, to any of its incarnation. */
  endedAtMs({ origin, boot }: HeardProcess): number | undefined {
    return this.ended.findLast((process) => process.origin === origin && (boot === 0 || process.boot === boot))?.atMs;
  }

  /** A member that is back, as a new incarnation or from its disk, may hold less than before: it reports how much. */
  begin(origin: Uint8Array, shardCount: number): void {
    this.origin = origin;
    this.seen = new WatermarkTable(shardCount);
    this.durable = new WatermarkTable(shardCount);
  }
}
