import type { Decision, DecisionRefusal, Item } from '@quotadb/limits';

/** The counters that a request is decided on: the adapter's view of the store. */
export interface LimitStore {
  /** The time of decisions. */
  nowMs(): number;
  /**
   * Adds to the counter of a fixed window, also past any limit, and returns the count, or resolves to it where another
   * group of a cluster has the counter; a negative amount takes the count to 0 at most. Throws a Refusal, or rejects,
   * where the store cannot count.
   */
  addFixed(counter: string, windowMs: number, amount: number): number | Promise<number>;
  /** Resolves when the counts so far are as durable as the server promises; undefined where they are already. */
  whenDurable(): Promise<void> | undefined;
  /** Charges all limits or none, and waits for tokens of other regions. */
  decide(request: DecideRequest): Promise<Decision | DecisionRefusal>;
}

export interface DecideRequest {
  readonly items: readonly Item[];
  readonly isPeek: boolean;
  /** How long to wait for tokens of other regions; as the quotas say where it is left out. */
  readonly waitMs: number | undefined;
}
