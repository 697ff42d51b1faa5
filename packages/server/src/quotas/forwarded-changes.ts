import { FrameKind, type PolicyAnswer, type PolicyChange } from '@quotadb/wire';
import type { PartialDefinition, QuotaAnswer } from './quota-link.js';

/** What is to be done at the home. */
export type Change =
  | { readonly kind: 'define'; readonly definition: PartialDefinition }
  | { readonly kind: 'drop'; readonly name: string };

/** A home that says nothing for so long is taken for one that cannot be reached. */
const PATIENCE_MS = 5000;

interface Pending {
  readonly region: string;
  readonly answered: (answer: QuotaAnswer) => void;
  readonly timer: NodeJS.Timeout;
}

/** Changes of policies on their way to the home, and back. */
export class ForwardedChanges {
  private readonly pending = new Map<number, Pending>();
  private lastRequest = 0;

  forward(
    home: string,
    change: Change,
    send: (frame: PolicyChange) => void,
    answered: (answer: QuotaAnswer) => void,
  ): void {
    const request = ++this.lastRequest;
    const timer = setTimeout(() => this.settle(request, { error: unanswered(home) }), PATIENCE_MS);
    this.pending.set(request, { region: home, answered, timer });
    send({ kind: FrameKind.policyChange, request, body: Buffer.from(JSON.stringify(change)) });
  }

  heard({ request, body }: PolicyAnswer): void {
    this.settle(request, JSON.parse(Buffer.from(body).toString()) as QuotaAnswer);
  }

  /** The link to a region is gone, and with it what was asked over it. */
  lost(region: string): void {
    for (const [request, pending] of this.pending)
      if (pending.region === region) this.settle(request, { error: unanswered(region) });
  }

  private settle(request: number, answer: QuotaAnswer): void {
    const pending = this.pending.get(request);
    if (pending === undefined) return;
    this.pending.delete(request);
    clearTimeout(pending.timer);
    pending.answered(answer);
  }
}

function unanswered(home: string): string {
  return `region ${home}, the home of policies, has not answered: whether the policy was changed is not known (QUOTA.LIST)`;
}

export function answerTo({ request }: PolicyChange, answer: QuotaAnswer): PolicyAnswer {
  return { kind: FrameKind.policyAnswer, request, body: Buffer.from(JSON.stringify(answer)) };
}
