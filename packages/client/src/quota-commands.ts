import { type CallOptions, numberOf } from './commands.js';
import type { Word } from './resp/encode.js';
import type { Reply } from './resp/reply-parser.js';

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

export interface QuotaSettlement {
  readonly charged: number;
  /** What was used and could not be charged: the limit had no more. */
  readonly uncharged: number;
}

export interface QuotaPolicy {
  readonly limit: number;
  /** 0: the limit holds for ever. */
  readonly windowMs: number;
  /** How long a caller who does not say waits for what other regions hold. */
  readonly waitMs: number;
}

export interface QuotaDefinition {
  readonly limit: number;
  /** Null: the limit holds for ever. */
  readonly windowMs: number | null;
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

export interface QuotaTakeOptions extends CallOptions {
  /** How long to wait for what other regions hold; what the policy says if left out. */
  readonly waitMs?: number;
  /** A repetition with the same id within ten minutes is free and gets the first answer. */
  readonly id?: string;
}

export interface QuotaReserveOptions extends CallOptions {
  readonly waitMs?: number;
  /** What becomes of it when nobody settles it in time: it comes back, unless it is to count as used. */
  readonly lapse?: 'refund' | 'charge';
}

export function takeWords({ waitMs, id }: QuotaTakeOptions): Word[] {
  return [...(waitMs === undefined ? [] : ['WAIT', waitMs]), ...(id === undefined ? [] : ['ID', id])];
}

export function reserveWords({ waitMs, lapse }: QuotaReserveOptions): Word[] {
  return [...(waitMs === undefined ? [] : ['WAIT', waitMs]), ...(lapse === undefined ? [] : ['LAPSE', lapse])];
}

export function definitionWords({ limit, windowMs, allocator, shares = [], waitMs }: QuotaDefinition): Word[] {
  return [
    ...['LIMIT', limit, 'WINDOW', windowMs ?? 'NONE'],
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
  const field = (name: string) => numberOf(flat[flat.indexOf(name) + 1] ?? null);
  return { limit: field('limit'), windowMs: field('window-ms'), waitMs: field('wait-ms') };
}

function standingOf([remainingHere, remainingEverywhere, resetAfterMs, retryAfterMs]: number[]) {
  return {
    remainingHere: remainingHere!,
    remainingEverywhere: remainingEverywhere!,
    resetAfterMs: resetAfterMs!,
    retryAfterMs: retryAfterMs!,
  };
}
