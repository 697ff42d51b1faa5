import type { Policy, TokenBrokerEvents } from '@quotadb/quota';
import { recordPast } from '../tracing/tracing.js';

/** Refills of one quota in this region. */
export interface RefillCounts {
  refills: number;
  tokensRefilled: number;
  /** Times that no region had tokens left; requests within a moment after such a time are not counted. */
  exhausted: number;
  /** Tokens beyond the limit that this region admitted while it could not reach the allocator. */
  admitted: number;
}

/** Tokens that went to and came from another region. */
export interface FlowCounts {
  /** Granted to it, and returned to it. */
  given: number;
  received: number;
  requests: number;
  waitedMs: number;
}

/** Numbers of quotas are never used again: past this bound the oldest entry is dropped. */
const MAXIMUM_QUOTAS = 2000;

/** Counts what the token broker does, for /metrics and the dashboard. */
export class TokenFigures implements TokenBrokerEvents {
  /** By the number of the quota. */
  readonly byQuota = new Map<number, RefillCounts>();
  readonly byRegion = new Map<string, FlowCounts>();
  /** Frames that the gate has refused, by region and then by kind. */
  readonly refusedFrames = new Map<string, Map<string, number>>();

  filled(policy: Policy, amount: number): void {
    const counts = this.quota(policy);
    counts.refills++;
    counts.tokensRefilled += amount;
  }

  admitted(policy: Policy, amount: number): void {
    this.quota(policy).admitted += amount;
  }

  denied(policy: Policy): void {
    this.quota(policy).exhausted++;
  }

  granted(_: Policy, region: string, amount: number): void {
    this.region(region).given += amount;
  }

  returned(_: Policy, region: string, amount: number): void {
    this.region(region).given += amount;
  }

  received({ name }: Policy, region: string, amount: number, waitedMs: number): void {
    recordPast('tokens wanted', waitedMs, {
      'quotadb.quota': name,
      'quotadb.peer': region,
      'quotadb.granted': amount,
    });
    const counts = this.region(region);
    counts.received += amount;
    counts.requests++;
    counts.waitedMs += waitedMs;
  }

  refused(region: string, frame: string): void {
    const counts = this.refusedFrames.get(region) ?? new Map<string, number>();
    this.refusedFrames.set(region, counts.set(frame, (counts.get(frame) ?? 0) + 1));
  }

  private quota({ number }: Policy): RefillCounts {
    let counts = this.byQuota.get(number);
    if (counts === undefined) {
      counts = { refills: 0, tokensRefilled: 0, exhausted: 0, admitted: 0 };
      this.byQuota.set(number, counts);
      if (this.byQuota.size > MAXIMUM_QUOTAS) this.byQuota.delete(this.byQuota.keys().next().value as number);
    }
    return counts;
  }

  private region(name: string): FlowCounts {
    let counts = this.byRegion.get(name);
    if (counts === undefined) {
      counts = { given: 0, received: 0, requests: 0, waitedMs: 0 };
      this.byRegion.set(name, counts);
    }
    return counts;
  }
}
