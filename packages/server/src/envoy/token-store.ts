import type { ReservedTokens, TokenError, TokenStanding, TokenStore } from '@quotadb/envoy';
import type { Reserved, Standing } from '@quotadb/quota';
import { type QuotaAnswer, type QuotaRequest, systemMonotonicMs } from '@quotadb/resp';
import type { QuotaService } from '../quotas/service.js';

/** The tokens of this server's quotas, set aside as reservations that lapse as spent. */
export class EnvoyTokenStore implements TokenStore {
  private readonly quotas: QuotaService;

  constructor(quotas: QuotaService) {
    this.quotas = quotas;
  }

  monotonicMs(): number {
    return systemMonotonicMs();
  }

  async peek(quota: string, subject: Buffer): Promise<TokenStanding | TokenError> {
    const answer = await this.ask({ kind: 'peek', name: quota, subject });
    if ('error' in answer) return answer;
    const { remainingEverywhere, resetMs } = answer.value as Standing;
    return { remaining: remainingEverywhere, resetMs };
  }

  async reserve(quota: string, subject: Buffer, tokens: number, ttlMs: number): Promise<ReservedTokens | TokenError> {
    const item = { name: quota, subject, cost: tokens };
    const answer = await this.ask({ kind: 'reserve', item, ttlMs, lapse: 'charge' });
    if ('error' in answer) return answer;
    const { id, standing } = answer.value as Exclude<Reserved, { readonly error: string }>;
    return { id, resetMs: standing.resetMs };
  }

  /** A share that has lapsed is spent already. */
  settle(id: string, used: number): void {
    this.quotas.ask({ kind: 'commit', reservation: id, actual: used }, () => {});
  }

  private ask(request: QuotaRequest): Promise<QuotaAnswer> {
    return new Promise((resolve) => this.quotas.ask(request, resolve));
  }
}
