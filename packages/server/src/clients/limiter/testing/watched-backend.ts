import {
  type CallOptions,
  ConnectionError,
  type QuotaBackend,
  type QuotaReserveOptions,
  type QuotaTakeOptions,
} from '@quotadb/client';

/** Counts what goes to the server, and can be made to be away. */
export class WatchedBackend implements QuotaBackend {
  readonly backend: QuotaBackend;
  taken = 0;
  renewed = 0;
  reserved: number[] = [];
  committed: number[] = [];
  isAway = false;
  isLosing = false;

  constructor(backend: QuotaBackend) {
    this.backend = backend;
  }

  quotaPolicy(name: string, options?: CallOptions) {
    return this.pass(() => this.backend.quotaPolicy(name, options));
  }

  quotaTake(name: string, subject: string, cost: number, options?: QuotaTakeOptions) {
    this.taken++;
    return this.pass(() => this.backend.quotaTake(name, subject, cost, options));
  }

  quotaReserve(name: string, subject: string, estimate: number, ttlMs: number, options?: QuotaReserveOptions) {
    this.reserved.push(estimate);
    return this.pass(() => this.backend.quotaReserve(name, subject, estimate, ttlMs, options));
  }

  quotaCommit(reservation: string, actual: number, options?: CallOptions) {
    this.committed.push(actual);
    return this.pass(() => this.backend.quotaCommit(reservation, actual, options));
  }

  quotaCancel(reservation: string, options?: CallOptions) {
    return this.pass(() => this.backend.quotaCancel(reservation, options));
  }

  quotaAcquire(name: string, subject: string, ttlMs: number, options?: QuotaTakeOptions) {
    return this.pass(() => this.backend.quotaAcquire(name, subject, ttlMs, options));
  }

  async quotaRenew(lease: string, ttlMs: number, options?: CallOptions) {
    const answer = await this.pass(() => this.backend.quotaRenew(lease, ttlMs, options));
    if (answer.renewed) this.renewed++;
    return answer;
  }

  quotaRelease(lease: string, options?: CallOptions) {
    return this.pass(() => this.backend.quotaRelease(lease, options));
  }

  private pass<Result>(call: () => Promise<Result>): Promise<Result> {
    return this.isLosing ? Promise.reject(new ConnectionError('lost', true)) : call();
  }
}
