import { type EstimateOptions, estimateRequest } from './estimate.js';
import type { BudgetGrant } from './grant.js';
import type { LlmBudgets } from './llm-budgets.js';
import { meteredBody, streamedPassage, wholePassage } from './metered-body.js';
import { denialResponse, errorResponse, errors } from './openai-errors.js';
import { type ModelRequest, readBounded, readModelRequest } from './request-body.js';
import { UsageMeter } from './usage-meter.js';

export interface OpenAiProxyOptions extends EstimateOptions {
  readonly budgets: LlmBudgets;
  /** The server of the models, such as https://api.openai.com. */
  readonly upstream: string;
  /** The key that the upstream gets; the caller's own if left out. */
  readonly upstreamKey?: string;
  /**
   * Who pays for a request; undefined refuses it. If left out, a digest of the key in its Authorization header: keys
   * themselves are not kept.
   */
  readonly subject?: (request: Request) => string | undefined | Promise<string | undefined>;
  readonly maximumRequestBytes?: number;
  /** The longest answer in one piece whose usage is read. */
  readonly maximumAnswerBytes?: number;
  readonly fetch?: typeof fetch;
}

const DEFAULT_REQUEST_BYTES = 16 * 1024 * 1024;
const DEFAULT_ANSWER_BYTES = 32 * 1024 * 1024;
/** A request is broken off this long before its reservation would lapse, so that it is always settled. */
const SETTLE_MARGIN_MS = 5_000;
/** How long the end of an answer waits for its settlement; it goes on in the background after that. */
const SETTLE_WAIT_MS = 1_000;
const METERED = /\/(?:chat\/completions|completions|embeddings)$/;
const UNMETERED = /\/models(?:\/[^/]+)?$/;
/** Of one connection, or set anew for the other. */
const NOT_PASSED_ON = new Set(
  [
    'connection',
    'keep-alive',
    'proxy-authenticate',
    'proxy-authorization',
    'te',
    'trailer',
    'transfer-encoding',
  ].concat(['upgrade', 'host', 'content-length', 'content-encoding', 'accept-encoding', 'expect']),
);

/**
 * A proxy in front of a server that speaks the interface of OpenAI, as a handler of fetch: it holds an estimate in all
 * budgets, forwards the request, counts the tokens of the answer while it streams through, and settles.
 */
export function openAiProxy(options: OpenAiProxyOptions): (request: Request) => Promise<Response> {
  const upstream = options.upstream.replace(/\/$/, '');
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const address = `${upstream}${pathname}${search}`;
    const isMetered = request.method === 'POST' && METERED.test(pathname);
    if (!isMetered && !(request.method === 'GET' && UNMETERED.test(pathname)))
      return errorResponse(errors.unknownPath(request.method, pathname));
    const subject = await (options.subject ?? digestOfKey)(request);
    if (subject === undefined) return errorResponse(errors.noKey());
    return isMetered ? serve(options, request, subject, address) : passOn(options, request, address);
  };
}

async function serve(
  options: OpenAiProxyOptions,
  request: Request,
  subject: string,
  address: string,
): Promise<Response> {
  const { budgets, maximumRequestBytes = DEFAULT_REQUEST_BYTES } = options;
  const bytes = await readBounded(request.body, maximumRequestBytes);
  if (bytes === undefined) return errorResponse(errors.tooLarge(maximumRequestBytes));
  const body = readModelRequest(bytes);
  if (typeof body === 'string') return errorResponse(errors.badRequest(body));
  if (!budgets.hasPriceOf(body.model)) return errorResponse(errors.noPrice(body.model));
  const estimate = estimateRequest(body.fields, options);
  const grant = await budgets.open(subject, { model: body.model, estimate });
  if (grant.denial !== undefined) return denialResponse(grant.denial);
  return forward(options, request, address, body, grant, new UsageMeter(estimate));
}

async function forward(
  options: OpenAiProxyOptions,
  request: Request,
  address: string,
  body: ModelRequest,
  grant: BudgetGrant,
  meter: UsageMeter,
): Promise<Response> {
  const { budgets, maximumAnswerBytes = DEFAULT_ANSWER_BYTES } = options;
  const broken = new AbortController();
  const deadline = AbortSignal.timeout(Math.max(budgets.reservationMs - SETTLE_MARGIN_MS, 1));
  const signal = AbortSignal.any([request.signal, broken.signal, grant.signal, deadline]);
  // Its caller may have gone while the budgets were asked.
  const isSent = !signal.aborted;
  let answer: Response;
  try {
    answer = await send(options, request, address, body.bytes, signal);
  } catch (error) {
    // One that was broken off from here may have been at work on it, also where no answer had begun.
    await (isSent && signal.aborted ? grant.settle(meter.usage) : grant.cancel());
    if (request.signal.aborted) throw error;
    return errorResponse(errors.upstreamFailed(reasonOf(error)));
  }
  const headers = headersOf(answer.headers);
  const isUsed = answer.ok && answer.body !== null;
  const finish = () => atMost(isUsed ? grant.settle(meter.usage) : grant.cancel());
  // The reader may never come back for the rest.
  signal.addEventListener('abort', () => void finish());
  if (answer.body === null) {
    await finish();
    return new Response(null, { status: answer.status, headers });
  }
  const isStreamed = /^text\/event-stream\b/i.test(answer.headers.get('content-type') ?? '');
  const passage = isStreamed ? streamedPassage(meter, body.hidesUsage) : wholePassage(meter, maximumAnswerBytes);
  const stream = meteredBody({ source: answer.body, passage, finish, abort: () => broken.abort() });
  return new Response(stream, { status: answer.status, headers });
}

async function passOn(options: OpenAiProxyOptions, request: Request, address: string): Promise<Response> {
  try {
    const answer = await send(options, request, address, undefined, request.signal);
    return new Response(answer.body, { status: answer.status, headers: headersOf(answer.headers) });
  } catch (error) {
    if (request.signal.aborted) throw error;
    return errorResponse(errors.upstreamFailed(reasonOf(error)));
  }
}

function send(
  { upstreamKey, fetch: send = fetch }: OpenAiProxyOptions,
  request: Request,
  address: string,
  body: Uint8Array | undefined,
  signal: AbortSignal,
): Promise<Response> {
  const headers = headersOf(request.headers);
  if (upstreamKey !== undefined) headers.set('Authorization', `Bearer ${upstreamKey}`);
  // An answer that is packed could not be passed on event by event.
  headers.set('Accept-Encoding', 'identity');
  const { method } = request;
  return send(address, { method, headers, signal, redirect: 'manual', ...(body !== undefined && { body }) });
}

function headersOf(given: Headers): Headers {
  return new Headers([...given].filter(([name]) => !NOT_PASSED_ON.has(name.toLowerCase())));
}

async function digestOfKey(request: Request): Promise<string | undefined> {
  const key = /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  if (key === undefined) return undefined;
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key));
  return `key:${[...new Uint8Array(digest, 0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function atMost(settling: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise((resolve) => {
    timer = setTimeout(resolve, SETTLE_WAIT_MS);
  });
  return Promise.race([settling, patience]).finally(() => clearTimeout(timer));
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== '' ? `${message} (${cause.message})` : message;
}
