import { isRegion, isWhole, MAXIMUM_HOPS, MAXIMUM_LIMIT } from '@quotadb/quota';
import type { QuotaAnswer, QuotaRequest, SharedChange } from '@quotadb/resp';
import { FrameKind, type PolicyAnswer, type PolicyChange } from '@quotadb/wire';
import { regionOfId } from './local-answers.js';
import type { Merged } from './shared-changes.js';

const forwardable = [
  'define',
  'drop',
  'catalogue',
  'shared',
  'extra',
  'reset',
  'unspent',
  'commit',
  'cancel',
  'renew',
  'release',
] as const;

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
/** Requests that wait for an answer; a region that does not answer must not fill the memory of another. */
const MAXIMUM_PENDING = 10_000;
/** The random part, and the name of a region. */
const MAXIMUM_ID_CHARACTERS = 64;
/** Of a user, and of the ID of an operation. */
const MAXIMUM_NAME_CHARACTERS = 256;
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
    if (link === undefined || forwarded.hops >= MAXIMUM_HOPS || this.pending.size >= MAXIMUM_PENDING) {
      answered({ error: unreachable(forwarded) });
      return;
    }
    const number = ++this.lastRequest;
    const timer = setTimeout(() => this.settle(number, { error: unanswered(forwarded) }), ANSWER_TIMEOUT_MS);
    this.pending.set(number, { link, forwarded, answered, timer });
    const body = writeForwarded({ ...forwarded, hops: forwarded.hops + 1 });
    link.send({ kind: FrameKind.policyChange, request: number, body });
  }

  /** Throws for an answer that is none to a request that was sent over this link; one that came too late is left. */
  receive(link: RequestLink, { request, body }: PolicyAnswer): void {
    const pending = this.pending.get(request);
    if (pending === undefined) return;
    if (pending.link !== link) throw new Error(`it answers a request to region ${pending.link.region}`);
    const answer = JSON.parse(Buffer.from(body).toString()) as QuotaAnswer;
    if (!isAnswerTo(pending.forwarded.request.kind, answer)) throw new Error('it holds no answer to the request');
    this.settle(request, answer);
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
  if (isPolicyRequest(request)) return home;
  if (request.kind === 'reset' || request.kind === 'unspent') return request.region;
  if (request.kind === 'commit' || request.kind === 'cancel') return regionOfId(request.reservation);
  return request.kind === 'renew' || request.kind === 'release' ? regionOfId(request.lease) : undefined;
}

/** Throws for a body that is no forwarded request, or one that is not for the region that it is sent to. */
export function readForwarded({ body }: PolicyChange, home: string): Forwarded {
  const forwarded = withBytes(JSON.parse(Buffer.from(body).toString()) as Forwarded);
  const isForwarded =
    isRegion(forwarded?.to) &&
    isWhole(forwarded.hops, 0, MAXIMUM_HOPS) &&
    forwardable.includes(forwarded.request?.kind) &&
    hasFields(forwarded.request);
  if (!isForwarded) throw new Error('it holds no request that can be forwarded');
  const { request, to } = forwarded;
  if (regionOf(request, home) !== to) throw new Error(`it holds a request to ${to} that another region has to do`);
  if (request.kind !== 'renew') return forwarded;
  return { ...forwarded, request: { ...request, waitMs: Math.min(request.waitMs ?? 0, LONGEST_WAIT_MS) } };
}

function writeForwarded(forwarded: Forwarded): Uint8Array {
  const { request } = forwarded;
  const subject = 'subject' in request && { subject: Buffer.from(request.subject).toString('base64') };
  return Buffer.from(JSON.stringify({ ...forwarded, request: { ...request, ...subject } }));
}

/** A subject travels in base64. */
function withBytes(forwarded: Forwarded): Forwarded {
  const request = forwarded?.request as { readonly subject?: unknown } | undefined;
  if (typeof request?.subject !== 'string') return forwarded;
  const subject = Uint8Array.from(Buffer.from(request.subject, 'base64'));
  return { ...forwarded, request: { ...forwarded.request, subject } as Forwardable };
}

/** Values are checked again where the request is done: here their types. */
function hasFields(request: Forwardable): boolean {
  const isId = (id: unknown) => typeof id === 'string' && id.length <= MAXIMUM_ID_CHARACTERS;
  if (request.kind === 'define') return typeof request.definition === 'object' && request.definition !== null;
  if (request.kind === 'drop') return typeof request.name === 'string';
  if (request.kind === 'catalogue') return request.change !== undefined;
  if (request.kind === 'shared') return typeof request.shared === 'object';
  if (request.kind === 'extra' || request.kind === 'reset' || request.kind === 'unspent') return isOnSubject(request);
  if (request.kind === 'commit') return isId(request.reservation) && Number.isSafeInteger(request.actual);
  if (request.kind === 'cancel') return isId(request.reservation);
  if (request.kind === 'release') return isId(request.lease);
  const { lease, ttlMs, waitMs } = request;
  return isId(lease) && Number.isSafeInteger(ttlMs) && (waitMs === undefined || Number.isSafeInteger(waitMs));
}

function isOnSubject(request: Extract<Forwardable, { readonly subject: Uint8Array }>): boolean {
  if (typeof request.name !== 'string' || !(request.subject instanceof Uint8Array)) return false;
  if (request.kind === 'unspent') return true;
  const { by, id } = request;
  const isWholeAmount = request.kind === 'reset' || isWhole(request.amount, 1, MAXIMUM_LIMIT);
  return isShort(by) && (id === undefined || isShort(id)) && isWholeAmount;
}

function isShort(text: unknown): boolean {
  return typeof text === 'string' && text.length <= MAXIMUM_NAME_CHARACTERS;
}

function isAnswerTo(kind: Forwardable['kind'], answer: QuotaAnswer): boolean {
  if (typeof answer !== 'object' || answer === null) return false;
  if ('error' in answer) return typeof answer.error === 'string';
  const { value } = answer;
  if (kind === 'commit') return areWhole(value, ['charged', 'uncharged']);
  if (kind === 'extra' || kind === 'unspent') return isWhole(value as number, 0, 2 * MAXIMUM_LIMIT);
  if (kind === 'reset') return areWhole(value, ['refunded']);
  if (kind === 'renew') return areWhole(value, ['ttlMs', 'retryAfterMs']);
  if (kind === 'shared') return Array.isArray((value as Merged | null)?.refused);
  return typeof value === 'boolean' || Array.isArray((value as SharedChange | null)?.shared?.policies);
}

function areWhole(value: unknown, names: readonly string[]): boolean {
  const fields = value as Readonly<Record<string, unknown>> | null;
  return typeof fields === 'object' && fields !== null && names.every((name) => Number.isSafeInteger(fields[name]));
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

function isPolicyRequest({ kind }: QuotaRequest): boolean {
  return ['define', 'drop', 'catalogue', 'shared', 'extra'].includes(kind);
}
