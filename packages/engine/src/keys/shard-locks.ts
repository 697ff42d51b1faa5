import { assert } from '../memory/assert.js';
import type { ByteInput } from '../memory/byte-input.js';
import { MAX_SHARDS, ShardWord } from '../memory/layout.js';
import { giveLock, takeLock } from '../memory/lock.js';
import type { Store } from '../memory/store.js';

/**
 * The locks of the shards, as one thread holds them: one shard for an open key or a piece of work, or several for a
 * transaction. Where no other thread can use the store, no lock is taken.
 */
export class ShardLocks {
  readonly store: Store;
  protected readonly memory: Int32Array;
  /** Calls of lockAll and lockKeys that were not undone, and the shards they hold, a bit each. */
  private lockDepth = 0;
  private readonly heldShards = new Int32Array(MAX_SHARDS / 32);

  constructor(store: Store) {
    this.store = store;
    this.memory = store.memory;
  }

  get shardCount(): number {
    return this.store.shardCount;
  }

  protected lockShard(shard: number): void {
    if (this.store.locking && this.lockDepth === 0) takeLock(this.memory, shard + ShardWord.lock);
  }

  protected unlockShard(shard: number): void {
    if (this.store.locking && this.lockDepth === 0) giveLock(this.memory, shard + ShardWord.lock);
  }

  withShard<T>(shard: number, work: () => T): T {
    this.lockShard(shard);
    try {
      return work();
    } finally {
      this.unlockShard(shard);
    }
  }

  /** Until `unlock`, no other thread changes or reads a key. Calls nest. */
  lockAll(): void {
    if (this.lockDepth++ > 0 || !this.store.locking) return;
    for (let index = 0; index < this.shardCount; index++) this.heldShards[index >>> 5] |= 1 << (index & 31);
    this.takeHeld();
  }

  /** The same for some keys: one in each step of the arguments from `first` to before `end`. Open no other. */
  lockKeys(input: ByteInput, starts: Int32Array, lengths: Int32Array, first: number, end: number, step: number): void {
    if (this.lockDepth++ > 0 || !this.store.locking) return;
    const { store, heldShards } = this;
    for (let key = first; key < end; key += step) {
      const index = store.shardIndexOf(store.shardOf(input, starts[key], lengths[key]));
      heldShards[index >>> 5] |= 1 << (index & 31);
    }
    this.takeHeld();
  }

  unlock(): void {
    assert(this.lockDepth > 0, 'unlock follows lockAll or lockKeys');
    if (--this.lockDepth > 0 || !this.store.locking) return;
    for (let index = 0; index < this.shardCount; index++) {
      if (this.isHeld(index)) giveLock(this.memory, this.store.shardAt(index) + ShardWord.lock);
    }
    this.heldShards.fill(0);
  }

  /** Undoes every lockAll and lockKeys at once; false where there was none. */
  protected unlockNested(): boolean {
    if (this.lockDepth === 0) return false;
    this.lockDepth = 1;
    this.unlock();
    return true;
  }

  /** Always in the same order, so that threads never wait for each other in a circle. */
  private takeHeld(): void {
    for (let index = 0; index < this.shardCount; index++) {
      if (this.isHeld(index)) takeLock(this.memory, this.store.shardAt(index) + ShardWord.lock);
    }
  }

  private isHeld(index: number): boolean {
    return (this.heldShards[index >>> 5] & (1 << (index & 31))) !== 0;
  }
}
