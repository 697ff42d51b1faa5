export type Key = string | Uint8Array;

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface WindowCount<Integer> {
  readonly count: Integer;
  readonly startMs: number;
  readonly endMs: number;
}

export interface RateDecision {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Until the current window ends. */
  readonly resetAfterMs: number;
  /** After how long to try again: 0 where the request was allowed, −1 where its cost is above the limit. */
  readonly retryAfterMs: number;
}

export interface BucketDecision {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** 0 where the request was allowed, −1 where its cost is above what the bucket holds. */
  readonly retryAfterMs: number;
  /** Until the bucket is full. */
  readonly resetAfterMs: number;
}

export interface SeveralDecisions {
  readonly allowed: boolean;
  readonly decisions: readonly RateDecision[];
}

export interface RateRule {
  readonly key: Key;
  readonly limit: number;
  readonly windowMs: number;
}
