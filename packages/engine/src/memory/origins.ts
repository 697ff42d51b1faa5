import {
  HeaderWord,
  MAX_ORIGINS,
  MAX_ORIGINS_OF_REPLICA,
  MAX_ORIGINS_UNHEARD,
  ORIGIN_ID_BYTES,
  ORIGIN_ID_WORDS,
  ORIGIN_SHARD_WORDS,
  OriginShardNumber,
  OriginShardWord,
  OriginWord,
  OWN_ORIGIN,
  REPLICA_ID_BYTES,
} from './layout.js';
import { giveLock, takeLock } from './lock.js';
import type { Store } from './store.js';

/**
 * Origins by index. An origin is one incarnation of one replica: 16 bytes of replica id, 16 bytes of incarnation.
 *
 * There is room for MAX_ORIGINS, and for MAX_ORIGINS_OF_REPLICA of one replica. A new one beyond that takes the slot of
 * the oldest that holds nothing: no component, no reset of its generations, no note for the disk. Its watermark goes
 * too: if a peer should still hold something of it, that comes again. A caller that keeps an index keeps its
 * `orderOf` beside it, which is another one when the slot is another origin's.
 *
 * Only the thread that merges adds origins and components of them; all others only drop components. At a start several
 * threads restore, and each holds an origin while it adds components of it.
 */
export class Origins {
  private readonly store: Store;
  private readonly indexes = new Map<string, number>();
  /** Indexes below this are in the map, as of this many reuses of slots. */
  private mapped = 0;
  private reuses = 0;
  private own: Uint8Array | undefined = undefined;
  /** The one that was asked for last: of a thousand batches nearly all are of the same few origins. */
  private readonly lastId = new Uint8Array(ORIGIN_ID_BYTES);
  private lastIndex = -1;
  /** Why the last origin was not added, for the operator. */
  refusal = '';
  unheardLimit: number = MAX_ORIGINS_UNHEARD;

  constructor(store: Store) {
    this.store = store;
  }

  get count(): number {
    return Atomics.load(this.store.memory, HeaderWord.originCount);
  }

  /** Changes when any index becomes another origin's. */
  get reuseCount(): number {
    return Atomics.load(this.store.memory, HeaderWord.originReuses);
  }

  /** Which origin an index is, counted from the first; 0 while that changes. */
  orderOf(index: number): number {
    return Atomics.load(this.store.memory, this.store.originSlotAt(index) + OriginWord.order);
  }

  /** Keeps the slot of an origin that is in use, though nothing of it may be in the store yet. */
  hold(index: number): void {
    Atomics.add(this.store.memory, this.store.originSlotAt(index) + OriginWord.references, 1);
  }

  release(index: number): void {
    Atomics.sub(this.store.memory, this.store.originSlotAt(index) + OriginWord.references, 1);
  }

  /** This node's own id, which never changes while the store exists. Not to be written to. */
  get ownId(): Uint8Array {
    this.own ??= this.idOf(OWN_ORIGIN);
    return this.own;
  }

  idOf(index: number): Uint8Array {
    const start = (this.store.regions.originIds + index * ORIGIN_ID_WORDS) * 4;
    return Uint8Array.from(this.store.fixedBytes.subarray(start, start + ORIGIN_ID_BYTES));
  }

  /** The index of an origin this store knows, or -1. */
  find(id: Uint8Array): number {
    if (this.reuses !== this.reuseCount) this.forget();
    if (this.lastIndex !== -1 && this.isLast(id)) return this.lastIndex;
    const name = nameOf(id);
    let index = this.indexes.get(name);
    if (index === undefined) {
      for (const count = this.count; this.mapped < count; this.mapped++)
        this.indexes.set(nameOf(this.idOf(this.mapped)), this.mapped);
      index = this.indexes.get(name) ?? -1;
    }
    if (index !== -1) {
      this.lastId.set(id);
      this.lastIndex = index;
    }
    return index;
  }

  private forget(): void {
    this.reuses = this.reuseCount;
    this.indexes.clear();
    this.mapped = 0;
    this.lastIndex = -1;
  }

  private isLast(id: Uint8Array): boolean {
    if (id.length !== ORIGIN_ID_BYTES) return false;
    for (let at = 0; at < ORIGIN_ID_BYTES; at++) if (id[at] !== this.lastId[at]) return false;
    return true;
  }

  /** The index of an origin, added if new; -1 when there are too many, see `refusal`. */
  intern(id: Uint8Array): number {
    const known = this.find(id);
    return known === -1 ? this.add(id, false, false) : known;
  }

  /** The same, and holds it: no other thread that restores can reuse its slot in between. */
  internHeld(id: Uint8Array): number {
    return this.add(id, false, true);
  }

  /** The same for one that only a reset names. */
  internNamedHeld(id: Uint8Array): number {
    return this.add(id, true, true);
  }

  private add(id: Uint8Array, isNamed: boolean, isHeld: boolean): number {
    if (id.length !== ORIGIN_ID_BYTES)
      throw new RangeError(`an origin id has ${ORIGIN_ID_BYTES} bytes, not ${id.length}`);
    const { memory, isShared } = this.store;
    if (isShared) takeLock(memory, HeaderWord.originLock);
    let index = this.find(id);
    if (index === -1) {
      index = this.chooseSlot(id, isNamed);
      if (index !== -1) this.fill(index, id);
    }
    if (isHeld && index !== -1) this.hold(index);
    if (isShared) giveLock(memory, HeaderWord.originLock);
    return index;
  }

  /** A slot for a new origin, free or of one that holds nothing; -1 where there is none. */
  private chooseSlot(id: Uint8Array, isNamed: boolean): number {
    const { count } = this;
    const byReplica = new Map<string, number[]>();
    for (let index = 0; index < count; index++) {
      const replica = replicaOf(this.idOf(index));
      byReplica.set(replica, [...(byReplica.get(replica) ?? []), index]);
    }
    const own = byReplica.get(replicaOf(id)) ?? [];
    if (isNamed && this.countUnheard() >= this.unheardLimit)
      return this.refuse(`${this.unheardLimit} origins are known only by resets of their counts, and no more may be`);
    if (own.length >= MAX_ORIGINS_OF_REPLICA) {
      const oldest = this.oldestEmpty(own);
      if (oldest !== -1) return oldest;
      return this.refuse(
        `it has come back as ${own.length} incarnations whose counts are still held, and no more may be: ` +
          'start it with --data, so that it comes back as the same one; counts with an expiry make room when they ' +
          'are over',
      );
    }
    if (count < MAX_ORIGINS) return count;
    // The replica with the most makes room: one that has a single slot keeps it.
    for (const indexes of [...byReplica.values()].sort((one, other) => other.length - one.length)) {
      const oldest = this.oldestEmpty(indexes);
      if (oldest !== -1) return oldest;
    }
    return this.refuse(`counts of ${MAX_ORIGINS} incarnations are held, and there is no room for another`);
  }

  private refuse(reason: string): number {
    this.refusal = reason;
    return -1;
  }

  private oldestEmpty(indexes: readonly number[]): number {
    let oldest = -1;
    for (const index of indexes) {
      if (index === OWN_ORIGIN || (oldest !== -1 && this.orderOf(index) > this.orderOf(oldest))) continue;
      if (this.isEmpty(index)) oldest = index;
    }
    return oldest;
  }

  /**
   * Whether a store holds nothing of an origin. References are read last: another thread that drops the last component
   * of a list has made a note of it before.
   */
  private isEmpty(index: number): boolean {
    const { memory, shardCount } = this.store;
    for (let shard = 0; shard < shardCount; shard++) {
      const state = this.store.originShardAt(index, this.store.shardAt(shard));
      if (Atomics.load(memory, state + OriginShardWord.head) !== 0) return false;
    }
    return Atomics.load(memory, this.store.originSlotAt(index) + OriginWord.references) === 0;
  }

  /** Origins of which no change has come. */
  private countUnheard(): number {
    const { numbers, shardCount, memory } = this.store;
    let unheard = 0;
    for (let index = OWN_ORIGIN + 1; index < this.count; index++) {
      let isHeard = false;
      for (let shard = 0; shard < shardCount && !isHeard; shard++) {
        const state = this.store.originShardAt(index, this.store.shardAt(shard));
        isHeard = numbers[(state >>> 1) + OriginShardNumber.seen] !== 0 || memory[state + OriginShardWord.head] !== 0;
      }
      if (!isHeard) unheard++;
    }
    return unheard;
  }

  /** Puts an origin into a slot, of which nothing stays. */
  private fill(index: number, id: Uint8Array): void {
    const { memory, fixedBytes, regions, shardCount } = this.store;
    const slot = this.store.originSlotAt(index);
    const isReuse = index < this.count;
    Atomics.store(memory, slot + OriginWord.order, 0);
    if (isReuse) {
      for (let shard = 0; shard < shardCount; shard++) {
        const state = this.store.originShardAt(index, this.store.shardAt(shard));
        memory.fill(0, state, state + ORIGIN_SHARD_WORDS);
      }
    }
    fixedBytes.set(id, (regions.originIds + index * ORIGIN_ID_WORDS) * 4);
    Atomics.store(memory, slot + OriginWord.order, ++memory[HeaderWord.originOrder]);
    if (isReuse) {
      Atomics.add(memory, HeaderWord.originReuses, 1);
      this.forget();
    } else {
      Atomics.store(memory, HeaderWord.originCount, index + 1);
    }
  }
}

function nameOf(id: Uint8Array): string {
  return Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('latin1');
}

function replicaOf(id: Uint8Array): string {
  return nameOf(id.subarray(0, REPLICA_ID_BYTES));
}
