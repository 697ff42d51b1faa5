import { expect, test } from 'vitest';
import { checkReaches, Routes, textOfReaches } from './routes.js';

/** Regions that report to each other which regions they reach, until nothing is new. */
class TestRegions {
  readonly routes = new Map<string, Routes<string>>();
  private readonly links = new Set<string>();
  told = 0;

  constructor(names: string) {
    for (const name of names) this.routes.set(name, new Routes(name));
  }

  of(name: string): Routes<string> {
    return this.routes.get(name) as Routes<string>;
  }

  connect(...pairs: string[]): void {
    for (const [one, other] of pairs) {
      this.links.add(one + other);
      this.of(one).add(other, origin(other), one + other);
      this.of(other).add(one, origin(one), one + other);
    }
    this.settle();
  }

  cut(one: string, other: string): void {
    this.links.delete(one + other);
    this.of(one).remove(other, one + other);
    this.of(other).remove(one, one + other);
    this.settle();
  }

  /** Where a message ends up that is passed on from hand to hand, and how many hands that takes. */
  send(from: string, to: string): { readonly at: string; readonly hands: number } {
    let at = from;
    let hands = 0;
    for (let next = this.of(at).next(to); at !== to && next !== undefined && hands < 20; next = this.of(at).next(to)) {
      at = next.region;
      hands++;
    }
    return { at, hands };
  }

  private settle(): void {
    for (let isNews = true; isNews; ) {
      isNews = false;
      for (const [one, other] of this.links) {
        isNews = this.of(other).hear(one, true, checkReaches(this.of(one).reachesFor(other))) || isNews;
        isNews = this.of(one).hear(other, true, checkReaches(this.of(other).reachesFor(one))) || isNews;
        if (++this.told > 1000) throw new Error('they do not come to an end');
      }
    }
  }
}

function origin(region: string): Uint8Array {
  return new Uint8Array(32).fill(region.charCodeAt(0));
}

test('spokes reach each other through their hub, and know the life that the other is in', () => {
  const regions = new TestRegions('habc');
  regions.connect('ha', 'hb', 'hc');
  expect([...regions.of('a').regions()].sort()).toEqual(['b', 'c', 'h']);
  expect(regions.send('a', 'c')).toEqual({ at: 'c', hands: 2 });
  expect(regions.of('a').originOf('c')).toEqual(origin('c'));
});

test('along a chain so many links are gone and no more', () => {
  const regions = new TestRegions('abcdef');
  regions.connect('ab', 'bc', 'cd', 'de', 'ef');
  expect(regions.send('a', 'e')).toEqual({ at: 'e', hands: 4 });
  expect([...regions.of('a').regions()].sort()).toEqual(['b', 'c', 'd', 'e']);
});

test('a region that is gone is forgotten, and nothing goes round in circles', () => {
  const regions = new TestRegions('abcd');
  regions.connect('ab', 'bc', 'ca', 'cd');
  expect(regions.send('a', 'd')).toEqual({ at: 'd', hands: 2 });
  regions.cut('c', 'd');
  for (const name of 'abc') expect([...regions.of(name).regions()]).not.toContain('d');
});

test('where one way breaks another is found, and a link comes before any other way', () => {
  const regions = new TestRegions('abcd');
  regions.connect('ab', 'bd', 'ac', 'cd');
  expect(regions.send('a', 'd').hands).toBe(2);
  regions.cut('b', 'd');
  expect(regions.send('a', 'd')).toEqual({ at: 'd', hands: 2 });
  expect(regions.send('b', 'd')).toEqual({ at: 'd', hands: 3 });
  regions.connect('ad');
  expect(regions.send('a', 'd').hands).toBe(1);
});

test.each([
  [1],
  [[{ region: '', origin: '0'.repeat(64), hasDisk: true, hops: 1 }]],
  [[{ region: 'a', origin: 'x', hasDisk: true, hops: 1 }]],
  [[{ region: 'a', origin: '0'.repeat(64), hasDisk: true, hops: 0 }]],
  [Array.from({ length: 300 }, () => ({ region: 'a', origin: '0'.repeat(64), hasDisk: true, hops: 1 }))],
])('what makes no sense is refused', (given) => {
  expect(() => checkReaches(given)).toThrow();
});

test('two regions that report the same to each other at once come to an end, in whatever order they have heard it', () => {
  const [one, other] = [new Routes<string>('x'), new Routes<string>('y')];
  const reach = (region: string) => ({ region, origin: region.repeat(64), hasDisk: true, hops: 1 });
  const reaches = [reach('a'), reach('b')];
  for (const [routes, neighbour] of [
    [one, 'y'],
    [other, 'x'],
  ] as const) {
    routes.add(neighbour, origin(neighbour), neighbour);
    routes.add('z', origin('z'), 'z');
  }
  one.hear('z', true, reaches);
  other.hear('z', true, [...reaches].reverse());
  // Messages that cross: each is written before the other has arrived. A server sends none that says the same again.
  const sent = ['', ''];
  for (let round = 0; round < 10; round++) {
    const lists = [one.reachesFor('y'), other.reachesFor('x')];
    const texts = lists.map(textOfReaches);
    if (round > 2) expect(texts).toEqual(sent);
    sent.splice(0, 2, ...texts);
    one.hear('y', true, lists[1]);
    other.hear('x', true, lists[0]);
  }
});
