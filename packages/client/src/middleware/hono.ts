import { judge, type MiddlewareOptions } from './middleware-options.js';

export interface HonoContext {
  readonly req: { header(name: string): string | undefined };
  header(name: string, value: string): void;
  body(content: string, status: 429, headers: Record<string, string>): Response;
}

/**
 * `app.use(honoRateLimit({ limiter, key: (context) => … }))`. The key has no default, because some of the runtimes that
 * Hono supports do not know the address of a client.
 */
export function honoRateLimit<Context extends HonoContext>(
  options: MiddlewareOptions<Context> & Required<Pick<MiddlewareOptions<Context>, 'key'>>,
) {
  return async (context: Context, next: () => Promise<void>): Promise<Response | undefined> => {
    const { headers, refusal } = await judge(options, context, () => undefined);
    if (refusal !== undefined) return context.body(refusal, 429, headers);
    await next();
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    return undefined;
  };
}
