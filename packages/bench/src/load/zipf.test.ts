import { expect, test } from 'vitest';
import { seededRandom } from './random.js';
import { zipfRanks } from './zipf.js';

const DRAWS = 400_000;

test.each([0.5, 0.99, 1, 1.5])('ranks come as often as exponent %d says', (exponent) => {
  const count = 1000;
  const nextRank = zipfRanks(count, exponent, seededRandom(7));
  const seen = new Float64Array(count + 1);
  for (let draw = 0; draw < DRAWS; draw++) seen[nextRank()]! += 1;

  const weights = Array.from({ length: count }, (_, index) => 1 / (index + 1) ** exponent);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  for (const rank of [1, 2, 3, 10, 50, 200]) {
    const expected = (DRAWS * weights[rank - 1]!) / total;
    // Five standard deviations of a count that is expected to be this large; the seed is fixed anyway.
    expect(Math.abs(seen[rank]! - expected), `rank ${rank}`).toBeLessThan(5 * Math.sqrt(expected));
  }
});

test('no rank lies outside 1 to the number of keys', () => {
  for (const count of [1, 2, 3, 1_000_000]) {
    const ranks = Array.from({ length: 10_000 }, zipfRanks(count, 0.99, seededRandom(1)));
    expect(ranks.every((rank) => rank >= 1 && rank <= count && Number.isInteger(rank))).toBe(true);
  }
});
