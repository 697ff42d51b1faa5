/** The totals of one origin in its present generation of a counter. */
export interface CountedGeneration {
  /** The origin by a number that is its own as long as this process runs. */
  readonly originIndex: number;
  readonly version: number;
  readonly born: number;
  readonly positive: bigint;
  readonly negative: bigint;
}

/** Where replicated counters live; the store of this server. */
export interface ComponentSource {
  /** The generations of a counter whose version is not the one that is known of their origin. */
  generations(key: string, known: ReadonlyMap<number, number>): readonly CountedGeneration[];
  /** The origin's name, the same on every replica. */
  originName(originIndex: number): string;
  /**
   * Resolves once everything read so far would survive a crash of this node. Only then may it be folded: a node that
   * came back with less than it had reported would count the difference again, and the record would take it for old.
   */
  durable(): Promise<void>;
}
