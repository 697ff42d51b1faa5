import { judge, type MiddlewareOptions } from './middleware-options.js';

/** Express's request and response, as far as they are needed; Express itself is no dependency. */
export interface ExpressRequest {
  readonly ip?: string | undefined;
}
interface ExpressResponse {
  setHeader(name: string, value: string): unknown;
  statusCode: number;
  end(body: string): unknown;
}

/** `app.use(expressRateLimit({ limiter }))`. Counts by the address of the client, or by `key`. */
export function expressRateLimit<Request extends ExpressRequest>(options: MiddlewareOptions<Request>) {
  return async (request: Request, response: ExpressResponse, next: (error?: unknown) => void): Promise<void> => {
    try {
      const { headers, refusal } = await judge(options, request, ({ ip }) => ip);
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      if (refusal === undefined) return next();
      response.statusCode = 429;
      response.end(refusal);
    } catch (error) {
      next(error);
    }
  };
}
