import { seededRandom } from './random.js';
import { zipfRanks } from './zipf.js';

/** Which key the next request is for. `sequential` is for filling: every key once, then again from the start. */
export type KeyDistribution = 'hot' | 'uniform' | 'zipf' | 'sequential';

/** The usual skew of cache and rate-limit traces (YCSB's default). */
const ZIPF_EXPONENT = 0.99;

/** A draw from the zipf distribution takes logarithms, too slow to do between two sends; so draw this many ahead. */
const ZIPF_DRAWS = 1 << 21;

export type KeySequence = () => number;

export function keySequence(distribution: KeyDistribution, keyCount: number, seed: number): KeySequence {
  switch (distribution) {
    case 'hot':
      return () => 0;
    case 'sequential':
      return sequential(keyCount);
    case 'uniform': {
      const random = seededRandom(seed);
      return () => Math.floor(random() * keyCount);
    }
    case 'zipf':
      return zipf(keyCount, seed);
  }
}

function sequential(keyCount: number): KeySequence {
  let next = 0;
  return () => {
    const current = next;
    next = current + 1 === keyCount ? 0 : current + 1;
    return current;
  };
}

function zipf(keyCount: number, seed: number): KeySequence {
  const nextRank = zipfRanks(keyCount, ZIPF_EXPONENT, seededRandom(seed));
  const draws = new Uint32Array(ZIPF_DRAWS);
  for (let index = 0; index < ZIPF_DRAWS; index++) draws[index] = nextRank() - 1;
  let cursor = 0;
  return () => {
    const current = draws[cursor]!;
    cursor = (cursor + 1) & (ZIPF_DRAWS - 1);
    return current;
  };
}
