import type { QuotaDetails } from '@quotadb/dashboard';
import type { QuotaService } from '../quotas/service.js';

/** One subject of a quota, closely; undefined where there is no such quota. */
export function describeQuota(
  quotas: QuotaService,
  name: string,
  subject: Uint8Array,
  regionOf: (origin: Uint8Array) => string | undefined,
): QuotaDetails | undefined {
  const policy = quotas.policies.find((other) => other.name === name);
  const found = quotas.locateTokens(name, subject, regionOf);
  if (policy === undefined || found === undefined) return undefined;
  return { name, subject: Buffer.from(subject).toString('utf8'), windowMs: policy.windowMs, ...found };
}
