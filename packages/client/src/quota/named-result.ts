import type { LimitResult } from '../limiter/limit-result.js';

/** A result whose tokens the server holds under an id, until they are released or settled. */
export class NamedResult implements LimitResult {
  readonly success: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
  readonly retryAfterMs: number;
  readonly reason: LimitResult['reason'];
  /** The server's id; undefined where the request was denied, or admitted while the server was away. */
  readonly id: string | undefined;

  constructor(result: LimitResult, id: string | undefined) {
    this.success = result.success;
    this.limit = result.limit;
    this.remaining = result.remaining;
    this.reset = result.reset;
    this.retryAfterMs = result.retryAfterMs;
    this.reason = result.reason;
    this.id = id;
  }
}
