import { MAXIMUM_HOPS } from '@quotadb/quota';
import type { QuotaAnswer, QuotaRequest } from '@quotadb/resp';
import { FrameKind, type PolicyAnswer, type PolicyChange } from '@quotadb/wire';
import { regionOfId } from './local-answers.js';

const forwardable = ['define', 'drop', 'commit', 'cancel', 'renew', 'release'] as const;

/**
 * A request that one certain region has to do: a change of policies their home, every other the region that made the
 * ID.
 */
export type Forwardable = Extract<QuotaRequest, { readonly kind: (typeof forwardable)[number] }>;

/** A forwarded request, as it travels in JSON. */
export interface Forwarded {
  readonly to: string;
  /** Links that it has passed so far. */
  readonly hops: number;
  readonly request: Forwardable;
}

/** A region that does not answer within this time counts as unreachable. */
const ANSWER_TIMEOUT_MS = 5000;
/** The longest wait of a forwarded renewal, so that its answer comes before that timeout. */
const LONGEST_WAIT_MS = 3000;

/** The end of a link that requests are sent over. */
interface RequestLink {
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
    const timer = setTimeout(() => this.settle(number, { error: unanswered(forwarded) }), ANSWER_TIMEOUT_MS);
    this.pending.set(number, { link, forwarded, answered, timer });
    const body = Buffer.from(JSON.stringify({ ...forwarded, hops: forwarded.hops + 1 }));
    link.send({ kind: FrameKind.policyChange, request: number, body });
  }

  receive({ request, body }: PolicyAnswer): void {
    this.settle(request, JSON.parse(Buffer.from(body).toString()) as QuotaAnswer);
  }

  /** A link has closed: the requests sent over it get no answer. */
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

/** The region that has to do a request; undefined where any region can. */
export function regionOf(request: QuotaRequest, home: string): string | undefined {
  if (request.kind === 'define' || request.kind === 'drop') return home;
  if (request.kind === 'commit' || request.kind === 'cancel') return regionOfId(request.reservation);
  return request.kind === 'renew' || request.kind === 'release' ? regionOfId(request.lease) : undefined;
}

/** Throws for a body that is no forwarded request. */
export function readForwarded({ body }: PolicyChange): Forwarded {
  const forwarded = JSON.parse(Buffer.from(body).toString()) as Forwarded;
  const isForwarded =
    typeof forwarded?.to === 'string' &&
    Number.isSafeInteger(forwarded.hops) &&
    forwardable.includes(forwarded.request?.kind);
  if (!isForwarded) throw new Error('a frame holds no request that can be forwarded');
  const { request } = forwarded;
  if (request.kind !== 'renew') return forwarded;
  return { ...forwarded, request: { ...request, waitMs: Math.min(request.waitMs ?? 0, LONGEST_WAIT_MS) } };
}

export function answerTo({ request }: PolicyChange, answer: QuotaAnswer): PolicyAnswer {
  return { kind: FrameKind.policyAnswer, request, body: Buffer.from(JSON.stringify(answer)) };
}

function unreachable({ to, request }: Forwarded): string {
  return isPolicyRequest(request)
    ? `policies are defined in region ${to}, their home, and there is no connection to it`
    : `it is held in region ${to}, and there is no connection to it`;
}

function unanswered({ to, request }: Forwarded): string {
  return isPolicyRequest(request)
    ? `region ${to}, the home of policies, has not answered: whether the policy was changed is not known (QUOTA.LIST)`
    : `region ${to}, where it is held, has not answered: whether it was done is not known`;
}

function isPolicyRequest({ kind }: Forwardable): boolean {
  return kind === 'define' || kind === 'drop';
}
