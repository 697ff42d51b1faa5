import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HeaderWord, PAGE_WORDS } from './layout.js';
import { Pages } from './pages.js';

const BITMAP = 1000;

function makePages(firstPage: number, pageCount: number): { pages: Pages; memory: Int32Array } {
  const memory = new Int32Array(BITMAP + Math.ceil(pageCount / 32));
  const pages = new Pages(memory, BITMAP, false);
  pages.format(firstPage, pageCount, 0);
  return { pages, memory };
}

describe('pages', () => {
  test('are handed out once, in runs that lie together, and never from the fixed regions or past the end', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 70 }),
        fc.integer({ min: 80, max: 300 }),
        fc.array(fc.record({ count: fc.integer({ min: 1, max: 12 }), gives: fc.boolean(), which: fc.nat() }), {
          maxLength: 200,
        }),
        (firstPage, pageCount, steps) => {
          const { pages, memory } = makePages(firstPage + 1, pageCount);
          const taken = new Set<number>();
          const runs: { address: number; count: number }[] = [];
          for (const { count, gives, which } of steps) {
            if (gives && runs.length > 0) {
              const [run] = runs.splice(which % runs.length, 1);
              pages.give(run.address, run.count);
              for (let page = 0; page < run.count; page++) taken.delete(run.address / PAGE_WORDS + page);
              continue;
            }
            const address = pages.take(count, false);
            if (address === 0) {
              expect(longestGap(taken, firstPage + 1, pageCount)).toBeLessThan(count);
              continue;
            }
            for (let page = address / PAGE_WORDS; page < address / PAGE_WORDS + count; page++) {
              expect(page).toBeGreaterThan(firstPage);
              expect(page).toBeLessThan(pageCount);
              expect(taken.has(page)).toBe(false);
              taken.add(page);
            }
            runs.push({ address, count });
          }
          expect(memory[HeaderWord.pagesUsed]).toBe(firstPage + 1 + taken.size);
        },
      ),
    );
  });

  test('in the reserve are for keys that exist: new keys do not get them', () => {
    const { pages, memory } = makePages(1, 100);
    let forNewKeys = 0;
    while (pages.take(1, true) !== 0) forNewKeys++;
    let forOldKeys = 0;
    while (pages.take(1, false) !== 0) forOldKeys++;
    expect(forOldKeys).toBe(memory[HeaderWord.pagesReserved]);
    expect(forNewKeys + forOldKeys).toBe(99);
  });

  test('given back twice are an invariant broken', () => {
    const { pages } = makePages(1, 100);
    const address = pages.take(1, true);
    pages.give(address, 1);
    expect(() => pages.give(address, 1)).toThrow('given back once');
  });
});

function longestGap(taken: ReadonlySet<number>, firstPage: number, pageCount: number): number {
  let longest = 0;
  for (let page = firstPage, gap = 0; page < pageCount; page++) {
    gap = taken.has(page) ? 0 : gap + 1;
    longest = Math.max(longest, gap);
  }
  return longest;
}
