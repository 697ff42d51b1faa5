import { tooManyRequests } from './headers.js';
import { judge, type MiddlewareOptions, PROBLEM_MEDIA_TYPE } from './middleware-options.js';

/** Express's request and response, as far as they are needed; Express itself is no dependency. */
export interface ExpressRequest {
  readonly ip?: string | undefined;
}
interface ExpressResponse {
  setHeader(name: string, value: string): unknown;
  statusCode: number;
  end(body: string): unknown;
}

/** `app.use(expressRateLimit({ limiter }))`. Counts by the address of the client unless told otherwise. */
export function expressRateLimit<Request extends ExpressRequest>(options: MiddlewareOptions<Request>) {
  return async (request: Request, response: ExpressResponse, next: (error?: unknown) => void): Promise<void> => {
    try {
      const verdict = await judge(options, request, ({ ip }) => ip);
      for (const [name, value] of Object.entries(verdict?.headers ?? {})) response.setHeader(name, value);
      if (verdict === undefined || verdict.result.success) return next();
      response.statusCode = 429;
      response.setHeader('Content-Type', PROBLEM_MEDIA_TYPE);
      response.end(tooManyRequests(verdict.policy, verdict.result));
    } catch (error) {
      next(error);
    }
  };
}
