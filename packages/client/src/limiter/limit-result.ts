export interface LimitResult {
  readonly success: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** When the current window ends, milliseconds since 1970; Infinity where the limit has no window. */
  readonly reset: number;
  /** After how long to try again; 0 where the request was admitted, −1 where trying again cannot help. */
  readonly retryAfterMs: number;
  /** `within` and `limited` are decisions by the limit; `away` is that of `whenAway`, without the server. */
  readonly reason: 'within' | 'limited' | 'away';
}

/** A cost of another kind (a fraction, NaN) would be added to the counters of this process and stay there. */
export function checkCost(cost: number, least: 0 | 1): void {
  if (!Number.isSafeInteger(cost) || cost < least) {
    throw new RangeError(`a cost is a whole number of at least ${least}, not ${cost}`);
  }
}

/** The decision of the limit. */
export function decidedResult(
  success: boolean,
  limit: number,
  remaining: number,
  reset: number,
  retryAfterMs: number,
): LimitResult {
  return { success, limit, remaining, reset, retryAfterMs, reason: success ? 'within' : 'limited' };
}

/** The decision without the server. A denied request may be tried again when the count of this process ends. */
export function awayResult(
  limit: number,
  { success, remaining, untilMs }: { success: boolean; remaining: number; untilMs: number },
): LimitResult {
  const retryAfterMs = success ? 0 : untilMs === Number.POSITIVE_INFINITY ? -1 : untilMs;
  return { success, limit, remaining, reset: Date.now() + untilMs, retryAfterMs, reason: 'away' };
}
