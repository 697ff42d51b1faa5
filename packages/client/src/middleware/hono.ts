import type { LimitResult } from '../limiter/limit-result.js';
import { judge, type MiddlewareOptions, PROBLEM_TYPE, REFUSED_STATUS } from './middleware-options.js';

/**
 * What Hono's own context has, as far as a key, a cost or an answer is made of it; Hono itself is no dependency. Where
 * more is needed, name its type: `honoRateLimit<Context>({ … })`.
 */
export interface HonoContext {
  readonly req: {
    readonly method: string;
    readonly path: string;
    readonly url: string;
    readonly raw: Request;
    header(name: string): string | undefined;
    query(name: string): string | undefined;
  };
  header(name: string, value: string): void;
  status(code: 429): void;
  json(body: object): Response;
  text(body: string): Response;
  body(content: string, status: 429, headers: Record<string, string>): Response;
}

export interface HonoOptions<Context> extends MiddlewareOptions<Context> {
  readonly key: NonNullable<MiddlewareOptions<Context>['key']>;
  /**
   * Makes the answer to a refused request in place of the problem document. The status of the context is 429 already,
   * and the answer gets the headers of the limit.
   */
  readonly onLimited?: (context: Context, result: LimitResult) => Response | Promise<Response>;
}

/**
 * `app.use(honoRateLimit({ limiter, key: (context) => … }))`. The key has no default, because some of the runtimes that
 * Hono supports do not know the address of a client.
 */
export function honoRateLimit<Context extends HonoContext = HonoContext>(options: HonoOptions<Context>) {
  return async (context: Context, next: () => Promise<void>): Promise<Response | undefined> => {
    const { headers, refusal } = await judge(options, context, () => undefined);
    if (refusal !== undefined) {
      context.status(REFUSED_STATUS);
      if (options.onLimited !== undefined)
        return withHeaders(await options.onLimited(context, refusal.result), headers);
      return context.body(refusal.body, REFUSED_STATUS, { ...headers, 'Content-Type': PROBLEM_TYPE });
    }
    await next();
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    return undefined;
  };
}

/** A copy, because the headers of some answers, as of one that was fetched, cannot be changed. */
function withHeaders(answer: Response, headers: Readonly<Record<string, string>>): Response {
  const copy = new Response(answer.body, answer);
  for (const [name, value] of Object.entries(headers)) copy.headers.set(name, value);
  return copy;
}
