import { type CallOptions, numberOf } from './commands.js';
import type { Word } from './resp/encode.js';
import type { Reply } from './resp/values.js';

/** How a quota stands for one subject, as far as it is known where it was asked. */
export interface QuotaStanding {
  readonly remainingHere: number;
  readonly remainingEverywhere: number;
  /** Until the window is over; −1 where there is none. */
  readonly resetAfterMs: number;
}

export interface QuotaDecision extends QuotaStanding {
  readonly allowed: boolean;
  /** After how long to try again; 0 where it was allowed, −1 where it never will be. */
  readonly retryAfterMs: number;
}

export interface SeveralQuotaDecisions {
  readonly allowed: boolean;
  readonly quotas: readonly Omit<QuotaDecision, 'allowed'>[];
}

export interface QuotaReserved extends QuotaDecision {
  /** What it is settled by; undefined where it was denied. */
  readonly reservation: string | undefined;
}

export interface QuotaAcquired extends QuotaDecision {
  /** What it is renewed and released by; undefined where it was denied. */
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
  /** What was used and could not be charged: the limit had no more. */
  readonly uncharged: number;
}

export interface QuotaPolicy {
  readonly limit: number;
  /** 0: the limit holds for ever. */
  readonly windowMs: number;
  /** How long a lease holds at most, where what is held at once is limited; 0 where it is what is used up. */
  readonly leaseMs: number;
  /** How long a caller who does not say waits for what other regions hold. */
  readonly waitMs: number;
}

export interface QuotaDefinition {
  readonly limit: number;
  /** Null: the limit holds for ever. */
  readonly windowMs?: number | null;
  /** In place of a window: what is held at once is limited, and a lease holds so long at most. */
  readonly leaseMs?: number;
  /** The region that begins every window with the limit; the home if left out. */
  readonly allocator?: string;
  /** Which part of the limit a region begins with by itself. */
  readonly shares?: readonly { readonly region: string; readonly fraction: number }[];
  /** 0 denies at once what would have to be waited for. */
  readonly waitMs?: number;
}

export interface QuotaItem {
  readonly name: string;
  readonly subject: string;
  readonly cost: number;
}

export interface QuotaWaitOptions extends CallOptions {
  /** How long to wait for what other regions hold; what the policy says if left out. */
  readonly waitMs?: number;
}

export interface QuotaTakeOptions extends QuotaWaitOptions {
  /** A repetition with the same id within ten minutes is free and gets the first answer. */
  readonly id?: string;
}

export interface QuotaReserveOptions extends QuotaTakeOptions {
  /** What becomes of it when nobody settles it in time: it comes back, unless it is to count as used. */
  readonly lapse?: 'refund' | 'charge';
}

export function takeWords({ waitMs, id }: QuotaTakeOptions): Word[] {
  return [...(waitMs === undefined ? [] : ['WAIT', waitMs]), ...(id === undefined ? [] : ['ID', id])];
}

export function reserveWords({ lapse, ...options }: QuotaReserveOptions): Word[] {
  return [...takeWords(options), ...(lapse === undefined ? [] : ['LAPSE', lapse])];
}

export function definitionWords(definition: QuotaDefinition): Word[] {
  const { limit, windowMs, leaseMs, allocator, shares = [], waitMs } = definition;
  return [
    ...['LIMIT', limit],
    ...(windowMs === undefined ? [] : ['WINDOW', windowMs ?? 'NONE']),
    ...(leaseMs === undefined ? [] : ['LEASE', leaseMs]),
    ...(allocator === undefined ? [] : ['ALLOCATOR', allocator]),
    ...shares.flatMap(({ region, fraction }) => ['SHARE', region, String(fraction)]),
    ...(waitMs === undefined ? [] : waitMs === 0 ? ['ON-UNREACHABLE', 'DENY'] : ['ON-UNREACHABLE', 'WAIT', waitMs]),
  ];
}

export function quotaDecisionOf(reply: Reply): QuotaDecision {
  const [allowed, ...standing] = reply as number[];
  return { allowed: allowed === 1, ...standingOf(standing) };
}

export function quotaDecisionsOf(reply: Reply): SeveralQuotaDecisions {
  const [allowed, ...quotas] = reply as [number, ...number[][]];
  return { allowed: allowed === 1, quotas: quotas.map(([, ...standing]) => standingOf(standing)) };
}

export function quotaReservedOf(reply: Reply): QuotaReserved {
  const [allowed, reservation, ...standing] = reply as [number, string, ...number[]];
  return { allowed: allowed === 1, reservation: reservation || undefined, ...standingOf(standing) };
}

export function quotaAcquiredOf(reply: Reply): QuotaAcquired {
  const { reservation: lease, ...decision } = quotaReservedOf(reply);
  return { ...decision, lease };
}

export function quotaRenewedOf(reply: Reply): QuotaRenewed {
  const [renewed, ttlMs, retryAfterMs] = reply as number[];
  return { renewed: renewed === 1, ttlMs: ttlMs!, retryAfterMs: retryAfterMs! };
}

export function settlementOf(reply: Reply): QuotaSettlement {
  const [charged, uncharged] = reply as number[];
  return { charged: charged!, uncharged: uncharged! };
}

export function quotaStandingOf(reply: Reply): QuotaStanding {
  const [remainingHere, remainingEverywhere, resetAfterMs] = reply as number[];
  return { remainingHere: remainingHere!, remainingEverywhere: remainingEverywhere!, resetAfterMs: resetAfterMs! };
}

/** RESP2 has no maps: names and values in turn. */
export function quotaPolicyOf(reply: Reply): QuotaPolicy {
  const flat = reply instanceof Map ? [...reply].flat() : (reply as Reply[]);
  const field = (name: string) => {
    const at = flat.indexOf(name);
    return at === -1 ? 0 : numberOf(flat[at + 1] ?? null);
  };
  return {
    limit: field('limit'),
    windowMs: field('window-ms'),
    leaseMs: field('lease-ms'),
    waitMs: field('wait-ms'),
  };
}

function standingOf([remainingHere, remainingEverywhere, resetAfterMs, retryAfterMs]: number[]) {
  return {
    remainingHere: remainingHere!,
    remainingEverywhere: remainingEverywhere!,
    resetAfterMs: resetAfterMs!,
    retryAfterMs: retryAfterMs!,
  };
}
