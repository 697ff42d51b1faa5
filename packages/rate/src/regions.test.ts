import { Applied, Restore } from '@quotadb/engine';
import { checkConsistency } from '@quotadb/engine/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { CELL_MARGIN_MS } from './cell-key.js';
import { exchange, RateNode, WINDOW_MS, WINDOW_START_MS } from './testing/rate-node.js';

let here: RateNode;
let there: RateNode;
beforeEach(() => {
  here = new RateNode();
  there = new RateNode({ originByte: 2 });
});

describe('the invariants of global counters', () => {
  test('1. each region owns only its own component', () => {
    here.limit(100, 30);
    there.limit(100, 20);
    here.mergeFrom(there);
    expect(here.cells()).toMatchObject({ currentOwn: 30, currentForeign: 20 });
    here.limit(100, 5);
    expect(here.cells()).toMatchObject({ currentOwn: 35, currentForeign: 20 });
    expect(there.cells()).toMatchObject({ currentOwn: 20, currentForeign: 0 });
  });

  test('2. components are merged with max: a batch that comes twice, late or out of order never lowers a count', () => {
    there.limit(100, 40);
    const early = there.published();
    there.limit(100, 2);
    const late = there.published();
    for (const batches of [early, early, late, early, late]) here.mergeBatches(batches);
    expect(here.cells().currentForeign).toBe(42);
  });

  test('3. an own component that comes back from elsewhere can only raise what the region has counted', () => {
    here.limit(100, 20);
    const early = here.published();
    here.limit(100, 10);
    const late = here.published();
    // Others are not listened to about it at all: the region knows better.
    expect(here.mergeBatches(early)).toContain(Applied.Own);
    expect(here.cells().currentOwn).toBe(30);
    // The own disk is, and more than it says is never taken back.
    const restarted = new RateNode();
    const restore = new Restore(restarted.engine);
    for (const batch of [...late, ...early]) expect(restore.apply(batch)).toBe(true);
    expect(restarted.cells()).toMatchObject({ currentOwn: 30, currentForeign: 0 });
    restarted.limit(100, 1);
    expect(restarted.cells().currentOwn).toBe(31);
  });

  test('4. what others counted is read by a decision', () => {
    there.limit(100, 90);
    here.mergeFrom(there);
    expect(here.limit(100, 11)).toMatchObject({ allowed: false, remaining: 10 });
    expect(here.limit(100, 10)).toMatchObject({ allowed: true, remaining: 0 });
  });

  test("4. … and never sent to them again as this region's own", () => {
    there.limit(100, 40);
    here.mergeFrom(there);
    here.limit(100, 1);
    exchange([here, there]);
    exchange([here, there]);
    expect(there.cells()).toMatchObject({ currentOwn: 40, currentForeign: 1 });
    expect(here.cells()).toMatchObject({ currentOwn: 1, currentForeign: 40 });
  });

  test('5. own and foreign components stay apart when they are taken in', () => {
    const third = new RateNode({ originByte: 3 });
    here.limit(100, 7);
    there.limit(100, 20);
    third.limit(100, 30);
    exchange([here, there, third]);
    expect([here, there, third].map((node) => node.cells().currentOwn)).toEqual([7, 20, 30]);
    expect([here, there, third].map((node) => node.cells().currentForeign)).toEqual([50, 37, 27]);
  });

  test('5. … also where a region lost its memory: what it had counted is another’s to it', () => {
    here.limit(100, 7);
    there.mergeFrom(here);
    const reborn = new RateNode({ originByte: 9 });
    reborn.mergeBatches(here.published());
    reborn.limit(100, 1);
    expect(reborn.cells()).toMatchObject({ currentOwn: 1, currentForeign: 7 });
    there.mergeFrom(reborn);
    expect(there.cells().currentForeign).toBe(8);
  });

  test('6. a window that has aged out does not change: new windows are new cells', () => {
    there.limit(100, 60);
    here.advance(2 * WINDOW_MS);
    here.mergeFrom(there);
    expect(here.cells()).toMatchObject({ currentOwn: 0, currentForeign: 0, previousOwn: 0, previousForeign: 0 });
    expect(here.limit(100, 100).allowed).toBe(true);
    there.mergeFrom(here);
    expect(there.cells()).toMatchObject({ currentOwn: 60, currentForeign: 0 });
  });

  test('6. … and both regions drop it at the same time, whichever counted last', () => {
    here.limit(100, 1);
    there.advance(WINDOW_MS - 1);
    there.limit(100, 1);
    exchange([here, there]);
    for (const node of [here, there]) {
      node.engine.advanceTo(WINDOW_START_MS + 2 * WINDOW_MS + CELL_MARGIN_MS + 1_000);
      node.expireAll();
      expect(node.engine.keyCount()).toBe(0);
    }
  });
});

test('counts of fixed windows add up across regions, below every threshold', () => {
  const [one, other] = [new RateNode({ hasPeers: true }), new RateNode({ originByte: 2, hasPeers: true })];
  one.increment(3);
  other.increment(4);
  one.mergeFrom(other);
  expect(one.countOf()).toBe(7);
});

describe('room that other regions see too', () => {
  const DELAY_MS = 400;
  const admitAll = (node: RateNode, limit = 100) => {
    let admitted = 0;
    while (node.limit(limit).allowed) admitted++;
    return admitted;
  };
  /** Both have counted in the window before, know of each other's count, and are in the middle of the next window. */
  const halfWindowAfter = (countHere: number, countThere: number) => {
    here.add(100, countHere);
    there.add(100, countThere);
    exchange([here, there]);
    for (const node of [here, there]) {
      node.engine.setCountDelay(DELAY_MS);
      node.advance(WINDOW_MS + WINDOW_MS / 2);
    }
  };

  test('is shared as the window before was, before either has heard of the other', () => {
    halfWindowAfter(150, 50);
    for (const node of [here, there]) node.advance(DELAY_MS / 4);
    // 2 are free since a moment ago.
    expect([admitAll(here), admitAll(there)]).toEqual([2, 1]);
    for (const node of [here, there]) node.advance(DELAY_MS / 4);
    expect([admitAll(here), admitAll(there)]).toEqual([1, 0]);
  });

  test('clients that hammer in both get the limit together, and no more than a request for each region', () => {
    halfWindowAfter(100, 100);
    let [admittedHere, admittedThere] = [0, 0];
    // Counts arrive a delay after they were admitted.
    const onTheirWay: [ReturnType<RateNode['published']>, ReturnType<RateNode['published']>][] = [];
    for (let ms = 0; ms < WINDOW_MS / 2; ms += DELAY_MS / 4) {
      admittedHere += admitAll(here);
      admittedThere += admitAll(there);
      onTheirWay.push([here.published(), there.published()]);
      const [fromHere, fromThere] = onTheirWay.length > 4 ? onTheirWay.shift()! : [[], []];
      here.mergeBatches(fromThere);
      there.mergeBatches(fromHere);
      for (const node of [here, there]) node.advance(DELAY_MS / 4);
    }
    expect(admittedHere + admittedThere).toBeGreaterThanOrEqual(95);
    expect(admittedHere + admittedThere).toBeLessThanOrEqual(102);
  });

  test('is all there after a delay for a region that counted nothing before, while the others are idle', () => {
    halfWindowAfter(0, 100);
    const { remaining, retryAfterMs } = here.limit(100, 50);
    expect({ remaining, retryAfterMs }).toEqual({ remaining: 46, retryAfterMs: DELAY_MS });
    here.advance(retryAfterMs - 1);
    expect(here.peek(100, 50).allowed).toBe(false);
    here.advance(1);
    expect(here.limit(100, 50).allowed).toBe(true);
  });

  test('is all its own where no other region counted before, or none is connected', () => {
    halfWindowAfter(100, 0);
    expect(admitAll(here)).toBe(50);
    here.engine.setCountDelay(0);
    there.engine.setCountDelay(0);
    expect(admitAll(there)).toBe(50);
  });

  test('is waited for no longer than a tenth of the window, however slow the network is', () => {
    halfWindowAfter(0, 100);
    here.engine.setCountDelay(10 * WINDOW_MS);
    expect(here.peek(100).remaining).toBe(40);
  });
});

describe('the publish threshold', () => {
  beforeEach(() => {
    here = new RateNode({ hasPeers: true });
    there = new RateNode({ originByte: 2, hasPeers: true });
  });

  test('keeps a count to its region until it has reached 20 % of the limit', () => {
    for (let request = 0; request < 19; request++) here.limit(100);
    expect(here.publishedCells).toBe(0);
    expect(here.cells().currentOwn).toBe(19);
    expect(here.peek(100).remaining).toBe(81);
    here.limit(100);
    expect(here.publishedCells).toBe(1);
    there.mergeFrom(here);
    expect(there.cells()).toMatchObject({ currentOwn: 0, currentForeign: 20 });
  });

  test('is lower where there are more regions: all together keep no more than the limit to themselves', () => {
    for (const regions of [2, 3, 5, 8, 40]) {
      for (const publishPercent of [5, 20, 100]) {
        const node = new RateNode({ hasPeers: true, regions, publishPercent });
        let unpublished = 0;
        while (node.publishedCells === 0) {
          node.limit(1000);
          if (node.publishedCells === 0) unpublished++;
        }
        expect(unpublished).toBe(Math.ceil(Math.min(publishPercent * 10, 1000 / regions)) - 1);
        expect(unpublished * regions).toBeLessThan(1000);
      }
    }
  });

  test('is no part of a decision: a region decides the same with any', () => {
    for (const percent of [0, 20, 50, 100]) {
      const node = new RateNode({ hasPeers: true, publishPercent: percent });
      for (let request = 0; request < 10; request++) expect(node.limit(10).allowed).toBe(true);
      expect(node.limit(10)).toMatchObject({ allowed: false, remaining: 0 });
      checkConsistency(node.engine);
    }
  });

  test('once one region has published, all do, whether they count on or not', () => {
    const third = new RateNode({ originByte: 3, hasPeers: true });
    here.limit(100, 5);
    there.limit(100, 9);
    third.limit(100, 50);
    expect([here, there, third].map((node) => node.publishedCells)).toEqual([0, 0, 1]);
    exchange([here, there, third]);
    for (const node of [here, there, third]) {
      expect(node.peek(100).remaining).toBe(36);
      checkConsistency(node.engine);
    }
    here.limit(100, 1);
    exchange([here, there, third]);
    expect(third.peek(100).remaining).toBe(35);
  });

  test('is compared with both windows: the fading count of the one before and the current count', () => {
    here.limit(100, 15);
    here.advance(WINDOW_MS);
    here.limit(100, 4);
    expect(here.publishedCells).toBe(0);
    here.limit(100, 1);
    // The cell before is of use to others only together with this one, so both are published.
    expect(here.publishedCells).toBe(2);
    there.advance(WINDOW_MS);
    there.mergeFrom(here);
    expect(there.cells()).toMatchObject({ currentForeign: 5, previousForeign: 15 });
  });

  test('publishes the cell before also where another region has published the current one first', () => {
    here.limit(100, 15);
    for (const node of [here, there]) node.advance(WINDOW_MS);
    there.limit(100, 40);
    here.mergeFrom(there);
    here.limit(100, 1);
    there.mergeFrom(here);
    expect(there.cells()).toMatchObject({ currentForeign: 1, previousForeign: 15 });
  });

  test('a key that is hot elsewhere is published from the first request of the next window on', () => {
    there.limit(100, 60);
    here.mergeFrom(there);
    here.advance(WINDOW_MS);
    expect(here.publishedCells).toBe(0);
    here.limit(100, 1);
    expect(here.publishedCells).toBe(1);
  });

  test('is given with each decision', () => {
    here.publishPercent = 40;
    here.limit(100, 30);
    expect(here.publishedCells).toBe(0);
    here.add(100, 10);
    expect(here.publishedCells).toBe(1);
    here.publishPercent = 0;
    here.limit(100, 1, 'all');
    expect(here.publishedCells).toBe(2);
  });

  test('holds for each of several limits', () => {
    here.limitAll(15, ['large', 100, WINDOW_MS], ['small', 20, WINDOW_MS]);
    there.mergeFrom(here);
    expect([there.cells('large').currentForeign, there.cells('small').currentForeign]).toEqual([0, 15]);
    checkConsistency(here.engine);
  });

  test('a region without peers leaves nothing unpublished: its disk has everything', () => {
    const alone = new RateNode();
    alone.limit(100, 1);
    expect(alone.publishedCells).toBe(1);
  });

  test('an unpublished count is dropped when its window is over, and never published', () => {
    here.limit(100, 10);
    here.advance(2 * WINDOW_MS + CELL_MARGIN_MS + 1_000);
    here.expireAll();
    expect(here.engine.keyCount()).toBe(0);
    expect(here.publishedCells).toBe(0);
  });

  test('removing all keys removes unpublished counts', () => {
    here.limit(100, 10);
    here.engine.removeAll();
    expect(here.cells().currentOwn).toBe(0);
    expect(here.limit(100, 100).allowed).toBe(true);
  });
});

describe('buckets', () => {
  test('are each node’s own', () => {
    expect(there.gcra(4, 1, 1_000, 5)).toMatchObject({ allowed: true, limit: 5, remaining: 0 });
    here.mergeFrom(there);
    expect(here.gcra(4, 1, 1_000, 5)).toMatchObject({ allowed: true, limit: 5, remaining: 0 });
  });

  test('are not published, unless everything is', () => {
    const node = new RateNode({ hasPeers: true });
    for (let time = 0; time < 40; time++) {
      expect(node.gcra(1, 1, 1_000, 1).allowed).toBe(true);
      node.advance(time % 4 === 0 ? 5_000 : 1_000);
      checkConsistency(node.engine);
    }
    expect(node.publishedCells).toBe(0);
    expect(node.gcra(1, 1, 1_000, 2).allowed).toBe(true);
    expect(node.gcra(1, 1, 1_000, 1).allowed).toBe(false);
    node.advance(10_000);
    node.expireAll();
    expect(node.engine.keyCount()).toBe(0);
    const open = new RateNode({ hasPeers: true, publishPercent: 0 });
    open.gcra(1, 1, 1_000);
    expect(open.publishedCells).toBe(1);
  });
});
