import type { Engine } from './engine.js';

/**
 * Who has to know of this node's own changes before it may forget that something is over: its disk, and its peers as one.
 * The store is told the lowest of what they acknowledged, shard by shard; where there is nobody, it forgets at once.
 */
export class Acknowledgements {
  private readonly engine: Engine;
  private readonly holders: Holder[] = [];
  /** Undefined as long as there are none. */
  peers: Holder | undefined = undefined;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /**
   * All peers, as one. From now on what others ended is kept for them too. Where there will be peers, this comes before the
   * disk is read: what it says of keys that are gone is theirs to hear.
   */
  joinPeers(): Holder {
    this.engine.startRelaying();
    this.peers ??= this.join();
    return this.peers;
  }

  /** From now on nothing is forgotten that this one has not acknowledged. */
  join(acknowledged: (shard: number) => number = () => 0): Holder {
    const versions = Float64Array.from({ length: this.engine.shardCount }, (_, shard) => acknowledged(shard));
    const holder: Holder = {
      acknowledge: (shard, version) => {
        versions[shard] = version;
        this.tell(shard);
      },
      acknowledged: (shard) => versions[shard],
    };
    this.holders.push(holder);
    for (let shard = 0; shard < this.engine.shardCount; shard++) this.tell(shard);
    return holder;
  }

  private tell(shard: number): void {
    let lowest = Number.POSITIVE_INFINITY;
    for (const holder of this.holders) lowest = Math.min(lowest, holder.acknowledged(shard));
    this.engine.acknowledge(shard, lowest);
  }
}

export interface Holder {
  acknowledge(shard: number, version: number): void;
  acknowledged(shard: number): number;
}
