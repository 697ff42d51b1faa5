import { MAXIMUM_HOPS } from '@quotadb/quota';
import type { QuotaAnswer, QuotaRequest } from '@quotadb/resp';
import { FrameKind, type PolicyAnswer, type PolicyChange } from '@quotadb/wire';
import { regionOfId } from './local-answers.js';

const forwardable = ['define', 'drop', 'commit', 'cancel', 'renew', 'release'] as const;

/** What is done in one region, wherever it is asked for: changes of policies at their home, the rest where the id is from. */
export type Forwardable = Extract<QuotaRequest, { readonly kind: (typeof forwardable)[number] }>;

/** As it travels, in JSON. */
export interface Forwarded {
  readonly to: string;
  /** Links that it has passed. */
  readonly hops: number;
  readonly request: Forwardable;
}

/** A region that says nothing for so long is taken for one that cannot be reached. */
const PATIENCE_MS = 5000;
/** So that an answer comes before that. */
const LONGEST_WAIT_MS = 3000;

/** The end of a link that requests are sent over. */
export interface RequestLink {
  readonly region: string;
  send(frame: PolicyChange | PolicyAnswer): void;
}

interface Pending {
  readonly link: RequestLink;
  readonly forwarded: Forwarded;
  readonly answered: (answer: QuotaAnswer) => void;
  readonly timer: NodeJS.Timeout;
}

/** Requests on their way to the region that they are for, and back. */
export class ForwardedRequests {
  private readonly pending = new Map<number, Pending>();
  private lastRequest = 0;

  forward(link: RequestLink | undefined, forwarded: Forwarded, answered: (answer: QuotaAnswer) => void): void {
    if (link === undefined || forwarded.hops >= MAXIMUM_HOPS) {
      answered({ error: unreachable(forwarded) });
      return;
    }
    const number = ++this.lastRequest;
    const timer = setTimeout(() => this.settle(number, { error: unanswered(forwarded) }), PATIENCE_MS);
    this.pending.set(number, { link, forwarded, answered, timer });
    const body = Buffer.from(JSON.stringify({ ...forwarded, hops: forwarded.hops + 1 }));
    link.send({ kind: FrameKind.policyChange, request: number, body });
  }

  heard({ request, body }: PolicyAnswer): void {
    this.settle(request, JSON.parse(Buffer.from(body).toString()) as QuotaAnswer);
  }

  /** A link is gone, and with it what was asked over it. */
  lost(link: RequestLink): void {
    for (const [number, pending] of this.pending)
      if (pending.link === link) this.settle(number, { error: unanswered(pending.forwarded) });
  }

  private settle(number: number, answer: QuotaAnswer): void {
    const pending = this.pending.get(number);
    if (pending === undefined) return;
    this.pending.delete(number);
    clearTimeout(pending.timer);
    pending.answered(answer);
  }
}

/** The region that has to do it; undefined where that is whichever is asked. */
export function regionOf(request: QuotaRequest, home: string): string | undefined {
  if (request.kind === 'define' || request.kind === 'drop') return home;
  if (request.kind === 'commit' || request.kind === 'cancel') return regionOfId(request.reservation);
  return request.kind === 'renew' || request.kind === 'release' ? regionOfId(request.lease) : undefined;
}

/** Throws where it makes no sense. */
export function readForwarded({ body }: PolicyChange): Forwarded {
  const forwarded = JSON.parse(Buffer.from(body).toString()) as Forwarded;
  const isForwarded =
    typeof forwarded?.to === 'string' &&
    Number.isSafeInteger(forwarded.hops) &&
    forwardable.includes(forwarded.request?.kind);
  if (!isForwarded) throw new Error('this is no request to pass on');
  const { request } = forwarded;
  if (request.kind !== 'renew') return forwarded;
  return { ...forwarded, request: { ...request, waitMs: Math.min(request.waitMs ?? 0, LONGEST_WAIT_MS) } };
}

export function answerTo({ request }: PolicyChange, answer: QuotaAnswer): PolicyAnswer {
  return { kind: FrameKind.policyAnswer, request, body: Buffer.from(JSON.stringify(answer)) };
}

function isOfPolicies({ request }: Forwarded): boolean {
  return request.kind === 'define' || request.kind === 'drop';
}

function unreachable(forwarded: Forwarded): string {
  const { to } = forwarded;
  return isOfPolicies(forwarded)
    ? `policies are defined in region ${to}, their home, and there is no connection to it`
    : `it is held in region ${to}, and there is no connection to it`;
}

function unanswered(forwarded: Forwarded): string {
  const { to } = forwarded;
  return isOfPolicies(forwarded)
    ? `region ${to}, the home of policies, has not answered: whether the policy was changed is not known (QUOTA.LIST)`
    : `region ${to}, where it is held, has not answered: whether it was done is not known`;
}
