import { expect, test } from 'vitest';
import { Random } from './random.js';
import { ZipfDistribution } from './zipf.js';

const DRAWS = 400_000;

test.each([0.5, 0.99, 1, 1.5])('ranks come as often as exponent %d says', (exponent) => {
  const count = 1000;
  const distribution = new ZipfDistribution(count, exponent, new Random(7));
  const seen = new Float64Array(count + 1);
  for (let draw = 0; draw < DRAWS; draw++) seen[distribution.nextRank()]! += 1;

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
    const distribution = new ZipfDistribution(count, 0.99, new Random(1));
    for (let draw = 0; draw < 10_000; draw++) {
      const rank = distribution.nextRank();
      expect(rank >= 1 && rank <= count && Number.isInteger(rank)).toBe(true);
    }
  }
});
