import type { Refusal } from '../deciding/refusal.js';
import type { Receiver } from '../http2/stream.js';
import type { HeldBytes } from './held-bytes.js';
import type { Caller } from './method.js';

/** A call that has begun, of either kind. */
export interface OpenCall extends Receiver {
  /** Since when its message has not been whole, or its reply not taken; Infinity while it waits for neither. */
  readonly waitsSinceMs: number;
  /** The caller is known. */
  begin(caller: Caller): void;
  refuse(refusal: Refusal): void;
}

export interface CallOptions<Kind> {
  readonly method: Kind;
  readonly timeoutMs: number | undefined;
  readonly onError: (error: Error) => void;
  readonly onClosed: (call: OpenCall) => void;
  readonly held: HeldBytes;
}
