import { MAX_ORIGINS } from '@quotadb/engine';

/** Watermarks of one origin, one for each shard. */
export type Watermarks = Float64Array;

/** More than a store has room for; beyond it the oldest is dropped, and what its peer reports next takes its place. */
const MAXIMUM_ORIGINS = 2 * MAX_ORIGINS;

/** Watermarks by origin; an origin is added when it is first asked for. */
export class WatermarkTable {
  private readonly shardCount: number;
  private readonly byOrigin = new Map<string, Watermarks>();

  constructor(shardCount: number) {
    this.shardCount = shardCount;
  }

  get origins(): IterableIterator<string> {
    return this.byOrigin.keys();
  }

  find(origin: string): Watermarks | undefined {
    return this.byOrigin.get(origin);
  }

  of(origin: string): Watermarks {
    let watermarks = this.byOrigin.get(origin);
    if (watermarks === undefined) {
      watermarks = new Float64Array(this.shardCount);
      if (this.byOrigin.size >= MAXIMUM_ORIGINS) this.byOrigin.delete(this.byOrigin.keys().next().value as string);
      this.byOrigin.set(origin, watermarks);
    }
    return watermarks;
  }
}

/** Whether the first is at least as high as the second in every shard. */
export function covers(one: Watermarks, other: ArrayLike<number>): boolean {
  for (let shard = 0; shard < other.length; shard++) if (one[shard] < other[shard]) return false;
  return true;
}

export function raise(watermarks: Watermarks, shards: readonly number[], versions: readonly number[]): void {
  for (let index = 0; index < shards.length; index++) {
    const shard = shards[index];
    if (shard < watermarks.length && versions[index] > watermarks[shard]) watermarks[shard] = versions[index];
  }
}
