import type {
  QuotaAcquired,
  QuotaDecision,
  QuotaDefinition,
  QuotaPolicy,
  QuotaRenewed,
  QuotaReserved,
  QuotaReserveOptions,
  QuotaSettlement,
  QuotaStanding,
  QuotaTakeOptions,
  SeveralQuotaDecisions,
} from '../contract/quota.js';
import type { Word } from '../resp/encode.js';
import type { Reply } from '../resp/values.js';
import { numberOf } from './rate-replies.js';

/** Remaining here, remaining everywhere, reset and retry in milliseconds. */
type Standing = [number, number, number, number];

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
    ...(windowMs === undefined ? [] : ['WINDOW', windowMs === null ? 'NONE' : `${windowMs}ms`]),
    ...(leaseMs === undefined ? [] : ['LEASE', `${leaseMs}ms`]),
    ...(allocator === undefined ? [] : ['ALLOCATOR', allocator]),
    ...shares.flatMap(({ region, fraction }) => ['SHARE', region, String(fraction)]),
    ...(waitMs === undefined ? [] : waitMs === 0 ? ['ON-UNREACHABLE', 'DENY'] : ['ON-UNREACHABLE', 'WAIT', waitMs]),
  ];
}

export function quotaDecisionOf(reply: Reply): QuotaDecision {
  const [allowed, ...standing] = reply as [number, ...Standing];
  return { allowed: allowed === 1, ...standingOf(standing) };
}

export function quotaDecisionsOf(reply: Reply): SeveralQuotaDecisions {
  const [allowed, ...quotas] = reply as unknown as [number, ...[number, ...Standing][]];
  return { allowed: allowed === 1, quotas: quotas.map(([, ...standing]) => standingOf(standing)) };
}

export function quotaReservedOf(reply: Reply): QuotaReserved {
  const [allowed, reservation, ...standing] = reply as [number, string, ...Standing];
  return { allowed: allowed === 1, reservation: reservation || undefined, ...standingOf(standing) };
}

export function quotaAcquiredOf(reply: Reply): QuotaAcquired {
  const { reservation: lease, ...decision } = quotaReservedOf(reply);
  return { ...decision, lease };
}

export function quotaRenewedOf(reply: Reply): QuotaRenewed {
  const [renewed, ttlMs, retryAfterMs] = reply as [number, number, number];
  return { renewed: renewed === 1, ttlMs, retryAfterMs };
}

export function settlementOf(reply: Reply): QuotaSettlement {
  const [charged, uncharged] = reply as [number, number];
  return { charged, uncharged };
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

function standingOf([remainingHere, remainingEverywhere, resetAfterMs, retryAfterMs]: Standing) {
  return { remainingHere, remainingEverywhere, resetAfterMs, retryAfterMs };
}
