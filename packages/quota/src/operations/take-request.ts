import type { Allotment } from '../allotments/allotment.js';

/** A cost for one limit. */
export interface TakeItem {
  readonly name: string;
  readonly subject: Uint8Array;
  readonly cost: number;
}

/** A limit of leases that is to be held for a time. */
export interface HoldRequest {
  readonly name: string;
  readonly subject: Uint8Array;
  readonly holdMs: number;
  /** Of a renewal: the lease holds tokens of this policy up to this window. */
  readonly held?: { readonly policy: number; readonly upTo: number };
  readonly waitMs?: number | undefined;
}

export interface TakeRequest {
  readonly items: readonly TakeItem[];
  /** How long to wait for tokens of other regions; as the policies say where it is left out. */
  readonly waitMs?: number | undefined;
  /** The callback writes what the take is for: that and its usage are on disk together, or neither is. */
  readonly isRecorded?: boolean | undefined;
}

/** The state of a limit after a take. */
export interface Standing {
  /** The subject's own, where it has one. */
  readonly limit: number;
  readonly remainingHere: number;
  readonly remainingEverywhere: number;
  readonly resetMs: number;
  readonly retryAfterMs: number;
}

export type TakeAnswer =
  | { readonly error: string }
  | { readonly isAllowed: boolean; readonly standings: readonly Standing[]; readonly allotments: readonly Allotment[] };
