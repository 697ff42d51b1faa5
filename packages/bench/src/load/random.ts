/**
 * A seeded generator of random numbers (mulberry32), so that both sides of a comparison are sent the same keys in the
 * same order. Its period of 2^32 is far longer than any run, and it costs a few instructions on the client's hot path.
 */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  nextUint32(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** In [0, 1). */
  nextFraction(): number {
    return this.nextUint32() / 0x1_0000_0000;
  }

  /** A whole number in [0, limit). */
  nextBelow(limit: number): number {
    return Math.floor(this.nextFraction() * limit);
  }
}
