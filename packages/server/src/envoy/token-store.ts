import { slotOfKey, slotTag, withoutSlotTag } from '@quotadb/cluster';
import type { ReservedTokens, TokenError, TokenStanding, TokenStore } from '@quotadb/envoy';
import type { Reserved, Standing } from '@quotadb/quota';
import { type QuotaAnswer, type QuotaRequest, systemMonotonicMs } from '@quotadb/resp';
import type { QuotaService } from '../quotas/service.js';
import type { AnyGroup, Work } from './any-group.js';

const QUOTAS_PATH = '/api/v1/quotas';

/** Tokens of quotas, set aside as reservations that lapse as spent; in a cluster, in the group of their subject. */
export class EnvoyTokenStore implements TokenStore {
  private readonly quotas: QuotaService;
  /** Undefined where there is no cluster. */
  private readonly groups: AnyGroup | undefined;

  constructor(quotas: QuotaService, groups: AnyGroup | undefined) {
    this.quotas = quotas;
    this.groups = groups;
  }

  monotonicMs(): number {
    return systemMonotonicMs();
  }

  peek(quota: string, subject: Buffer): Promise<TokenStanding | TokenError> {
    return this.run({
      subjects: [subject],
      here: () => this.peekHere(quota, subject),
      method: 'GET',
      target: `${targetOf(quota)}?subject=${encodeURIComponent(subject.toString())}`,
      read: ({ remainingEverywhere: remaining, resetMs }: Standing) => ({ remaining, resetMs }),
    });
  }

  reserve(quota: string, subject: Buffer, tokens: number, ttlMs: number): Promise<ReservedTokens | TokenError> {
    return this.run({
      subjects: [subject],
      here: () => this.reserveHere(quota, subject, tokens, ttlMs),
      method: 'POST',
      target: `${targetOf(quota)}/reserve`,
      body: { subject: subject.toString(), estimate: tokens, ttlMs, lapse: 'charge' },
      read: ({ reservation = '', resetMs }: { readonly reservation?: string; readonly resetMs: number }) => ({
        ...{ id: reservation, resetMs },
      }),
    });
  }

  /** A share that has lapsed is spent already. */
  settle(id: string, used: number): void {
    void this.run<unknown>({
      subjects: [Buffer.from(id)],
      here: () => this.ask({ kind: 'commit', reservation: withoutSlotTag(id), actual: used }),
      method: 'POST',
      target: `${QUOTAS_PATH}/reservations/${encodeURIComponent(id)}/commit`,
      body: { actual: used },
      read: () => undefined,
    });
  }

  private async run<Result>(work: Omit<Work<Result>, 'waitMs'>): Promise<Result | TokenError> {
    if (this.groups === undefined) return work.here();
    return this.groups.run({ ...work, waitMs: 0 }).catch((error: Error) => ({ error: error.message }));
  }

  private async peekHere(quota: string, subject: Buffer): Promise<TokenStanding | TokenError> {
    const answer = await this.ask({ kind: 'peek', name: quota, subject });
    if ('error' in answer) return answer;
    const { remainingEverywhere, resetMs } = answer.value as Standing;
    return { remaining: remainingEverywhere, resetMs };
  }

  private async reserveHere(
    quota: string,
    subject: Buffer,
    tokens: number,
    ttlMs: number,
  ): Promise<ReservedTokens | TokenError> {
    const item = { name: quota, subject, cost: tokens };
    const answer = await this.ask({ kind: 'reserve', item, ttlMs, lapse: 'charge' });
    if ('error' in answer) return answer;
    const { id, standing } = answer.value as Exclude<Reserved, { readonly error: string }>;
    const tag = this.groups === undefined || id === '' ? '' : slotTag(slotOfKey(subject, 0, subject.length));
    return { id: `${id}${tag}`, resetMs: standing.resetMs };
  }

  private ask(request: QuotaRequest): Promise<QuotaAnswer> {
    return new Promise((resolve) => this.quotas.ask(request, resolve));
  }
}

function targetOf(quota: string): string {
  return `${QUOTAS_PATH}/${encodeURIComponent(quota)}`;
}
