/** What one origin has counted in its present life of a counter. */
export interface CountedLife {
  /** The origin by a number that is its own as long as this process runs. */
  readonly originIndex: number;
  readonly version: number;
  readonly born: number;
  readonly positive: bigint;
  readonly negative: bigint;
}

/** Where replicated counters live; the store of this server. */
export interface ComponentSource {
  /** The lives of a counter whose version is not the one that is known of their origin. */
  lives(key: string, known: ReadonlyMap<number, number>): readonly CountedLife[];
  /** The origin's name, the same on every replica. */
  originName(originIndex: number): string;
  /**
   * Resolves once everything read so far would survive a crash of this node. Only then may it be folded: a node that came
   * back with less than it had told would count the difference again, and the record would take it for old.
   */
  durable(): Promise<void>;
}
