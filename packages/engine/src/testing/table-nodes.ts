import { PAGE_WORDS, ShardWord } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import type { Store } from '../memory/store.js';

/**
 * The buckets and overflow nodes of a shard's table, read from memory as table.ts lays them out and not through it, so
 * that a check of the table does not trust the table.
 */
const BUCKET_WORDS = 16;
const BUCKET_SLOTS = 12;
const BUCKET_LINK = 15;
const OVERFLOW_WORDS = 6;
const OVERFLOW_SLOTS = 4;
const OVERFLOW_LINK = 5;
const BUCKETS_PER_PAGE = PAGE_WORDS / BUCKET_WORDS;
const BUCKETS_PER_DIRECTORY_PAGE = BUCKETS_PER_PAGE * PAGE_WORDS;

export interface TableNode {
  readonly address: number;
  readonly words: number;
  readonly isOverflow: boolean;
  readonly records: readonly number[];
}

export function* tableNodes(store: Store, shard: number): Generator<TableNode> {
  const { memory } = store;
  const directory = linkAt(memory, shard + ShardWord.directory);
  for (let index = 0; index < memory[shard + ShardWord.bucketCount]; index++) {
    const page = linkAt(memory, directory + Math.floor(index / BUCKETS_PER_PAGE));
    const bucket = page + (index % BUCKETS_PER_PAGE) * BUCKET_WORDS;
    yield nodeAt(memory, bucket, BUCKET_SLOTS, BUCKET_WORDS);
    for (let node = linkAt(memory, bucket + BUCKET_LINK); node !== 0; node = linkAt(memory, node + OVERFLOW_LINK)) {
      yield nodeAt(memory, node, OVERFLOW_SLOTS, OVERFLOW_WORDS);
    }
  }
}

function nodeAt(memory: Int32Array, address: number, slots: number, words: number): TableNode {
  const records = linksAt(memory, address, slots).filter((record) => record !== 0);
  return { address, words, isOverflow: words === OVERFLOW_WORDS, records };
}

function linksAt(memory: Int32Array, at: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => linkAt(memory, at + index));
}

/** The pages a shard's table stands on: its directory and its buckets. */
export function tablePages(store: Store, shard: number): number[] {
  const { memory } = store;
  const count = memory[shard + ShardWord.bucketCount];
  if (count === 0) return [];
  const directory = linkAt(memory, shard + ShardWord.directory);
  let directoryPages = 1;
  while (directoryPages * BUCKETS_PER_DIRECTORY_PAGE < count) directoryPages *= 2;
  return [
    ...Array.from({ length: directoryPages }, (_, index) => directory + index * PAGE_WORDS),
    ...linksAt(memory, directory, Math.ceil(count / BUCKETS_PER_PAGE)),
  ];
}
