type Plain = Record<string, unknown>;

interface Assignment {
  readonly endsMs: number;
  readonly rule: 'ALLOW_ALL' | 'DENY_ALL' | 'tokens';
  readonly strategy: string;
  tokens: number;
}

/**
 * One bucket of a proxy, as the protocol describes proxies: requests use the tokens of the active assignment, an
 * assignment with another strategy replaces it, one with the same strategy makes it last longer, and after its end, as
 * before the first, requests are denied or allowed as the proxy is configured.
 */
export class ProxyModel {
  allowed = 0;
  denied = 0;
  isAbandoned = false;
  private readonly bucket: Readonly<Record<string, string>>;
  private readonly allowsWithoutAssignment: boolean;
  private assignment: Assignment | undefined = undefined;
  private reportedMs: number;
  private sinceReport = { allowed: 0, denied: 0 };

  constructor(bucket: Readonly<Record<string, string>>, nowMs: number, allowsWithoutAssignment = false) {
    this.bucket = bucket;
    this.reportedMs = nowMs;
    this.allowsWithoutAssignment = allowsWithoutAssignment;
  }

  /** A RateLimitQuotaResponse, as protobufjs reads it. */
  receive(response: Plain, nowMs: number): void {
    for (const action of (response.bucketAction ?? []) as Plain[]) {
      if (action.abandonAction !== undefined) {
        this.assignment = undefined;
        this.isAbandoned = true;
        continue;
      }
      this.apply(action.quotaAssignmentAction as Plain, nowMs);
    }
  }

  private apply({ assignmentTimeToLive, rateLimitStrategy }: Plain, nowMs: number): void {
    const { seconds = 0, nanos = 0 } = assignmentTimeToLive as { seconds?: number; nanos?: number };
    const endsMs = nowMs + seconds * 1000 + nanos / 1e6;
    const strategy = JSON.stringify(rateLimitStrategy);
    const { blanketRule, tokenBucket } = rateLimitStrategy as {
      blanketRule?: 'ALLOW_ALL' | 'DENY_ALL';
      tokenBucket?: Plain;
    };
    const isSame = this.assignment?.strategy === strategy && this.assignment.endsMs > nowMs;
    const tokens = isSame ? (this.assignment?.tokens ?? 0) : Number(tokenBucket?.maxTokens ?? 0);
    this.assignment = {
      endsMs,
      rule: tokenBucket === undefined ? (blanketRule ?? 'ALLOW_ALL') : 'tokens',
      strategy,
      tokens,
    };
  }

  /** Whether a request is let through. */
  request(nowMs: number): boolean {
    const isAllowed = this.decide(nowMs);
    if (isAllowed) this.allowed++;
    else this.denied++;
    this.sinceReport[isAllowed ? 'allowed' : 'denied']++;
    return isAllowed;
  }

  private decide(nowMs: number): boolean {
    const { assignment } = this;
    if (assignment === undefined) return this.allowsWithoutAssignment;
    if (assignment.endsMs <= nowMs || assignment.rule === 'DENY_ALL') return false;
    if (assignment.rule === 'ALLOW_ALL') return true;
    if (assignment.tokens < 1) return false;
    assignment.tokens--;
    return true;
  }

  /** A RateLimitQuotaUsageReports, for protobufjs. */
  report(domain: string, nowMs: number): Plain {
    const elapsedMs = Math.max(1, nowMs - this.reportedMs);
    const { allowed, denied } = this.sinceReport;
    this.reportedMs = nowMs;
    this.sinceReport = { allowed: 0, denied: 0 };
    const usage = {
      bucketId: { bucket: this.bucket },
      timeElapsed: { seconds: Math.floor(elapsedMs / 1000), nanos: Math.floor((elapsedMs % 1000) * 1e6) },
      numRequestsAllowed: allowed,
      numRequestsDenied: denied,
    };
    return { domain, bucketQuotaUsages: { 1: usage } };
  }
}
