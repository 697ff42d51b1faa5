import type { LimitResult } from '../limiter/limit-result.js';
import { judge, type MiddlewareOptions, PROBLEM_TYPE, REFUSED_STATUS } from './middleware-options.js';

/**
 * What Express's own request has, as far as a key or a cost is made of it; Express itself is no dependency. Parameters,
 * query and body are left out, so that Express goes on to infer them for the handlers behind this one. Where more is
 * needed, name the type: `expressRateLimit<Request>({ … })`.
 */
export interface ExpressRequest {
  readonly ip?: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly originalUrl: string;
  readonly hostname: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  get(name: string): string | undefined;
}

export interface ExpressResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  status(code: number): ExpressResponse;
  json(body: unknown): unknown;
  send(body: unknown): unknown;
  end(body: string): unknown;
}

export type ExpressNext = (error?: unknown) => void;

export interface ExpressOptions<Request, Response> extends MiddlewareOptions<Request> {
  /** Answers a refused request in place of the problem document. The status is 429 and the headers are set already. */
  readonly onLimited?: (
    request: Request,
    response: Response,
    next: ExpressNext,
    result: LimitResult,
  ) => void | Promise<void>;
}

/** `app.use(expressRateLimit({ limiter }))`. Counts by the address of the client, or by `key`. */
export function expressRateLimit<
  Request extends ExpressRequest = ExpressRequest,
  Response extends ExpressResponse = ExpressResponse,
>(options: ExpressOptions<Request, Response>) {
  return async (request: Request, response: Response, next: ExpressNext): Promise<void> => {
    try {
      const { headers, refusal } = await judge(options, request, ({ ip }) => ip);
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      if (refusal === undefined) return next();
      response.statusCode = REFUSED_STATUS;
      if (options.onLimited !== undefined) return await options.onLimited(request, response, next, refusal.result);
      response.setHeader('Content-Type', PROBLEM_TYPE);
      response.end(refusal.body);
    } catch (error) {
      next(error);
    }
  };
}
