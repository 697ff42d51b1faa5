import { HeaderWord, MAX_ORIGINS, ORIGIN_ID_BYTES, ORIGIN_ID_WORDS, OWN_ORIGIN } from './layout.js';
import { giveLock, takeLock } from './lock.js';
import type { Store } from './store.js';

/** Origins by index. An origin is one incarnation of one replica: 16 bytes of replica id, 16 bytes of incarnation. */
export class Origins {
  private readonly store: Store;
  private readonly indexes = new Map<string, number>();
  private own: Uint8Array | undefined = undefined;
  /** The one that was asked for last: of a thousand batches nearly all are of the same few origins. */
  private readonly lastId = new Uint8Array(ORIGIN_ID_BYTES);
  private lastIndex = -1;

  constructor(store: Store) {
    this.store = store;
  }

  get count(): number {
    return Atomics.load(this.store.memory, HeaderWord.originCount);
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
    if (this.lastIndex !== -1 && this.isLast(id)) return this.lastIndex;
    const name = nameOf(id);
    let index = this.indexes.get(name);
    if (index === undefined) {
      const count = this.count;
      for (let next = this.indexes.size; next < count; next++) this.indexes.set(nameOf(this.idOf(next)), next);
      index = this.indexes.get(name) ?? -1;
    }
    if (index !== -1) {
      this.lastId.set(id);
      this.lastIndex = index;
    }
    return index;
  }

  private isLast(id: Uint8Array): boolean {
    if (id.length !== ORIGIN_ID_BYTES) return false;
    for (let at = 0; at < ORIGIN_ID_BYTES; at++) if (id[at] !== this.lastId[at]) return false;
    return true;
  }

  /** The index of an origin, added if new; -1 when there are too many. */
  intern(id: Uint8Array): number {
    if (id.length !== ORIGIN_ID_BYTES)
      throw new RangeError(`an origin id has ${ORIGIN_ID_BYTES} bytes, not ${id.length}`);
    const known = this.find(id);
    if (known !== -1) return known;
    const { memory, fixedBytes: bytes, regions, locking } = this.store;
    if (locking) takeLock(memory, HeaderWord.originLock);
    let index = this.find(id);
    if (index === -1 && memory[HeaderWord.originCount] < MAX_ORIGINS) {
      index = memory[HeaderWord.originCount];
      bytes.set(id, (regions.originIds + index * ORIGIN_ID_WORDS) * 4);
      Atomics.store(memory, HeaderWord.originCount, index + 1);
      this.indexes.set(nameOf(id), index);
    }
    if (locking) giveLock(memory, HeaderWord.originLock);
    return index;
  }
}

function nameOf(id: Uint8Array): string {
  return Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString('latin1');
}
