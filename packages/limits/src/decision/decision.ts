import type { Status } from '@quotadb/engine';

/**
 *   exact        never more than the limit in all regions together: tokens of a quota
 *   sliding      a sliding window, read from two fixed ones
 *   fixed        a fixed window
 *   bucket       GCRA; every node has buckets of its own
 *   concurrency  leases held at once, each until it is released or its time is over
 */
export type Kind = 'exact' | 'sliding' | 'fixed' | 'bucket' | 'concurrency';

/** One limit that a request is checked against, with everything that a decision needs. */
export interface Item {
  /** The name of the limit, for replies and figures. Kinds exact and concurrency: the name of its quota policy. */
  readonly name: string;
  readonly kind: Kind;
  /** Identifies the counter within the limit. */
  readonly subject: Uint8Array;
  /** A whole number, at least 0. Kind concurrency: 1 takes a lease. */
  readonly cost: number;
  /** Infinity: unlimited, and nothing is counted. Kind bucket: the requests that a full bucket admits at once. */
  readonly limit: number;
  /** Kind exact: as its policy has it. Kind bucket: the time in which `refill` requests come back. */
  readonly windowMs: number;
  /** Kind fixed: when the window begins, where it does not begin at a multiple of its length. */
  readonly startMs?: number | undefined;
  /** Kind bucket: the requests that come back in a window; the limit where it is left out. */
  readonly refill?: number | undefined;
  /** It is counted and reported, and never denies. */
  readonly shadow: boolean;
  /** Kind concurrency: names the lease among those of this subject; requests of other subjects may share a parent. */
  readonly lease?: string | undefined;
}

/** Names and numbers are the same for every kind. */
export interface Standing {
  readonly allowed: boolean;
  /** Infinity: unlimited. */
  readonly limit: number;
  /** What this region may still admit now, as far as it knows. */
  readonly remaining: number;
  /** Until the window ends, or the bucket is full; −1 where that is never. */
  readonly resetMs: number;
  /** 0 where the request was allowed, −1 where it never will be. */
  readonly retryAfterMs: number;
}

export interface ItemDecision extends Standing {
  readonly name: string;
  readonly shadow: boolean;
}

/** The decision of a request: of the limit that denied it or, where none did, of the one with the least left. */
export interface Decision extends Standing {
  /** The name of the first limit that denied it. */
  readonly deniedBy: string | undefined;
  /** In the order of the items. */
  readonly items: readonly ItemDecision[];
}

/** Why nothing was decided: the engine refused to count, or a quota is not known here. Nothing was charged. */
export type DecisionRefusal = { readonly status: Status } | { readonly error: string };

/** Whether a limit of this kind is a quota, whose tokens may have to come from other regions. */
export function isOfTokens(kind: Kind): boolean {
  return kind === 'exact' || kind === 'concurrency';
}

/** The most items of one decision. */
export const MAXIMUM_ITEMS = 16;
