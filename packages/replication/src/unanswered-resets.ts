import { type Batch, type Engine, type Merge, OWN_ORIGIN } from '@quotadb/engine';
import { RangeScan } from './range-scan.js';

/** Pieces of the scan done at one tick. */
const STEPS_PER_TICK = 4;
/** Resets that wait at once; the scan goes on when there are fewer. */
const MAXIMUM_WAITING = 4096;

interface Waiting {
  readonly key: Uint8Array;
  readonly shard: number;
  /** The index of the origin whose generation was reset, and the version that began the generation. */
  readonly origin: number;
  readonly born: number;
}

/**
 * Resets that came back from the disk without the generation that they cancel. Its owner has ended it, or will; but
 * where the owner has answered while this process was away and did not wait for it, the answer is in no stream, and the
 * reset would be kept by all replicas for good. So each is sent once more, when this node's watermark has passed the
 * beginning of the generation and still none is held: the owner answers again (Merge.answerCancel).
 */
export class UnansweredResets {
  private readonly engine: Engine;
  private readonly merge: Merge;
  private readonly shards: number[];
  private scan: RangeScan | undefined = undefined;
  private waiting: Waiting[] = [];

  constructor(engine: Engine, merge: Merge) {
    this.engine = engine;
    this.merge = merge;
    this.shards = Array.from({ length: engine.shardCount }, (_, shard) => shard).filter((shard) =>
      engine.hasResets(shard),
    );
  }

  tick(): void {
    for (let step = 0; step < STEPS_PER_TICK && this.waiting.length < MAXIMUM_WAITING; step++)
      if (!this.scanOn()) break;
    if (this.waiting.length === 0) return;
    this.waiting = this.waiting.filter(({ key, shard, origin, born }) => {
      if (this.engine.seen(shard, origin) < born) return true;
      this.merge.repeatReset(origin, key);
      return false;
    });
  }

  /** False where nothing is left to scan. */
  private scanOn(): boolean {
    if (this.scan === undefined) {
      const shard = this.shards.pop();
      if (shard === undefined) return false;
      this.scan = new RangeScan(this.engine, shard, OWN_ORIGIN, (batch, index) => this.visit(shard, batch, index));
    }
    this.scan.step();
    if (this.scan.isDone) this.scan = undefined;
    return true;
  }

  private visit(shard: number, batch: Batch, index: number): void {
    for (let at = batch.cancelStart(index); at < batch.cancelEnd[index]; at++) {
      const { origin, born } = batch.cancels[at];
      const key = batch.keyBytes.slice(batch.keyStart(index), batch.keyEnd[index]);
      this.waiting.push({ key, shard, origin: this.engine.origins.find(origin), born });
    }
  }
}
