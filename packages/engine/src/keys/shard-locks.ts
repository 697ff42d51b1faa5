import type { VersionLists } from '../components/version-list.js';
import { assert } from '../memory/assert.js';
import type { ByteInput } from '../memory/byte-input.js';
import { HeaderWord, MAX_SHARDS, ShardWord } from '../memory/layout.js';
import { giveLock, takeLock, takeLockOrGiveWay, tryLock } from '../memory/lock.js';
import type { Store } from '../memory/store.js';
import { StoreLock } from '../memory/store-lock.js';

/**
 * The locks of the shards, as one thread holds them: one shard for an open key or a piece of work, or several for a
 * transaction. Where no other thread can use the store, no lock is taken.
 */
export abstract class ShardLocks {
  readonly store: Store;
  abstract readonly lists: VersionLists;
  protected readonly memory: Int32Array;
  /** Calls of lockAll and lockKeys that were not undone, and the shards they hold, a bit each. */
  private lockDepth = 0;
  private readonly heldShards = new Int32Array(MAX_SHARDS / 32);
  /** Own changes of this view when the first of these calls was made. */
  private changesBefore = 0;
  /** Whether this thread, waiting for a lock while a script runs for long, gives up with StoreBusy. */
  yieldsToScripts = false;

  /** The lock of the store, where this thread is the resident; where another one is. */
  private kept: StoreLock | undefined = undefined;
  private visited: StoreLock | undefined = undefined;
  /** Pieces of work inside each other for which a visitor has taken it. */
  private visits = 0;

  constructor(store: Store) {
    this.store = store;
    this.memory = store.memory;
  }

  /** Other threads may use the store. */
  get isShared(): boolean {
    return this.store.isShared;
  }

  protected get isResident(): boolean {
    return this.kept !== undefined;
  }

  protected reside(): void {
    this.kept = new StoreLock(this.memory);
  }

  /** The resident gives back the lock of the store, except inside lockAll and lockKeys: it is about to wait. */
  rest(): void {
    if (this.lockDepth === 0) this.kept?.rest();
  }

  protected endResiding(): void {
    assert(this.lockDepth === 0, 'no lock is held where other threads are let in');
    this.kept?.rest();
    this.kept = undefined;
  }

  /** From now on another thread is the resident of the store; called before that thread begins. */
  beginVisits(): void {
    this.visited = new StoreLock(this.memory);
  }

  /** No thread is any more. */
  endVisits(): void {
    this.visited = undefined;
  }

  /** Where another thread is the resident, holds the lock of the store over several pieces of work, not for each. */
  visit<T>(work: () => T): T {
    this.enterStore();
    try {
      return work();
    } finally {
      this.leaveStore();
    }
  }

  private enterStore(): void {
    if (this.visited !== undefined && this.visits++ === 0) this.visited.enter();
  }

  private leaveStore(): void {
    if (this.visited !== undefined && --this.visits === 0) this.visited.leave();
  }

  get shardCount(): number {
    return this.store.shardCount;
  }

  protected lockShard(shard: number): void {
    if (!this.store.locking) {
      if (this.kept !== undefined && this.lockDepth === 0) this.kept.keep();
      return;
    }
    if (this.lockDepth === 0) {
      if (this.visited !== undefined) this.enterStore();
      takeLock(this.memory, shard + ShardWord.lock, this.yieldsToScripts);
    } else {
      this.assertHeld(shard);
    }
  }

  protected unlockShard(shard: number): void {
    if (!this.store.locking || this.lockDepth > 0) return;
    giveLock(this.memory, shard + ShardWord.lock);
    if (this.visited !== undefined) this.leaveStore();
  }

  withShard<T>(shard: number, work: () => T): T {
    this.lockShard(shard);
    try {
      return work();
    } finally {
      this.unlockShard(shard);
    }
  }

  /** Until `unlock`, no other thread changes or reads a key. Calls nest; inside lockKeys, see extendToAll. */
  lockAll(): void {
    if (this.lockDepth > 0) assert(this.holdsAll, 'all shards are held: they cannot be added in any order');
    if (!this.begin()) return;
    for (let index = 0; index < this.shardCount; index++) this.hold(index);
    this.takeHeld();
  }

  /** The same for some keys: one in each step of the arguments from `first` to before `end`. Open no other. */
  lockKeys(input: ByteInput, starts: Int32Array, lengths: Int32Array, first: number, end: number, step: number): void {
    if (this.lockDepth > 0) {
      assert(this.holdsKeys(input, starts, lengths, first, end, step), 'the shards of the keys are held');
    }
    if (!this.begin()) return;
    const { store } = this;
    for (let key = first; key < end; key += step) {
      this.hold(store.shardIndexOf(store.shardOf(input, starts[key], lengths[key])));
    }
    this.takeHeld();
  }

  /** Whether the shards of these keys may be used inside the present lockAll or lockKeys. */
  holdsKeys(
    input: ByteInput,
    starts: Int32Array,
    lengths: Int32Array,
    first: number,
    end: number,
    step: number,
  ): boolean {
    const { store } = this;
    if (!store.locking) return true;
    for (let key = first; key < end; key += step) {
      if (!this.isHeld(store.shardIndexOf(store.shardOf(input, starts[key], lengths[key])))) return false;
    }
    return true;
  }

  get holdsAll(): boolean {
    if (!this.store.locking) return true;
    for (let index = 0; index < this.shardCount; index++) if (!this.isHeld(index)) return false;
    return true;
  }

  /**
   * Inside lockKeys: takes the shards that are missing too. Locks are taken out of order here. So threads that wait in
   * order give back what they hold (takeHeld); but two threads that both extend could wait for each other for ever, and
   * this waits for some milliseconds only. False where that was too short: what was held before is still held, no more.
   */
  extendToAll(): boolean {
    assert(this.lockDepth > 0, 'extendToAll follows lockKeys');
    if (!this.store.locking) return true;
    const before = this.heldShards.slice();
    Atomics.add(this.memory, HeaderWord.extending, 1);
    try {
      for (let index = 0; index < this.shardCount; index++) {
        if (this.isHeld(index)) continue;
        if (!tryLock(this.memory, this.store.shardAt(index) + ShardWord.lock)) {
          this.giveAllBut(before);
          return false;
        }
        this.hold(index);
      }
      return true;
    } finally {
      Atomics.sub(this.memory, HeaderWord.extending, 1);
    }
  }

  private giveAllBut(kept: Int32Array): void {
    for (let index = this.nextHeld(0); index < this.shardCount; index = this.nextHeld(index + 1)) {
      const isKept = (kept[index >>> 5] & (1 << (index & 31))) !== 0;
      if (!isKept) giveLock(this.memory, this.store.shardAt(index) + ShardWord.lock);
    }
    this.heldShards.set(kept);
  }

  unlock(): void {
    assert(this.lockDepth > 0, 'unlock follows lockAll or lockKeys');
    if (--this.lockDepth > 0) return;
    // Before the first lock is given back: who then sees a change of it sees that a transaction has ended.
    const changes = (this.lists.changes - this.changesBefore) | 0;
    if (changes > 1) Atomics.add(this.memory, HeaderWord.transactions, 1);
    if (this.store.locking) this.giveAllBut(NO_SHARDS);
    this.leaveStore();
  }

  /** A script of this thread has become slow while it holds locks, or has ended: see takeLock. */
  countSlowScripts(change: 1 | -1): void {
    Atomics.add(this.memory, HeaderWord.slowScripts, change);
  }

  /**
   * How many transactions have ended in this store, wrapping: calls of lockAll and lockKeys that were followed by two
   * or more changes. Equal before and after a walk over the shards: it saw each transaction in all its shards or in
   * none.
   */
  get transactions(): number {
    return Atomics.load(this.memory, HeaderWord.transactions);
  }

  /** Undoes every lockAll and lockKeys at once; false where there was none. */
  protected unlockNested(): boolean {
    if (this.lockDepth === 0) return false;
    this.lockDepth = 1;
    this.unlock();
    return true;
  }

  /** Whether there are locks to take. */
  private begin(): boolean {
    if (this.lockDepth++ > 0) return false;
    this.kept?.keep();
    this.enterStore();
    this.changesBefore = this.lists.changes;
    return this.store.locking;
  }

  /**
   * Always in the same order, so that threads never wait for each other in a circle; and where a thread extends the
   * locks that it holds, those who wait here give theirs back and begin anew.
   */
  private takeHeld(): void {
    let index = this.nextHeld(0);
    try {
      while (index < this.shardCount) {
        const lock = this.store.shardAt(index) + ShardWord.lock;
        const isTaken = takeLockOrGiveWay(this.memory, lock, this.yieldsToScripts);
        index = this.nextHeld(isTaken ? index + 1 : this.giveWay(index));
      }
    } catch (error) {
      for (; index < this.shardCount; index++) this.heldShards[index >>> 5] &= ~(1 << (index & 31));
      this.unlock();
      throw error;
    }
  }

  /** Gives back the locks of the shards before this one, and waits for the thread that extends its own. */
  private giveWay(index: number): number {
    for (let before = 0; before < index; before++) {
      if (this.isHeld(before)) giveLock(this.memory, this.store.shardAt(before) + ShardWord.lock);
    }
    for (let count = 1; count > 0; count = Atomics.load(this.memory, HeaderWord.extending)) {
      Atomics.wait(this.memory, HeaderWord.extending, count, 1);
    }
    return 0;
  }

  private hold(index: number): void {
    this.heldShards[index >>> 5] |= 1 << (index & 31);
  }

  private assertHeld(shard: number): void {
    assert(this.isHeld(this.store.shardIndexOf(shard)), 'inside lockKeys, only keys of the locked shards are opened');
  }

  /** The first shard that is held, from this one on; past the last where there is none. Most hold one of many. */
  private nextHeld(from: number): number {
    const { heldShards } = this;
    let word = from >>> 5;
    let bits = heldShards[word] & (-1 << (from & 31));
    while (bits === 0) {
      if (++word >= heldShards.length) return MAX_SHARDS;
      bits = heldShards[word];
    }
    return word * 32 + 31 - Math.clz32(bits & -bits);
  }

  private isHeld(index: number): boolean {
    return (this.heldShards[index >>> 5] & (1 << (index & 31))) !== 0;
  }
}

const NO_SHARDS = new Int32Array(MAX_SHARDS / 32);
