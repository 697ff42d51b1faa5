import type { Engine } from './engine.js';

/**
 * Which holders have to acknowledge this node's own changes before garbage collection: its disk, and its peers as one.
 * The store gets the lowest acknowledged version of each shard; without holders, removed keys are dropped at once.
 */
export class Acknowledgements {
  private readonly engine: Engine;
  private readonly holders: Holder[] = [];
  /** All peers as one holder; undefined as long as there are none. */
  peers: Holder | undefined = undefined;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /**
   * From now on components that other origins ended are kept for peers too. Where there will be peers, this comes
   * before the disk is read: it may hold removals that peers have not seen.
   */
  joinPeers(): Holder {
    this.engine.startRelaying();
    this.peers ??= this.join();
    return this.peers;
  }

  /** From now on no change is collected that this holder has not acknowledged. */
  join(acknowledged: (shard: number) => number = () => 0): Holder {
    const versions = Float64Array.from({ length: this.engine.shardCount }, (_, shard) => acknowledged(shard));
    const holder: Holder = {
      acknowledge: (shard, version) => {
        versions[shard] = version;
        this.passOn(shard);
      },
      acknowledged: (shard) => versions[shard],
    };
    this.holders.push(holder);
    for (let shard = 0; shard < this.engine.shardCount; shard++) this.passOn(shard);
    return holder;
  }

  private passOn(shard: number): void {
    let lowest = Number.POSITIVE_INFINITY;
    for (const holder of this.holders) lowest = Math.min(lowest, holder.acknowledged(shard));
    this.engine.acknowledge(shard, lowest);
  }
}

export interface Holder {
  acknowledge(shard: number, version: number): void;
  acknowledged(shard: number): number;
}
