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
  /** Whether usage is exported, and hits that were admitted are to be counted once more. */
  readonly hasUsage: boolean;
  /**
   * Counts hits that a fixed window has admitted as usage; a negative amount takes back what was counted. False where
   * the store has no memory for it: then they must not be admitted.
   */
  countUsage(window: FixedWindow, amount: number): boolean;
  /** Resolves when the counts so far are as durable as the server promises; undefined where they are already. */
  whenDurable(): Promise<void> | undefined;
  /** Charges all limits or none, and waits for tokens of other regions. */
  decide(request: DecideRequest): Promise<Decision | DecisionRefusal>;
}

/** A window of a counter, and the name that its limit has in exports. */
export interface FixedWindow {
  readonly limit: string;
  readonly counter: string;
  readonly startMs: number;
  readonly endMs: number;
}

export interface DecideRequest {
  readonly items: readonly Item[];
  readonly isPeek: boolean;
  /** How long to wait for tokens of other regions; as the quotas say where it is left out. */
  readonly waitMs: number | undefined;
}
