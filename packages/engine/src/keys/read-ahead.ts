import type { ByteInput } from '../memory/byte-input.js';
import { HeaderWord, PAGE_BYTES } from '../memory/layout.js';
import { keyWords } from '../memory/record.js';
import type { Store } from '../memory/store.js';

/** Of a key's bytes these are read: with the rest of a record they lie in two cache lines. */
const READ_KEY_BYTES = 16;

/**
 * Keys that are about to be opened. Their hashes are made, then all their buckets are read, then all their records, and
 * only then is the first of them opened: the processor waits for the memory of many keys at once, not of one after the
 * other. Opening such a key takes its hash from here.
 *
 * Nothing is decided by these words: the store may change before a key is opened, by other threads too.
 */
export class ReadAhead {
  static readonly MAXIMUM_KEYS = 16;
  /** A smaller store mostly lies in the processor's caches: there the waits are shorter than this work. */
  static readonly USEFUL_FROM_BYTES = 24 * 1024 * 1024;

  usefulFromBytes = ReadAhead.USEFUL_FROM_BYTES;
  private readonly store: Store;
  private count = 0;
  /** The key that is opened next, by its number. */
  private next = 0;
  private readonly inputs: (ByteInput | undefined)[] = new Array(ReadAhead.MAXIMUM_KEYS).fill(undefined);
  private readonly starts = new Int32Array(ReadAhead.MAXIMUM_KEYS);
  private readonly lengths = new Int32Array(ReadAhead.MAXIMUM_KEYS);
  private readonly sharedHashes = new Int32Array(ReadAhead.MAXIMUM_KEYS);
  private readonly localHashes = new Int32Array(ReadAhead.MAXIMUM_KEYS);
  private readonly shards = new Uint32Array(ReadAhead.MAXIMUM_KEYS);
  private readonly buckets = new Uint32Array(ReadAhead.MAXIMUM_KEYS);
  /** What was read, so that it is read: it means nothing. */
  private readonly words = new Int32Array(1);

  constructor(store: Store) {
    this.store = store;
  }

  /** Whether the store is so large that the memory of keys is waited for. */
  get isUseful(): boolean {
    const { memory } = this.store;
    return (memory[HeaderWord.pagesUsed] - memory[HeaderWord.firstPage]) * PAGE_BYTES >= this.usefulFromBytes;
  }

  /** Forgets all keys: the bytes of their input may change. */
  clear(): void {
    this.count = 0;
  }

  /** One more key. Returns its number. */
  add(input: ByteInput, start: number, length: number): number {
    const { store, count } = this;
    if (this.inputs[count] !== input) this.inputs[count] = input;
    this.starts[count] = start;
    this.lengths[count] = length;
    this.shards[count] = store.shardOf(input, start, length);
    this.sharedHashes[count] = store.hash.shared;
    this.localHashes[count] = store.hash.local;
    this.count = count + 1;
    return count;
  }

  /** Reads the buckets of all keys, then the records that are most likely theirs. */
  read(): void {
    const { count, shards, localHashes, buckets } = this;
    const { table, memory } = this.store;
    if (count < 2) return;
    let read = 0;
    for (let index = 0; index < count; index++) {
      const bucket = table.bucketFor(shards[index], localHashes[index]);
      buckets[index] = bucket;
      read ^= memory[bucket];
    }
    for (let index = 0; index < count; index++) {
      const record = table.likelyRecord(buckets[index], localHashes[index]);
      read ^= memory[record] ^ memory[record + keyWords(Math.min(this.lengths[index], READ_KEY_BYTES)) - 1];
    }
    this.words[0] = read;
  }

  /** The key with this number is opened next. */
  expect(number: number): void {
    this.next = number;
  }

  /** The shard of the expected key, whose hash is then the store's; 0 where these bytes are not that key. */
  shardOf(input: ByteInput, start: number, length: number): number {
    const { next } = this;
    if (next < 0 || next >= this.count || this.starts[next] !== start || this.lengths[next] !== length) return 0;
    if (this.inputs[next] !== input) return 0;
    const { hash } = this.store;
    hash.shared = this.sharedHashes[next];
    hash.local = this.localHashes[next];
    return this.shards[next];
  }
}
