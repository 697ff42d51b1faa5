import type { Allotment } from '../allotments/allotment.js';
import type { Policy } from '../policies/policy.js';

/** The window of one subject under a limit that is no quota: a limit of kind fixed. */
export interface LimitWindow {
  /** The name of the limit; it has no byte 00. */
  readonly limit: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly subject: Uint8Array;
}

/** Counts the tokens that were taken for good, for those who are billed by them; on the thread of the take. */
export interface UsageRecorder {
  /** False where there is no memory for it: then the take must not happen. Allocates nothing. */
  taken(policy: Policy, window: number, subject: Uint8Array, start: number, length: number, amount: number): boolean;
  /** Of a reservation: tokens that were not used after all. */
  returned(policy: Policy, allotment: Allotment, amount: number): void;
  /** What a limit has admitted. False where there is no memory for it: then it must not be admitted. */
  admitted(window: LimitWindow, amount: number): boolean;
  /** What it has admitted is not used after all. */
  withdrawn(window: LimitWindow, amount: number): void;
}
