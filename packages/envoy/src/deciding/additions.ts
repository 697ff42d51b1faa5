import type { LimitOverride, RateLimitRequest, RequestDescriptor } from '../messages/rate-limit-request.js';
import { Code, type DescriptorStatus } from '../messages/rate-limit-response.js';
import type { StructValue, Value } from '../messages/struct.js';
import { unitNumbered } from '../messages/units.js';

/** Headers of draft 03, from the limit that denied or, where none did, from the one with the least left. */
export function headersOf(statuses: readonly DescriptorStatus[]): readonly (readonly [string, string])[] {
  let least: DescriptorStatus | undefined;
  for (const status of statuses) {
    if (status.limit === undefined) continue;
    if (status.code === Code.overLimit || least === undefined || isLess(status, least)) least = status;
  }
  if (least?.limit === undefined) return [];
  return [
    ['x-ratelimit-limit', String(least.limit.requestsPerUnit)],
    ['x-ratelimit-remaining', String(least.remaining)],
    ['x-ratelimit-reset', String(least.resetSeconds)],
  ];
}

function isLess(status: DescriptorStatus, least: DescriptorStatus): boolean {
  return least.code !== Code.overLimit && status.remaining < least.remaining;
}

/** The request as it came, and the limits in quota mode that it is over, as the reference names them. */
export function metadataOf(
  { domain, descriptors, hits }: RateLimitRequest,
  isQuotaMode: boolean,
  violations: readonly number[],
): StructValue {
  return {
    domain,
    descriptors: descriptors.map(describe),
    ...(hits > 0 && { hitsAddend: hits }),
    quotaModeEnabled: isQuotaMode,
    ...(violations.length > 0 && { quotaModeViolations: violations.toSorted((one, other) => one - other) }),
  };
}

function describe({ entries, limit, hits }: RequestDescriptor): Value {
  return {
    entries: entries.map(({ key, value }) => `${key}=${value}`),
    ...(limit !== undefined && { limit: printLimit(limit) }),
    ...(hits !== undefined && { hitsAddend: hits }),
  };
}

function printLimit({ requestsPerUnit, unit }: LimitOverride): string {
  return `requests_per_unit:${requestsPerUnit} unit:${(unitNumbered(unit) ?? 'unknown').toUpperCase()}`;
}
