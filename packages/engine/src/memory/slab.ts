import { assert } from './assert.js';
import { assertFields } from './fields.js';
import { PAGE_WORDS, ShardWord, SLAB_HEADS } from './layout.js';
import { linkAt } from './link.js';
import type { Pages } from './pages.js';

/**
 * Records of all sizes, from hash overflow nodes to keys of 64 KiB, are cut from pages that hold one size each. A page
 * belongs to one shard, keeps its own list of freed records, and goes back to the common pool when the last record on
 * it is freed; so memory freed by one kind of key is used again by any other, and the footprint of a changing key set
 * stays flat. A shard links, for each size, the pages that still have room.
 *
 *   page word | what
 *   ----------|-----------------------------------------------------------
 *   0         | size class
 *   1         | records in use
 *   2         | first freed record on this page, 0 = none
 *   3         | first word never used yet (pages are filled from the front)
 *   4, 5      | previous and next page with room of this class and shard
 *   6         | pages in this run (records too large for a class), else 0
 *   8 …       | records
 */
const PAGE_HEADER_WORDS = 8;
const PageWord = { sizeClass: 0, used: 1, freed: 2, fresh: 3, previous: 4, next: 5, runPages: 6 } as const;
assertFields('the header of a page', PAGE_HEADER_WORDS, PageWord);

/** Up to 256 bytes sizes are 8 bytes apart; above that eight steps a doubling, at most 12 % unused. */
const FINE_LIMIT_WORDS = 64;
const SIZES: Int32Array = sizes();
const CLASS_OF_SIZE: Uint8Array = classes();
const LARGEST_CLASS_WORDS = SIZES[SIZES.length - 1];

function sizes(): Int32Array {
  const list: number[] = [];
  for (let size = 4; size <= FINE_LIMIT_WORDS; size += 2) list.push(size);
  for (let base = FINE_LIMIT_WORDS; base < 1024; base *= 2) {
    for (let step = 1; step <= 8; step++) {
      const size = base + (base / 8) * step;
      if (size <= (PAGE_WORDS - PAGE_HEADER_WORDS) / 2) list.push(size);
    }
  }
  return Int32Array.from(list);
}

function classes(): Uint8Array {
  const table = new Uint8Array(SIZES[SIZES.length - 1] + 1);
  let sizeClass = 0;
  for (let size = 0; size < table.length; size++) {
    if (size > SIZES[sizeClass]) sizeClass++;
    table[size] = sizeClass;
  }
  return table;
}

assert(SIZES.length <= SLAB_HEADS, 'every size class has a head in the shard');

export class Slab {
  readonly #memory: Int32Array;
  readonly #pages: Pages;

  constructor(memory: Int32Array, pages: Pages) {
    this.#memory = memory;
    this.#pages = pages;
  }

  /** An address of `words` words, contents undefined, or 0 when there is no memory. */
  take(shard: number, words: number, forNewKey: boolean): number {
    if (words > LARGEST_CLASS_WORDS) return this.#takeRun(shard, words, forNewKey);
    const memory = this.#memory;
    const sizeClass = CLASS_OF_SIZE[words];
    const head = shard + ShardWord.slabHeads + sizeClass;
    let page = linkAt(memory, head);
    if (page === 0) {
      page = this.#takePages(shard, 1, forNewKey);
      if (page === 0) return 0;
      memory[page + PageWord.sizeClass] = sizeClass;
      memory[page + PageWord.used] = 0;
      memory[page + PageWord.freed] = 0;
      memory[page + PageWord.fresh] = page + PAGE_HEADER_WORDS;
      memory[page + PageWord.runPages] = 0;
      this.#linkPage(head, page);
    }
    let record = linkAt(memory, page + PageWord.freed);
    if (record !== 0) {
      memory[page + PageWord.freed] = memory[record];
    } else {
      record = linkAt(memory, page + PageWord.fresh);
      memory[page + PageWord.fresh] = record + SIZES[sizeClass];
    }
    memory[page + PageWord.used]++;
    if (!this.#hasRoom(page, sizeClass)) this.#unlinkPage(head, page);
    return record;
  }

  give(shard: number, record: number): void {
    const memory = this.#memory;
    const page = record - (record % PAGE_WORDS);
    if (memory[page + PageWord.runPages] !== 0) {
      this.#pages.give(page, memory[page + PageWord.runPages]);
      return;
    }
    const sizeClass = memory[page + PageWord.sizeClass];
    const head = shard + ShardWord.slabHeads + sizeClass;
    if (!this.#hasRoom(page, sizeClass)) this.#linkPage(head, page);
    memory[record] = linkAt(memory, page + PageWord.freed);
    memory[page + PageWord.freed] = record;
    memory[page + PageWord.used]--;
    if (memory[page + PageWord.used] !== 0) return;
    // The last page with room is kept, so that a key coming and going does not take and give a page each time. But only
    // while there are many: other shards have no way to it, and a store of many shards and sizes would be full of them.
    const only = linkAt(memory, head) === page && memory[page + PageWord.next] === 0;
    if (only && this.#pages.arePlenty) return;
    this.#unlinkPage(head, page);
    this.#pages.give(page, 1);
  }

  /** The bytes a record of this many words takes up, rounding included. */
  static footprintBytes(words: number): number {
    if (words > LARGEST_CLASS_WORDS) return pagesOf(words) * PAGE_WORDS * 4;
    return SIZES[CLASS_OF_SIZE[words]] * 4;
  }

  #takeRun(shard: number, words: number, forNewKey: boolean): number {
    const count = pagesOf(words);
    const page = this.#takePages(shard, count, forNewKey);
    if (page === 0) return 0;
    this.#memory[page + PageWord.runPages] = count;
    return page + PAGE_HEADER_WORDS;
  }

  /** Where there are no pages, the empty ones that the shard has kept for other sizes are given back first. */
  #takePages(shard: number, count: number, forNewKey: boolean): number {
    const page = this.#pages.take(count, forNewKey);
    return page !== 0 || !this.#giveEmptyPages(shard) ? page : this.#pages.take(count, forNewKey);
  }

  #giveEmptyPages(shard: number): boolean {
    const memory = this.#memory;
    let found = false;
    for (let sizeClass = 0; sizeClass < SIZES.length; sizeClass++) {
      const head = shard + ShardWord.slabHeads + sizeClass;
      for (let page = linkAt(memory, head); page !== 0; ) {
        const next = linkAt(memory, page + PageWord.next);
        if (memory[page + PageWord.used] === 0) {
          this.#unlinkPage(head, page);
          this.#pages.give(page, 1);
          found = true;
        }
        page = next;
      }
    }
    return found;
  }

  #hasRoom(page: number, sizeClass: number): boolean {
    const memory = this.#memory;
    return (
      memory[page + PageWord.freed] !== 0 ||
      linkAt(memory, page + PageWord.fresh) + SIZES[sizeClass] <= page + PAGE_WORDS
    );
  }

  #linkPage(head: number, page: number): void {
    const memory = this.#memory;
    const first = linkAt(memory, head);
    memory[page + PageWord.previous] = 0;
    memory[page + PageWord.next] = first;
    if (first !== 0) memory[first + PageWord.previous] = page;
    memory[head] = page;
  }

  #unlinkPage(head: number, page: number): void {
    const memory = this.#memory;
    const previous = linkAt(memory, page + PageWord.previous);
    const next = linkAt(memory, page + PageWord.next);
    if (previous !== 0) memory[previous + PageWord.next] = next;
    else memory[head] = next;
    if (next !== 0) memory[next + PageWord.previous] = previous;
  }
}

/** The pages in the run of a record that is too large for a class. */
function pagesOf(words: number): number {
  return Math.ceil((words + PAGE_HEADER_WORDS) / PAGE_WORDS);
}
