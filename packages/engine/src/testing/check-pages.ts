import type { Engine } from '../keys/engine.js';
import { HeaderWord, PAGE_WORDS, ShardWord } from '../memory/layout.js';
import { linkAt } from '../memory/link.js';
import { Slab } from '../memory/slab.js';
import { tablePages } from './table-nodes.js';

/** Something that was reached by walking the store and was cut from a page of the slab. */
export interface Reached {
  readonly shard: number;
  readonly address: number;
  readonly words: number;
}

/** Slab page header, as slab.ts lays it out. */
const Page = { sizeClass: 0, used: 1, freed: 2, fresh: 3, previous: 4, next: 5, runPages: 6 } as const;
const PAGE_HEADER_WORDS = 8;
const SIZE_CLASSES = ShardWord.wheelBitmaps - ShardWord.slabHeads;

/** Every page in use is used by exactly one thing that can be reached, and its own counts say so. */
export function checkPages(engine: Engine, reached: readonly Reached[], problems: string[]): void {
  const { memory } = engine.store;
  const pages = new Map<number, string>();
  const claim = (page: number, by: string) => {
    if (pages.has(page)) problems.push(`page ${page} belongs to ${pages.get(page)} and to ${by}`);
    pages.set(page, by);
  };
  const perPage = new Map<number, Reached[]>();
  const addresses = new Set<number>();
  for (const thing of reached) {
    if (addresses.has(thing.address)) problems.push(`address ${thing.address} is used twice`);
    addresses.add(thing.address);
    const page = thing.address - (thing.address % PAGE_WORDS);
    const others = perPage.get(page);
    if (others === undefined) perPage.set(page, [thing]);
    else others.push(thing);
  }
  const roomy = linkedPages(engine, problems);
  for (const [page, things] of perPage) {
    const run = memory[page + Page.runPages];
    for (let part = 0; part < Math.max(run, 1); part++) claim(page + part * PAGE_WORDS, `the slab at ${page}`);
    if (run !== 0) {
      if (things.length !== 1 || things[0].words + PAGE_HEADER_WORDS > run * PAGE_WORDS)
        problems.push(`the run at ${page} holds ${things.length} records`);
      continue;
    }
    checkSlabPage(memory, page, things, roomy.get(page), problems);
  }
  for (const [page, shard] of roomy) {
    if (perPage.has(page)) continue;
    claim(page, `an empty slab page of shard ${shard}`);
    if (memory[page + Page.used] !== 0) problems.push(`page ${page} has ${memory[page + Page.used]} lost records`);
  }
  for (let index = 0; index < engine.shardCount; index++) {
    for (const page of tablePages(engine.store, engine.store.shardAt(index)))
      claim(page, `the table of shard ${index}`);
  }
  checkBitmap(engine, pages, problems);
}

function checkSlabPage(
  memory: Int32Array,
  page: number,
  things: readonly Reached[],
  linkedBy: number | undefined,
  problems: string[],
): void {
  const size = Slab.footprintBytes(things[0].words) / 4;
  for (const thing of things) {
    if (Slab.footprintBytes(thing.words) / 4 !== size) problems.push(`page ${page} holds records of different sizes`);
    if ((thing.address - page - PAGE_HEADER_WORDS) % size !== 0) problems.push(`${thing.address} lies across records`);
    if (thing.shard !== things[0].shard) problems.push(`page ${page} belongs to two shards`);
  }
  if (memory[page + Page.used] !== things.length)
    problems.push(`page ${page} says ${memory[page + Page.used]} in use, ${things.length} are reachable`);
  let freed = 0;
  const used = new Set(things.map((thing) => thing.address));
  for (let at = linkAt(memory, page + Page.freed); at !== 0 && freed < PAGE_WORDS; at = linkAt(memory, at)) {
    if (used.has(at)) problems.push(`${at} is freed and in use`);
    freed++;
  }
  const cut = (linkAt(memory, page + Page.fresh) - page - PAGE_HEADER_WORDS) / size;
  if (freed + things.length !== cut)
    problems.push(`page ${page}: ${cut} records cut, ${things.length} in use and ${freed} freed`);
  const hasRoom = freed > 0 || linkAt(memory, page + Page.fresh) + size <= page + PAGE_WORDS;
  if (hasRoom !== (linkedBy !== undefined)) problems.push(`page ${page} has room ${hasRoom}, linked ${!hasRoom}`);
  if (linkedBy !== undefined && linkedBy !== things[0].shard) problems.push(`page ${page} is linked by another shard`);
}

/** Pages that shards link as having room, with the shard that links them. */
function linkedPages(engine: Engine, problems: string[]): Map<number, number> {
  const { memory } = engine.store;
  const linked = new Map<number, number>();
  for (let index = 0; index < engine.shardCount; index++) {
    const shard = engine.store.shardAt(index);
    for (let sizeClass = 0; sizeClass < SIZE_CLASSES; sizeClass++) {
      let before = 0;
      for (
        let page = linkAt(memory, shard + ShardWord.slabHeads + sizeClass);
        page !== 0;
        page = linkAt(memory, page + Page.next)
      ) {
        if (linked.has(page)) {
          problems.push(`slab page ${page} is linked twice`);
          break;
        }
        linked.set(page, shard);
        if (memory[page + Page.sizeClass] !== sizeClass)
          problems.push(`slab page ${page} is linked under another size`);
        if (linkAt(memory, page + Page.previous) !== before) problems.push(`slab page ${page} does not link back`);
        before = page;
      }
    }
  }
  return linked;
}

function checkBitmap(engine: Engine, pages: Map<number, string>, problems: string[]): void {
  const { memory, regions } = engine.store;
  const isTakenPage = (page: number) => (memory[regions.pageBitmap + (page >>> 5)] & (1 << (page & 31))) !== 0;
  for (let page = 0; page < regions.firstPage; page++)
    if (!isTakenPage(page)) problems.push(`page ${page} of the fixed regions is free`);
  const firstPage = memory[HeaderWord.firstPage];
  let taken = firstPage;
  for (let page = firstPage; page < regions.pageCount; page++) {
    const isTaken = isTakenPage(page);
    if (isTaken) taken++;
    if (isTaken && !pages.has(page * PAGE_WORDS)) {
      problems.push(`page ${page} is taken and nothing uses it`);
    } else if (!isTaken && pages.has(page * PAGE_WORDS)) {
      problems.push(`page ${page} is free and used by ${pages.get(page * PAGE_WORDS)}`);
    }
  }
  if (taken !== memory[HeaderWord.pagesUsed])
    problems.push(`${taken} pages are taken, ${memory[HeaderWord.pagesUsed]} are counted`);
}
