import type { BudgetDenial } from './budget.js';

/** An error as clients of the interface of OpenAI read it. */
export interface OpenAiError {
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function errorResponse({ status, type, code, message, headers = {} }: OpenAiError): Response {
  const body = JSON.stringify({ error: { message, type, param: null, code } });
  return new Response(body, { status, headers: { ...headers, 'Content-Type': 'application/json' } });
}

export const errors = {
  noKey: (): OpenAiError => ({
    status: 401,
    type: 'invalid_request_error',
    code: 'invalid_api_key',
    message: 'The request has no API key. Send one as "Authorization: Bearer KEY".',
  }),
  unknownPath: (method: string, path: string): OpenAiError => ({
    status: 404,
    type: 'invalid_request_error',
    code: 'unknown_url',
    message: `${method} ${path} is not served here: its use could not be counted.`,
  }),
  badRequest: (message: string): OpenAiError => ({
    status: 400,
    type: 'invalid_request_error',
    code: 'invalid_request',
    message,
  }),
  noPrice: (model: string): OpenAiError => ({
    status: 400,
    type: 'invalid_request_error',
    code: 'model_not_priced',
    message: `The model ${JSON.stringify(model)} has no price here, so no budget can pay for it.`,
  }),
  tooLarge: (maximum: number): OpenAiError => ({
    status: 413,
    type: 'invalid_request_error',
    code: 'request_too_large',
    message: `A request has at most ${maximum} bytes.`,
  }),
  upstreamFailed: (reason: string): OpenAiError => ({
    status: 502,
    type: 'server_error',
    code: 'upstream_failed',
    message: `The model's server could not be reached, and nothing was charged: ${reason}.`,
  }),
} as const;

/** 429 where the budget is used up, with the time to try again; 503 where the budget cannot be looked up. */
export function denialResponse({ budget, result }: BudgetDenial): Response {
  const { retryAfterMs, reason } = result;
  const headers = retryHeaders(reason === 'away' ? Math.max(retryAfterMs, 1_000) : retryAfterMs);
  if (reason === 'away')
    return errorResponse({
      status: 503,
      type: 'server_error',
      code: 'budget_unavailable',
      message: `The budget '${budget.quota}' cannot be looked up at the moment.`,
      headers,
    });
  const isNever = retryAfterMs < 0;
  return errorResponse({
    status: 429,
    type: budget.counts === 'money' ? 'insufficient_quota' : 'rate_limit_error',
    code: isNever || budget.counts === 'money' ? 'insufficient_quota' : 'rate_limit_exceeded',
    message: isNever
      ? `The request is estimated at more than the whole budget '${budget.quota}': ask for fewer tokens.`
      : `The budget '${budget.quota}' ${LACKS[budget.counts]}. Try again in ${seconds(retryAfterMs)} s.`,
    headers,
  });
}

const LACKS = {
  tokens: 'has too few tokens left for this request',
  money: 'has too little money left for this request',
  requests: 'has no request left',
  requestsAtOnce: 'has as many requests at once as it allows',
} as const;

/** Clients of OpenAI read the milliseconds too. */
function retryHeaders(retryAfterMs: number): Record<string, string> {
  if (retryAfterMs < 0) return { 'X-Should-Retry': 'false' };
  return {
    'Retry-After': String(seconds(retryAfterMs)),
    'Retry-After-Ms': String(Math.max(Math.ceil(retryAfterMs), 1)),
  };
}

/** Rounded up, so that a client that waits for these seconds has waited long enough. */
function seconds(milliseconds: number): number {
  return Math.max(Math.ceil(milliseconds / 1_000), 1);
}
