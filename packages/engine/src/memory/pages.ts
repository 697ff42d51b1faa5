import { assert } from './assert.js';
import { HeaderWord, PAGE_WORDS } from './layout.js';
import { giveLock, takeLock } from './lock.js';

/**
 * Pages are handed out from a bitmap, one at a time or in runs (a key longer than half a page has a run of its own).
 * A hint makes the common search one word long. Shards take pages rarely, one for a hundred keys, so one lock for all
 * of them is not felt.
 *
 * A part of the pages is kept back for keys that exist: one of them may need a little more memory for its
 * first decrement or its expiry, and must get it when new keys are already refused.
 */
const RESERVED_FRACTION = 64;
const RESERVED_MINIMUM_PAGES = 8;

export class Pages {
  readonly #memory: Int32Array;
  readonly #bitmap: number;
  #locking: boolean;
  #keptBack: { readonly reserved: number; readonly spare: number } | undefined = undefined;

  constructor(memory: Int32Array, bitmap: number, locking: boolean) {
    this.#memory = memory;
    this.#bitmap = bitmap;
    this.#locking = locking;
  }

  share(locking: boolean): void {
    this.#locking = locking;
  }

  format(firstPage: number, pageCount: number, sparePages: number): void {
    const memory = this.#memory;
    memory[HeaderWord.firstPage] = firstPage;
    memory[HeaderWord.pageCount] = pageCount;
    memory[HeaderWord.pageHint] = firstPage >>> 5;
    memory[HeaderWord.pagesUsed] = firstPage;
    const ordinary = pageCount - sparePages - firstPage;
    memory[HeaderWord.pagesReserved] = Math.max(RESERVED_MINIMUM_PAGES, Math.floor(ordinary / RESERVED_FRACTION));
    memory[HeaderWord.pagesSpare] = sparePages;
    memory.fill(-1, this.#bitmap, this.#bitmap + (firstPage >>> 5));
    for (let page = firstPage & ~31; page < firstPage; page++) this.#mark(page, true);
    for (let page = pageCount; page < Math.ceil(pageCount / 32) * 32; page++) this.#mark(page, true);
  }

  /** While a disk is restored no page is kept back: what it holds had room once, and may lie less densely now. */
  giveAll(): void {
    const memory = this.#memory;
    this.#keptBack ??= { reserved: memory[HeaderWord.pagesReserved], spare: memory[HeaderWord.pagesSpare] };
    memory[HeaderWord.pagesReserved] = 0;
    memory[HeaderWord.pagesSpare] = 0;
  }

  /** It is restored. */
  keepBack(): void {
    if (this.#keptBack === undefined) return;
    this.#memory[HeaderWord.pagesReserved] = this.#keptBack.reserved;
    this.#memory[HeaderWord.pagesSpare] = this.#keptBack.spare;
    this.#keptBack = undefined;
  }

  /** The address of `count` adjoining pages, or 0. With `forNewKey` the reserve is left alone. */
  take(count: number, forNewKey: boolean): number {
    const memory = this.#memory;
    if (this.#locking) takeLock(memory, HeaderWord.pageLock);
    const keptBack = memory[HeaderWord.pagesSpare] + (forNewKey ? memory[HeaderWord.pagesReserved] : 0);
    const free = memory[HeaderWord.pageCount] - memory[HeaderWord.pagesUsed] - keptBack;
    let page = 0;
    if (free >= count) page = count === 1 ? this.#findOne() : this.#findRun(count);
    if (page !== 0) {
      for (let taken = page; taken < page + count; taken++) this.#mark(taken, true);
      memory[HeaderWord.pagesUsed] += count;
    }
    if (this.#locking) giveLock(memory, HeaderWord.pageLock);
    return page * PAGE_WORDS;
  }

  give(address: number, count: number): void {
    const memory = this.#memory;
    if (this.#locking) takeLock(memory, HeaderWord.pageLock);
    const page = address / PAGE_WORDS;
    for (let given = page; given < page + count; given++) this.#mark(given, false);
    memory[HeaderWord.pagesUsed] -= count;
    if (page >>> 5 < memory[HeaderWord.pageHint]) memory[HeaderWord.pageHint] = page >>> 5;
    if (this.#locking) giveLock(memory, HeaderWord.pageLock);
  }

  /** More than half are free. */
  get arePlenty(): boolean {
    return this.#memory[HeaderWord.pagesUsed] * 2 < this.#memory[HeaderWord.pageCount];
  }

  #mark(page: number, taken: boolean): void {
    const at = this.#bitmap + (page >>> 5);
    const bit = 1 << (page & 31);
    assert(((this.#memory[at] & bit) !== 0) !== taken, 'a page is taken once and given back once');
    this.#memory[at] ^= bit;
  }

  /** Everything below the hint is taken, so the lowest free page is used first and the store stays dense. */
  #findOne(): number {
    const memory = this.#memory;
    const words = Math.ceil(memory[HeaderWord.pageCount] / 32);
    for (let word = memory[HeaderWord.pageHint]; word < words; word++) {
      const free = ~memory[this.#bitmap + word];
      if (free !== 0) {
        memory[HeaderWord.pageHint] = word;
        return word * 32 + (31 - Math.clz32(free & -free));
      }
    }
    return 0;
  }

  #findRun(count: number): number {
    const memory = this.#memory;
    let run = 0;
    for (let page = memory[HeaderWord.pageHint] * 32; page < memory[HeaderWord.pageCount]; page++) {
      if ((page & 31) === 0 && memory[this.#bitmap + (page >>> 5)] === -1) {
        run = 0;
        page += 31;
        continue;
      }
      const taken = (memory[this.#bitmap + (page >>> 5)] & (1 << (page & 31))) !== 0;
      run = taken ? 0 : run + 1;
      if (run === count) return page - count + 1;
    }
    return 0;
  }
}
