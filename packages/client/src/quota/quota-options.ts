import type {
  QuotaAcquired,
  QuotaDecision,
  QuotaPolicy,
  QuotaReserved,
  QuotaReserveOptions,
  QuotaTakeOptions,
} from '../contract/quota.js';
import type { CallOptions } from '../contract/rate.js';
import type { WhenAway } from '../limiter/away-policy.js';
import type { LeaseBackend } from './lease.js';
import type { ReservationBackend } from './reservation.js';

/** The server that holds the limit: QuotadbClient, over RESP, or QuotadbHttpClient. */
export interface QuotaBackend extends ReservationBackend, LeaseBackend {
  /** The server is known to be out of reach; a request would only wait. */
  readonly isAway: boolean;
  quotaPolicy(name: string, options?: CallOptions): Promise<QuotaPolicy>;
  quotaTake(name: string, subject: string, cost: number, options?: QuotaTakeOptions): Promise<QuotaDecision>;
  quotaReserve(
    name: string,
    subject: string,
    estimate: number,
    ttlMs: number,
    options?: QuotaReserveOptions,
  ): Promise<QuotaReserved>;
  quotaAcquire(name: string, subject: string, ttlMs: number, options?: QuotaTakeOptions): Promise<QuotaAcquired>;
}

export interface QuotaOptions {
  readonly client: QuotaBackend;
  /** The name it was defined by. */
  readonly name: string;
  /** While the server is away and this process holds no tokens: admit all requests, none, or a share of the limit. */
  readonly whenAway: WhenAway;
  /** The limit and its window, for users without the right to QUOTA.INFO; a window of 0 never ends. */
  readonly policy?: { readonly limit: number; readonly windowMs: number };
  /**
   * Which part of the region's tokens this process may take ahead, of each subject; 0.1 if left out. 0 asks the server
   * every time.
   */
  readonly processShare?: number;
  /** How long tokens may lie here unused, and how old a denial may be that is repeated here; 250 ms if left out. */
  readonly stalenessMs?: number;
  /** How long to wait for tokens of other regions; the wait of the policy if left out. */
  readonly waitMs?: number;
  /** How long to wait for the server, beyond that, before it counts as away; 250 ms if left out. */
  readonly timeoutMs?: number;
  /** Subjects that are remembered at once. */
  readonly maxSubjects?: number;
}

export interface ReserveOptions {
  /** A reservation that is not settled for this long lapses; 60,000 ms if left out. */
  readonly ttlMs?: number;
  /** A reservation that lapsed comes back (`refund`, the default) or counts as used (`charge`). */
  readonly lapse?: 'refund' | 'charge';
  /** A repetition with the same id within ten minutes is the same reservation. */
  readonly id?: string;
  readonly signal?: AbortSignal;
}

export interface AcquireOptions {
  /** How long the lease holds without a renewal; 30,000 ms, or what the quota allows, if left out. */
  readonly ttlMs?: number;
  readonly signal?: AbortSignal;
}
