import { Batch } from '@quotadb/engine';
import { nameOfOrigin } from '@quotadb/replication';
import { decodeFrame, type Frame, FrameKind } from '@quotadb/wire';

/** The tag that a frame with a batch begins with. */
const BATCH_TAG = (FrameKind.batch << 3) | 2;

/** How far each origin has sent its own changes to peers. */
export class SentChanges {
  private readonly newest = new Map<string, number>();
  /** Every frame is decoded into this one. */
  private readonly batch = new Batch();

  /** The newest version that was sent of an origin's own changes in a shard. */
  newestOf(origin: string, shard: number): number {
    return this.newest.get(`${origin}:${shard}`) ?? 0;
  }

  /** Notes the frame that an origin sends; undefined where it is no batch of its own changes. */
  note(origin: string, bytes: Uint8Array): { readonly batch: Batch; readonly newest: number } | undefined {
    if (bytes[0] !== BATCH_TAG) return undefined;
    const { batch } = decodeFrame(bytes, this.batch) as Extract<Frame, { kind: typeof FrameKind.batch }>;
    if (nameOfOrigin(batch.origin) !== origin) return undefined;
    const newest = Math.max(batch.to, ...batch.version.subarray(0, batch.count));
    this.newest.set(`${origin}:${batch.shardIndex}`, Math.max(newest, this.newestOf(origin, batch.shardIndex)));
    return { batch, newest };
  }

  /** Peers have refused versions later than this one. */
  refused(origin: string, shard: number, latest: number): void {
    if (this.newestOf(origin, shard) > latest) this.newest.delete(`${origin}:${shard}`);
  }
}
