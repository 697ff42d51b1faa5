export type Random = () => number;

/**
 * Random fractions in [0, 1) from a seed (mulberry32), so that both sides of a comparison are sent the same keys in the
 * same order. Its period of 2^32 is far longer than any run, and it costs a few instructions on the client's hot path.
 */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
