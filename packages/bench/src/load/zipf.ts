import type { Random } from './random.js';

/**
 * Draws ranks 1..count where rank k comes with probability proportional to 1 / k^exponent: a few keys take most of the
 * traffic, as in real rate limiting.
 *
 * Rejection-inversion (Hörmann and Derflinger, 1996): constant time and memory whatever the number of keys, and exact,
 * unlike the usual approximation by a truncated continuous distribution.
 */
export class ZipfDistribution {
  readonly #count: number;
  readonly #exponent: number;
  readonly #random: Random;
  readonly #integralAtFirst: number;
  readonly #integralAtLast: number;
  readonly #acceptWithin: number;

  constructor(count: number, exponent: number, random: Random) {
    this.#count = count;
    this.#exponent = exponent;
    this.#random = random;
    this.#integralAtFirst = this.#integral(1.5) - 1;
    this.#integralAtLast = this.#integral(count + 0.5);
    this.#acceptWithin = 2 - this.#integralInverse(this.#integral(2.5) - this.#weight(2));
  }

  nextRank(): number {
    for (;;) {
      const area = this.#integralAtLast + this.#random.nextFraction() * (this.#integralAtFirst - this.#integralAtLast);
      const x = this.#integralInverse(area);
      const rank = Math.min(Math.max(Math.floor(x + 0.5), 1), this.#count);
      if (rank - x <= this.#acceptWithin || area >= this.#integral(rank + 0.5) - this.#weight(rank)) return rank;
    }
  }

  #weight(x: number): number {
    return Math.exp(-this.#exponent * Math.log(x));
  }

  /** The antiderivative of the weight; written so that it stays exact where the exponent is close to 1. */
  #integral(x: number): number {
    const logarithm = Math.log(x);
    const scaled = (1 - this.#exponent) * logarithm;
    return (scaled === 0 ? 1 : Math.expm1(scaled) / scaled) * logarithm;
  }

  #integralInverse(area: number): number {
    const scaled = Math.max(area * (1 - this.#exponent), -1);
    return Math.exp((scaled === 0 ? 1 : Math.log1p(scaled) / scaled) * area);
  }
}
