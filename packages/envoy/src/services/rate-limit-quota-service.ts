import { TICK_MS } from '../assigning/bounds.js';
import { type AssignmentFigures, ProxyBuckets, type ProxyBucketsOptions } from '../assigning/proxy-buckets.js';
import { HeldBytes } from '../door/held-bytes.js';
import type { LastingMethod, Methods } from '../door/method.js';
import { MAXIMUM_BUCKET_BYTES } from '../messages/bounds.js';

export const RATE_LIMIT_QUOTA_SERVICE = 'envoy.service.rate_limit_quota.v3.RateLimitQuotaService';

/** Envoy's rate limit quota service: proxies report what they used, and are given shares of exact limits. */
export class RateLimitQuotaService {
  readonly figures: AssignmentFigures = { assigned: 0, denied: 0, tokensGiven: 0, tokensUsed: 0 };
  private readonly options: ProxyBucketsOptions;
  private readonly proxies = new Set<ProxyBuckets>();
  private readonly ticking: NodeJS.Timeout;

  constructor(options: Omit<ProxyBucketsOptions, 'figures' | 'held'>) {
    const held = new HeldBytes(MAXIMUM_BUCKET_BYTES, 'the buckets of all proxies');
    this.options = { ...options, figures: this.figures, held };
    this.ticking = setInterval(() => {
      for (const proxy of this.proxies) proxy.tick();
    }, TICK_MS);
    this.ticking.unref();
  }

  get bucketCount(): number {
    let count = 0;
    for (const { size } of this.proxies) count += size;
    return count;
  }

  get methods(): Methods {
    const method: LastingMethod = {
      kind: 'lasting',
      isOpen: false,
      open: (replies, { caller }) => {
        const proxy = new ProxyBuckets(this.options, replies, caller);
        this.proxies.add(proxy);
        return {
          message: (bytes) => proxy.message(bytes),
          ended: () => replies.end(),
          closed: () => {
            this.proxies.delete(proxy);
            proxy.close();
          },
        };
      },
    };
    return new Map([[`/${RATE_LIMIT_QUOTA_SERVICE}/StreamRateLimitQuotas`, method]]);
  }

  stop(): void {
    clearInterval(this.ticking);
  }
}
