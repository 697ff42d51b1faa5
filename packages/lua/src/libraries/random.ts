/**
 * drand48 as Redis has it for scripts (rand.c): 48 bits, a*x + c. It begins where Redis's does, and goes on from script
 * to script.
 */
export class RedisRandom {
  #state = INITIAL;

  seed(value: number): void {
    this.#state = (BigInt.asUintN(32, BigInt(value)) << 16n) | SEED_LOW;
  }

  /** Between 0 and 1, in 2^31 - 1 steps, as lmathlib.c divides in Redis. */
  fraction(): number {
    this.#state = (this.#state * MULTIPLIER + ADDEND) & MASK;
    const drawn = Number(this.#state >> 17n);
    return (drawn % RANDOM_MAX) / RANDOM_MAX;
  }
}

const RANDOM_MAX = 2 ** 31 - 1;
const SEED_LOW = 0x330en;
const MULTIPLIER = 0x5deece66dn;
const ADDEND = 0xbn;
const MASK = 2n ** 48n - 1n;
const INITIAL = 0x1234abcd330en;
