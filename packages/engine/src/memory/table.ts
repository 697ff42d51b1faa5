import { assert } from './assert.js';
import type { ByteInput } from './byte-input.js';
import type { KeyHash } from './hash.js';
import { restOf, StemWord, stemOf } from './key-bytes.js';
import { PAGE_WORDS, ShardWord } from './layout.js';
import { linkAt } from './link.js';
import type { Pages } from './pages.js';
import { keyLengthOf } from './record.js';
import type { Slab } from './slab.js';

/**
 * A shard's hash table: linear hashing. It grows by one bucket at a time, splitting one old bucket in two, so there is
 * no moment at which a table is rebuilt and no pause however large it gets.
 *
 * A bucket is one cache line: twelve record addresses, a byte of hash (the tag) for each, and a link. Further records
 * go to overflow nodes of four. A look-up reads the line, compares all tags four at a time, and touches a record
 * only where the tag agrees.
 *
 *   bucket word | what                          overflow word | what
 *   ------------|----------------------------   --------------|----------------------------
 *   0–11        | record addresses, 0 = empty   0–3           | record addresses, 0 = empty
 *   12–14       | their tags, a byte each       4             | their tags
 *   15          | first overflow node           5             | next overflow node
 *
 * With n buckets, 2^level <= n < 2^(level+1): a key's bucket is the low level+1 bits of its hash, or the low level bits
 * where the wider number is not a bucket yet. Buckets lie in pages of 128, found through a directory.
 *
 * Buckets are visited by SCAN in the order of their bit-reversed numbers. A split divides a range of reversed hashes
 * into two that lie side by side, so a cursor (a reversed hash) stays meaningful while the table grows.
 */
const BUCKET_WORDS = 16;
const BUCKET_SLOTS = 12;
const BUCKET_LINK = 15;
const OVERFLOW_WORDS = 6;
const OVERFLOW_SLOTS = 4;
const OVERFLOW_LINK = 5;
const BUCKETS_PER_PAGE = PAGE_WORDS / BUCKET_WORDS;
/** A directory begins as one page of addresses of pages, and is moved to twice as many when it is full. */
const BUCKETS_PER_DIRECTORY_PAGE = PAGE_WORDS * BUCKETS_PER_PAGE;
/** 168 million keys in one shard. With more buckets their numbers and the tags would share bits of the hash. */
const MAX_BUCKETS = 2 ** 24;

/** Records a bucket on average, before the next split: 6 to 7.5 bytes a key, and one key in ten in an overflow node. */
const FILL = 10;

const BYTES_OF_ONE = 0x01010101;
const TOP_BITS = 0x80808080 | 0;

export class Table {
  private readonly memory: Int32Array;
  private readonly pages: Pages;
  private readonly slab: Slab;
  private readonly hash: KeyHash;
  private readonly spareNodes: number[] = [];

  constructor(memory: Int32Array, pages: Pages, slab: Slab, hash: KeyHash) {
    this.memory = memory;
    this.pages = pages;
    this.slab = slab;
    this.hash = hash;
  }

  /** The record of the key whose hash was just made, or 0. */
  find(shard: number, input: ByteInput, start: number, length: number): number {
    const memory = this.memory;
    if (memory[shard + ShardWord.bucketCount] === 0) return 0;
    const local = this.hash.local;
    const pattern = Math.imul(local >>> 24, BYTES_OF_ONE);
    let node = this.bucketOf(shard, local);
    let tags = node + BUCKET_SLOTS;
    let slots = BUCKET_SLOTS;
    for (;;) {
      for (let group = 0; group < slots; group += 4) {
        const difference = memory[tags + (group >>> 2)] ^ pattern;
        // A byte of the difference is zero where a tag agrees; the trick may mark one byte too many, never one too few.
        let candidates = (difference - BYTES_OF_ONE) & ~difference & TOP_BITS;
        while (candidates !== 0) {
          const lowest = candidates & -candidates;
          const record = linkAt(memory, node + group + ((31 - Math.clz32(lowest)) >>> 3));
          if (record !== 0 && this.matches(record, input, start, length)) return record;
          candidates ^= lowest;
        }
      }
      node = linkAt(memory, tags + (slots >>> 2));
      if (node === 0) return 0;
      tags = node + OVERFLOW_SLOTS;
      slots = OVERFLOW_SLOTS;
    }
  }

  /**
   * Reads the buckets of local hashes, ahead of their use: the processor waits for many at once. The result means
   * nothing.
   */
  touch(shard: number, hashes: Int32Array, count: number): number {
    const { memory } = this;
    if (memory[shard + ShardWord.bucketCount] === 0) return 0;
    let touched = 0;
    for (let index = 0; index < count; index++) touched ^= memory[this.bucketOf(shard, hashes[index]) + BUCKET_SLOTS];
    return touched;
  }

  /** The bucket of a local hash; 0 where the shard has none yet. */
  bucketFor(shard: number, local: number): number {
    return this.memory[shard + ShardWord.bucketCount] === 0 ? 0 : this.bucketOf(shard, local);
  }

  /** A record in a bucket itself whose tag agrees with a local hash; 0 where there is none. */
  likelyRecord(bucket: number, local: number): number {
    const { memory } = this;
    const pattern = Math.imul(local >>> 24, BYTES_OF_ONE);
    for (let group = 0; group < BUCKET_SLOTS; group += 4) {
      const difference = memory[bucket + BUCKET_SLOTS + (group >>> 2)] ^ pattern;
      const candidates = (difference - BYTES_OF_ONE) & ~difference & TOP_BITS;
      if (candidates !== 0) return linkAt(memory, bucket + group + ((31 - Math.clz32(candidates & -candidates)) >>> 3));
    }
    return 0;
  }

  private matches(record: number, input: ByteInput, start: number, length: number): boolean {
    const memory = this.memory;
    if (keyLengthOf(memory, record) !== length) return false;
    const view = input.view;
    const stem = stemOf(memory, record);
    let from = start;
    if (stem !== 0) {
      const end = stem + StemWord.bytes + memory[stem + StemWord.words];
      for (let word = stem + StemWord.bytes; word < end; word++, from += 4)
        if (memory[word] !== view.getInt32(from, true)) return false;
    }
    let at = restOf(record, stem);
    for (const whole = start + (length & ~3); from < whole; from += 4, at++) {
      if (memory[at] !== view.getInt32(from, true)) return false;
    }
    const rest = length & 3;
    return rest === 0 || memory[at] === (view.getInt32(from, true) & ((1 << (rest << 3)) - 1));
  }

  /** Makes room for one more record; false when there is no memory for that. Called before the record is made. */
  prepareInsert(shard: number): boolean {
    const memory = this.memory;
    const count = memory[shard + ShardWord.bucketCount];
    if (count === 0) return this.createFirstBucket(shard);
    if (memory[shard + ShardWord.records] >= count * FILL && count < MAX_BUCKETS) this.split(shard);
    return true;
  }

  /**
   * Makes the table of a shard without records as large as this many will need, so that none is moved by a split; or
   * as large as memory allows.
   */
  reserve(shard: number, records: number): void {
    const { memory } = this;
    if (memory[shard + ShardWord.records] !== 0 || records <= FILL || !this.prepareInsert(shard)) return;
    const wanted = Math.min(Math.ceil(records / FILL), MAX_BUCKETS);
    for (let count = memory[shard + ShardWord.bucketCount]; count < wanted; count++) {
      this.split(shard);
      if (memory[shard + ShardWord.bucketCount] === count) return;
    }
  }

  /** Adds a record whose hash was just made; false when an overflow node was needed and there is no memory. */
  insert(shard: number, record: number): boolean {
    const node = this.bucketOf(shard, this.hash.local);
    if (!this.place(shard, node, record, this.hash.local >>> 24)) return false;
    this.memory[shard + ShardWord.records]++;
    return true;
  }

  remove(shard: number, record: number): void {
    const memory = this.memory;
    let node = this.bucketOf(shard, this.hash.localOf(memory, record));
    let slots = BUCKET_SLOTS;
    let before = 0;
    for (;;) {
      for (let slot = 0; slot < slots; slot++) {
        if (linkAt(memory, node + slot) !== record) continue;
        memory[node + slot] = 0;
        this.setTag(node + slots, slot, 0);
        memory[shard + ShardWord.records]--;
        if (slots === OVERFLOW_SLOTS && this.isEmptyNode(node)) {
          memory[before] = memory[node + OVERFLOW_LINK];
          this.slab.give(shard, node);
        }
        return;
      }
      before = slots === BUCKET_SLOTS ? node + BUCKET_LINK : node + OVERFLOW_LINK;
      node = linkAt(memory, before);
      assert(node !== 0, 'a record is in the bucket of its hash');
      slots = OVERFLOW_SLOTS;
    }
  }

  /**
   * Visits the bucket at a reversed hash and returns the reversed hash where the next one starts, or 2^32 at the end.
   * Records may be removed by the visitor.
   */
  visitBucket(shard: number, reversed: number, visit: (record: number) => void): number {
    const memory = this.memory;
    const count = memory[shard + ShardWord.bucketCount];
    if (count === 0) return 2 ** 32;
    const wide = memory[shard + ShardWord.wideMask];
    const local = reverseBits(reversed);
    let index = local & wide;
    let bits = 32 - Math.clz32(wide);
    // A bucket whose wider twin does not exist yet covers both.
    if (index >= count || (index | ((wide >>> 1) + 1)) >= count) {
      index &= wide >>> 1;
      bits--;
    }
    for (const record of this.recordsOf(this.bucketAt(shard, index))) visit(record);
    return (reverseBits(index) >>> 0) + 2 ** (32 - bits);
  }

  private recordsOf(bucket: number): number[] {
    const memory = this.memory;
    const records: number[] = [];
    for (let node = bucket, slots = BUCKET_SLOTS; node !== 0; ) {
      for (let slot = 0; slot < slots; slot++) if (memory[node + slot] !== 0) records.push(linkAt(memory, node + slot));
      node = linkAt(memory, node + (slots === BUCKET_SLOTS ? BUCKET_LINK : OVERFLOW_LINK));
      slots = OVERFLOW_SLOTS;
    }
    return records;
  }

  private bucketOf(shard: number, local: number): number {
    const memory = this.memory;
    const wide = memory[shard + ShardWord.wideMask];
    let index = local & wide;
    if (index >= memory[shard + ShardWord.bucketCount]) index &= wide >>> 1;
    return this.bucketAt(shard, index);
  }

  private bucketAt(shard: number, index: number): number {
    const memory = this.memory;
    const page = linkAt(memory, linkAt(memory, shard + ShardWord.directory) + (index >>> 7));
    return page + ((index & (BUCKETS_PER_PAGE - 1)) << 4);
  }

  private place(shard: number, bucket: number, record: number, tag: number): boolean {
    const memory = this.memory;
    let node = bucket;
    let slots = BUCKET_SLOTS;
    for (;;) {
      for (let slot = 0; slot < slots; slot++) {
        if (memory[node + slot] === 0) {
          memory[node + slot] = record;
          this.setTag(node + slots, slot, tag);
          return true;
        }
      }
      const link = node + (slots === BUCKET_SLOTS ? BUCKET_LINK : OVERFLOW_LINK);
      if (memory[link] === 0) {
        const fresh = this.spareNodes.pop() ?? this.slab.take(shard, OVERFLOW_WORDS, true);
        if (fresh === 0) return false;
        memory.fill(0, fresh, fresh + OVERFLOW_WORDS);
        memory[link] = fresh;
      }
      node = linkAt(memory, link);
      slots = OVERFLOW_SLOTS;
    }
  }

  private setTag(tags: number, slot: number, tag: number): void {
    const shift = (slot & 3) << 3;
    const at = tags + (slot >>> 2);
    this.memory[at] = (this.memory[at] & ~(0xff << shift)) | (tag << shift);
  }

  private isEmptyNode(node: number): boolean {
    for (let slot = 0; slot < OVERFLOW_SLOTS; slot++) if (this.memory[node + slot] !== 0) return false;
    return true;
  }

  private createFirstBucket(shard: number): boolean {
    const memory = this.memory;
    const directory = this.pages.take(1, true);
    if (directory === 0) return false;
    const page = this.pages.take(1, true);
    if (page === 0) {
      this.pages.give(directory, 1);
      return false;
    }
    memory[directory] = page;
    memory.fill(0, page, page + BUCKET_WORDS);
    memory[shard + ShardWord.directory] = directory;
    memory[shard + ShardWord.wideMask] = 1;
    memory[shard + ShardWord.bucketCount] = 1;
    return true;
  }

  /** Adds one bucket. Where there is no page for it, the table just stays as it is: fuller, and right. */
  private split(shard: number): void {
    const memory = this.memory;
    const added = memory[shard + ShardWord.bucketCount];
    if ((added & (BUCKETS_PER_PAGE - 1)) === 0) {
      const page = this.pages.take(1, true);
      if (page === 0) return;
      if (isFullDirectory(added) && !this.growDirectory(shard, added)) {
        this.pages.give(page, 1);
        return;
      }
      memory[linkAt(memory, shard + ShardWord.directory) + (added >>> 7)] = page;
    }
    if (added > memory[shard + ShardWord.wideMask])
      memory[shard + ShardWord.wideMask] = memory[shard + ShardWord.wideMask] * 2 + 1;
    const source = this.bucketAt(shard, added & (memory[shard + ShardWord.wideMask] >>> 1));
    const target = this.bucketAt(shard, added);
    const moved = this.recordsOf(source);
    if (moved.length > memory[shard + ShardWord.longestBucket]) memory[shard + ShardWord.longestBucket] = moved.length;
    for (let node = linkAt(memory, source + BUCKET_LINK); node !== 0; node = linkAt(memory, node + OVERFLOW_LINK))
      this.spareNodes.push(node);
    memory.fill(0, source, source + BUCKET_WORDS);
    memory.fill(0, target, target + BUCKET_WORDS);
    memory[shard + ShardWord.bucketCount] = added + 1;
    // The overflow nodes of the old bucket are more than enough for the two halves, so nothing here can run out.
    for (const record of moved) {
      const local = this.hash.localOf(memory, record);
      const placed = this.place(shard, this.bucketOf(shard, local), record, local >>> 24);
      assert(placed, 'a split needs no memory');
    }
    for (const node of this.spareNodes) this.slab.give(shard, node);
    this.spareNodes.length = 0;
  }

  private growDirectory(shard: number, bucketCount: number): boolean {
    const memory = this.memory;
    const count = bucketCount / BUCKETS_PER_DIRECTORY_PAGE;
    const larger = this.pages.take(count * 2, true);
    if (larger === 0) return false;
    const directory = linkAt(memory, shard + ShardWord.directory);
    memory.copyWithin(larger, directory, directory + count * PAGE_WORDS);
    memory[shard + ShardWord.directory] = larger;
    this.pages.give(directory, count);
    return true;
  }
}

/** A directory has 1, 2, 4, … pages, so it is full at these numbers of buckets and at no others. */
function isFullDirectory(bucketCount: number): boolean {
  return bucketCount >= BUCKETS_PER_DIRECTORY_PAGE && (bucketCount & (bucketCount - 1)) === 0;
}

function reverseBits(value: number): number {
  let bits = value;
  bits = ((bits >>> 1) & 0x55555555) | ((bits & 0x55555555) << 1);
  bits = ((bits >>> 2) & 0x33333333) | ((bits & 0x33333333) << 2);
  bits = ((bits >>> 4) & 0x0f0f0f0f) | ((bits & 0x0f0f0f0f) << 4);
  bits = ((bits >>> 8) & 0x00ff00ff) | ((bits & 0x00ff00ff) << 8);
  return (bits >>> 16) | (bits << 16);
}
