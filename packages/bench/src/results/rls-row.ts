import type { RunStamp } from './stamp.js';
import type { Summaries } from './summary.js';

/** A row of bench/results/rls: one kind of limit, decided over gRPC and over RESP. */
export interface RlsRow extends RunStamp {
  readonly kind: string;
  readonly streams: number;
  /** What the server is held to, in words. */
  readonly limits: string;
  readonly sides: Readonly<Record<string, Summaries>>;
}
