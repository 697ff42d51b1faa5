import type { QuotaAnswer, QuotaEvent, QuotaRequest } from '@quotadb/resp';
import type { Logger } from 'pino';

/** Kept in memory; the log has all of them. */
const MAXIMUM_EVENTS = 1000;

/** What an operator does to the tokens of a subject. */
export type AuditedRequest = Extract<QuotaRequest, { readonly kind: 'refund' | 'reset' | 'extra' }>;

export function isAudited(request: QuotaRequest): request is AuditedRequest {
  return request.kind === 'refund' || request.kind === 'reset' || request.kind === 'extra';
}

/** Who gave tokens to whom, and when: a log line for each, and the last of them in memory (QUOTA.EVENTS). */
export class QuotaEvents {
  private readonly logger: Logger;
  private readonly now: () => number;
  private readonly ring: QuotaEvent[] = [];

  constructor(logger: Logger, now: () => number) {
    this.logger = logger;
    this.now = now;
  }

  /** `peer` is the region that asked for it, where that is another one. */
  note(request: AuditedRequest, answer: QuotaAnswer, peer = ''): void {
    const subject = Buffer.from(request.subject).toString();
    const amount = 'error' in answer ? 0 : amountOf(request, answer.value);
    const event: QuotaEvent = {
      atMs: this.now(),
      event: `quota.${request.kind}`,
      by: request.by,
      peer,
      quota: request.name,
      subject,
      amount,
      id: request.id ?? '',
      error: 'error' in answer ? answer.error : '',
    };
    this.ring.push(event);
    if (this.ring.length > MAXIMUM_EVENTS) this.ring.shift();
    const { atMs: _, ...fields } = event;
    this.logger.info(fields, 'an operator changed the tokens of a subject');
  }

  /** The newest first. */
  last(count: number): QuotaEvent[] {
    return this.ring.slice(-count).reverse();
  }
}

/** The tokens that the subject has more than before. */
function amountOf(request: AuditedRequest, value: unknown): number {
  return request.kind === 'extra' ? request.amount : (value as { readonly refunded: number }).refunded;
}
