import { HASH_SECRET_BYTES } from '../memory/layout.js';

/** A small seeded generator (mulberry32): a schedule is replayed by its seed alone. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** A whole number in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)];
  }
}

/** A secret of the local hash, from a seed. */
export function hashSecretOf(seed: number): Uint8Array {
  const random = new Random(seed);
  return Uint8Array.from({ length: HASH_SECRET_BYTES }, () => random.below(256));
}
