/** A named count, as its record holds it. */
export interface CountValue {
  readonly itemId: string;
  readonly currentValue: bigint;
  /** Set by the store of the record, never by a caller. */
  readonly lastUpdatedAt: Date;
}
