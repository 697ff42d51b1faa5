/** A count and its value right after the caller's own change. */
export interface ChangedCount {
  readonly itemId: string;
  readonly value: bigint;
}

/** What systems that count things may do. */
export interface ExternalCountUpdateApi {
  increase(itemId: string, amount: bigint, idempotencyKey?: string): Promise<ChangedCount>;
  decrease(itemId: string, amount: bigint, idempotencyKey?: string): Promise<ChangedCount>;
  reset(itemId: string, idempotencyKey?: string): Promise<ChangedCount>;
}
