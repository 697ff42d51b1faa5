import type { Random } from './random.js';

/**
 * Draws ranks 1..count where rank k comes with probability proportional to 1 / k^exponent: a few keys take most of the
 * traffic, as in real rate limiting.
 *
 * Rejection-inversion (Hörmann and Derflinger, 1996): constant time and memory for any number of keys, and exact,
 * unlike the usual approximation by a truncated continuous distribution.
 */
export function zipfRanks(count: number, exponent: number, random: Random): () => number {
  const weight = (x: number) => Math.exp(-exponent * Math.log(x));
  /** The antiderivative of the weight; written so that it stays exact where the exponent is close to 1. */
  const integral = (x: number) => {
    const logarithm = Math.log(x);
    const scaled = (1 - exponent) * logarithm;
    return (scaled === 0 ? 1 : Math.expm1(scaled) / scaled) * logarithm;
  };
  const integralInverse = (area: number) => {
    const scaled = Math.max(area * (1 - exponent), -1);
    return Math.exp((scaled === 0 ? 1 : Math.log1p(scaled) / scaled) * area);
  };
  const first = integral(1.5) - 1;
  const last = integral(count + 0.5);
  const acceptWithin = 2 - integralInverse(integral(2.5) - weight(2));
  return () => {
    for (;;) {
      const area = last + random() * (first - last);
      const x = integralInverse(area);
      const rank = Math.min(Math.max(Math.floor(x + 0.5), 1), count);
      if (rank - x <= acceptWithin || area >= integral(rank + 0.5) - weight(rank)) return rank;
    }
  };
}
