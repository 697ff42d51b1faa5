export interface LimitResult {
  readonly success: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** When the current window ends, milliseconds since 1970; Infinity where the limit has no window. */
  readonly reset: number;
  /** After how long to try again; 0 where there is no need, −1 where there is no use. */
  readonly retryAfterMs: number;
  /** `within` and `limited` are decisions; `away` is what the policy says while the server cannot be asked. */
  readonly reason: 'within' | 'limited' | 'away';
}

/** Anything else would not only be wrong: in the process it would be added to what is left, and stay there. */
export function checkCost(cost: number, least: 0 | 1): void {
  if (!Number.isSafeInteger(cost) || cost < least) {
    throw new RangeError(`a cost is a whole number of at least ${least}, not ${cost}`);
  }
}

/** Retrying makes sense when what was counted here is forgotten. */
export function awayResult(
  limit: number,
  { success, remaining, untilMs }: { success: boolean; remaining: number; untilMs: number },
): LimitResult {
  const retryAfterMs = success ? 0 : untilMs === Number.POSITIVE_INFINITY ? -1 : untilMs;
  return { success, limit, remaining, reset: Date.now() + untilMs, retryAfterMs, reason: 'away' };
}
