export interface RandomOperation {
  readonly key: string;
  /** In the window after the first. */
  readonly later: boolean;
  readonly amount: bigint;
}

/** The same operations for the same seed: a few keys in two windows, mostly small amounts. */
export function randomOperations(seed: number, count: number): RandomOperation[] {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) % below;
  };
  return Array.from({ length: count }, () => ({
    key: `key ${next(4)}`,
    later: next(2) === 1,
    amount: next(10) === 0 ? 2n ** 40n + BigInt(next(1_000)) : BigInt(next(100)),
  }));
}
