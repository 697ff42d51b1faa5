import { GrpcStatus } from '@quotadb/replication/grpc';
import type { Domains, Rule } from '../configuration/rule.js';
import { Refusal, refusals } from '../deciding/refusal.js';
import type { HeldBytes } from '../door/held-bytes.js';
import type { Caller, Replies } from '../door/method.js';
import { MAXIMUM_BUCKETS } from '../messages/bounds.js';
import {
  type BucketUsage,
  decodeUsageReports,
  encodeQuotaResponse,
  type Strategy,
} from '../messages/quota-messages.js';
import { ASSIGNMENT_MS, FILL_SECONDS, GRACE_MS, IDLE_MS, LEAD_MS, RETRY_MS, SERIALS, SETTLE_MS } from './bounds.js';
import { Bucket } from './bucket.js';
import { type BucketMatch, findBucketRule } from './find-bucket.js';
import type { TokenStore } from './token-store.js';

export interface ProxyBucketsOptions {
  readonly domains: () => Domains;
  readonly tokens: TokenStore;
  readonly figures: AssignmentFigures;
  /** What the buckets of all streams take. */
  readonly held: HeldBytes;
  /** A bucket whose limit is not exact cannot be shared out. */
  readonly onUnshared: (rule: Rule) => void;
}

export interface AssignmentFigures {
  assigned: number;
  denied: number;
  tokensGiven: number;
  tokensUsed: number;
}

/** The buckets of one stream: one proxy, or one worker of it. */
export class ProxyBuckets {
  private readonly options: ProxyBucketsOptions;
  private readonly replies: Replies;
  private readonly caller: Caller;
  private readonly buckets = new Map<string, Bucket>();
  private domain = '';
  private serial = 0;
  private isClosed = false;

  constructor(options: ProxyBucketsOptions, replies: Replies, caller: Caller) {
    this.options = options;
    this.replies = replies;
    this.caller = caller;
  }

  get size(): number {
    return this.buckets.size;
  }

  message(bytes: Buffer): void {
    const { domain, usages } = decodeUsageReports(bytes);
    if (this.domain === '') {
      if (domain === '') throw new Refusal(GrpcStatus.invalidArgument, 'the first report must name its domain');
      if (!this.caller.mayCount(domain)) throw refusals.notAllowed(domain);
      this.domain = domain;
    } else if (domain !== '' && domain !== this.domain)
      throw new Refusal(GrpcStatus.invalidArgument, `this stream is of the domain '${this.domain}': open another one`);
    for (const usage of usages) this.report(usage);
  }

  /** Its shares count as spent: the proxy may use them until they end, and can no longer report. */
  close(): void {
    this.isClosed = true;
    for (const name of this.buckets.keys()) this.options.held.release(bytesOf(name));
    this.buckets.clear();
  }

  /** Replaces assignments that are about to end, and abandons buckets that are not in use. */
  tick(): void {
    const nowMs = this.options.tokens.monotonicMs();
    for (const [name, bucket] of this.buckets) {
      if (nowMs - bucket.lastUsedMs > IDLE_MS) this.abandon(name, bucket);
      else if (nowMs >= bucket.renewMs) this.renew(name, bucket);
    }
  }

  private report(usage: BucketUsage): void {
    const { tokens, figures } = this.options;
    const nowMs = tokens.monotonicMs();
    const name = JSON.stringify(usage.bucket);
    let bucket = this.buckets.get(name);
    if (bucket === undefined) {
      if (this.buckets.size >= MAXIMUM_BUCKETS)
        throw new Refusal(GrpcStatus.resourceExhausted, `a stream reports at most ${MAXIMUM_BUCKETS} buckets`);
      this.options.held.hold(bytesOf(name));
      bucket = new Bucket(usage.bucket, nowMs);
      this.buckets.set(name, bucket);
    }
    figures.tokensUsed += usage.allowed;
    for (const { id, used } of bucket.report(usage, nowMs)) tokens.settle(id, used);
    if (nowMs >= bucket.renewMs) this.renew(name, bucket);
  }

  private renew(name: string, bucket: Bucket): void {
    const match = findBucketRule(this.options.domains(), this.domain, bucket.entries);
    if (match === undefined || match.rule.unit === undefined) this.send(bucket, { kind: 'allowAll' }, ASSIGNMENT_MS);
    else if (match.rule.kind !== 'exact') {
      this.options.onUnshared(match.rule);
      this.abandon(name, bucket);
    } else if (!bucket.isAssigning) {
      bucket.isAssigning = true;
      void this.assign(bucket, match).finally(() => {
        bucket.isAssigning = false;
      });
    }
  }

  private async assign(bucket: Bucket, { rule, counter }: BucketMatch): Promise<void> {
    const { tokens } = this.options;
    const standing = await tokens.peek(rule.limitName, counter);
    if ('error' in standing) {
      this.send(bucket, { kind: 'denyAll' }, RETRY_MS);
      return;
    }
    const unpaid = bucket.takeUnpaid(rule.requestsPerUnit, standing.remaining);
    let count = bucket.want(rule.requestsPerUnit, standing.remaining - unpaid);
    while (count + unpaid > 0 && !this.isClosed) {
      const cost = count + unpaid;
      const reserved = await tokens.reserve(rule.limitName, counter, cost, ASSIGNMENT_MS + GRACE_MS + SETTLE_MS);
      if ('error' in reserved) break;
      if (reserved.id !== '') {
        this.give(bucket, { id: reserved.id, count, unpaid, resetMs: reserved.resetMs });
        return;
      }
      // Others were faster: half of it may be left.
      count = Math.floor(count / 2);
      if (count === 0) break;
    }
    bucket.returnUnpaid(unpaid);
    this.send(bucket, { kind: 'denyAll' }, Math.min(RETRY_MS, Math.max(1, standing.resetMs)));
  }

  private give(
    bucket: Bucket,
    { id, count, unpaid, resetMs }: { id: string; count: number; unpaid: number; resetMs: number },
  ): void {
    const { tokens, figures } = this.options;
    const sentMs = tokens.monotonicMs();
    const ttlMs = Math.max(1, Math.min(ASSIGNMENT_MS, resetMs));
    const windowEndsMs = sentMs + resetMs;
    bucket.add({ id, tokens: count + unpaid, used: unpaid, sentMs, endsMs: sentMs + ttlMs, windowEndsMs });
    this.serial = (this.serial + 1) % SERIALS;
    figures.tokensGiven += count;
    if (count === 0) this.send(bucket, { kind: 'denyAll' }, Math.min(RETRY_MS, ttlMs));
    else this.send(bucket, { kind: 'tokens', tokens: count, fillSeconds: FILL_SECONDS + this.serial }, ttlMs);
  }

  private send(bucket: Bucket, strategy: Strategy, ttlMs: number): void {
    const { tokens, figures } = this.options;
    const leadMs = strategy.kind !== 'denyAll' && ttlMs === ASSIGNMENT_MS ? LEAD_MS : 0;
    bucket.renewMs = tokens.monotonicMs() + ttlMs - leadMs;
    if (strategy.kind === 'denyAll') figures.denied++;
    else figures.assigned++;
    if (!this.isClosed) this.replies.send(encodeQuotaResponse([{ bucket: bucket.entries, strategy, ttlMs }]));
  }

  private abandon(name: string, bucket: Bucket): void {
    if (this.buckets.delete(name)) this.options.held.release(bytesOf(name));
    if (!this.isClosed) this.replies.send(encodeQuotaResponse([{ bucket: bucket.entries, strategy: undefined }]));
  }
}

/** A bucket without its entries, which are in it twice: as they are, and in its name. */
const BUCKET_BYTES = 512;

function bytesOf(name: string): number {
  return 2 * name.length + BUCKET_BYTES;
}
