import type { CallOptions } from './rate.js';

/** The quota of one subject, as known to the region that answered. */
export interface QuotaStanding {
  readonly remainingHere: number;
  readonly remainingEverywhere: number;
  /** Until the window ends; −1 where the quota has none. */
  readonly resetAfterMs: number;
}

export interface QuotaDecision extends QuotaStanding {
  readonly allowed: boolean;
  /** After how long to try again; 0 where the request was allowed, −1 where its cost is above the limit. */
  readonly retryAfterMs: number;
}

export interface SeveralQuotaDecisions {
  readonly allowed: boolean;
  readonly quotas: readonly Omit<QuotaDecision, 'allowed'>[];
}

export interface QuotaReserved extends QuotaDecision {
  /** The id to commit or cancel it by; undefined where it was denied. */
  readonly reservation: string | undefined;
}

export interface QuotaAcquired extends QuotaDecision {
  /** The id to renew or release it by; undefined where it was denied. */
  readonly lease: string | undefined;
}

export interface QuotaRenewed {
  readonly renewed: boolean;
  /** How long the lease holds from now on; as long as before where it was not renewed. */
  readonly ttlMs: number;
  readonly retryAfterMs: number;
}

export interface QuotaSettlement {
  readonly charged: number;
  /** Used above the estimate and not charged, because the limit was reached. */
  readonly uncharged: number;
}

export interface QuotaPolicy {
  readonly limit: number;
  /** 0: the limit holds for ever. */
  readonly windowMs: number;
  /** How long a lease holds at most, for a quota of leases held at once; 0 for a quota of tokens that are used up. */
  readonly leaseMs: number;
  /** How long a request without a wait of its own waits for tokens of other regions. */
  readonly waitMs: number;
}

export interface QuotaDefinition {
  readonly limit: number;
  /** Null: the limit holds for ever. */
  readonly windowMs?: number | null;
  /** In place of a window: the quota limits leases held at once, and a lease holds this long at most. */
  readonly leaseMs?: number;
  /** The region that begins every window with the limit; the home if left out. */
  readonly allocator?: string;
  /** The parts of the limit that regions begin with, without asking the allocator. */
  readonly shares?: readonly { readonly region: string; readonly fraction: number }[];
  /** 0 denies at once a request that would wait for another region. */
  readonly waitMs?: number;
}

export interface QuotaItem {
  readonly name: string;
  readonly subject: string;
  readonly cost: number;
}

export interface QuotaWaitOptions extends CallOptions {
  /** How long to wait for tokens of other regions; the wait of the policy if left out. */
  readonly waitMs?: number;
}

export interface QuotaTakeOptions extends QuotaWaitOptions {
  /** A repetition with the same id within ten minutes is free and gets the first answer. */
  readonly id?: string;
}

export interface QuotaReserveOptions extends QuotaTakeOptions {
  /** A reservation that is not settled in time comes back (`refund`, the default) or counts as used (`charge`). */
  readonly lapse?: 'refund' | 'charge';
}
