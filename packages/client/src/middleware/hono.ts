import { tooManyRequests } from './headers.js';
import { judge, type MiddlewareOptions, PROBLEM_MEDIA_TYPE } from './middleware-options.js';

export interface HonoContext {
  readonly req: { header(name: string): string | undefined };
  header(name: string, value: string): void;
  body(content: string, status: 429, headers: Record<string, string>): Response;
}

/**
 * `app.use(honoRateLimit({ limiter, key: (context) => … }))`. Hono runs where there may be no address of a client, so whom a
 * request is counted for must be said.
 */
export function honoRateLimit<Context extends HonoContext>(
  options: MiddlewareOptions<Context> & Required<Pick<MiddlewareOptions<Context>, 'key'>>,
) {
  return async (context: Context, next: () => Promise<void>): Promise<Response | undefined> => {
    const verdict = await judge(options, context, () => undefined);
    if (verdict !== undefined && !verdict.result.success) {
      const headers = { ...verdict.headers, 'Content-Type': PROBLEM_MEDIA_TYPE };
      return context.body(tooManyRequests(verdict.policy, verdict.result), 429, headers);
    }
    await next();
    for (const [name, value] of Object.entries(verdict?.headers ?? {})) context.header(name, value);
    return undefined;
  };
}
