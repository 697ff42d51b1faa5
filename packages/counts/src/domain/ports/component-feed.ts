/**
 * The bridge from replicated counters: a count fed by the components of a counter that regions write locally.
 *
 * A component is what one origin has counted in one generation: two totals that only grow. Because totals are absolute,
 * folding one twice, late or out of order changes nothing; only the growth since the last fold is added to the count.
 */
export interface FedComponent {
  readonly itemId: string;
  /** Who counted: the replica, its incarnation, and the counter. No other origin ever writes this component. */
  readonly origin: string;
  /** Grows when the origin starts its component anew (after a reset); totals start from zero in each generation. */
  readonly generation: bigint;
  readonly increments: bigint;
  readonly decrements: bigint;
}

export interface FoldOutcome {
  /** Counts that received something new, with their values after it. */
  readonly changed: ReadonlyMap<string, bigint>;
  /** Items without a count. Nothing is remembered of their components, so a count created later receives them whole. */
  readonly missing: ReadonlySet<string>;
  /** Items whose count would leave the 64-bit range. Nothing is remembered of their components either. */
  readonly overflowed: ReadonlySet<string>;
}

export interface ComponentFeed {
  fold(components: readonly FedComponent[]): Promise<FoldOutcome>;
}
