import { tooManyRequests } from './headers.js';
import { judge, type MiddlewareOptions, PROBLEM_MEDIA_TYPE } from './middleware-options.js';

export interface FastifyRequest {
  readonly ip: string;
}
interface FastifyReply {
  code(status: number): FastifyReply;
  header(name: string, value: string): FastifyReply;
  send(body: string): FastifyReply;
}

/**
 * `app.addHook('onRequest', fastifyRateLimit({ limiter }))`, for everything or on a route. Counts by the address of the client
 * unless told otherwise.
 */
export function fastifyRateLimit<Request extends FastifyRequest>(options: MiddlewareOptions<Request>) {
  return async (request: Request, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const verdict = await judge(options, request, ({ ip }) => ip);
    if (verdict === undefined) return undefined;
    for (const [name, value] of Object.entries(verdict.headers)) reply.header(name, value);
    if (verdict.result.success) return undefined;
    return reply
      .code(429)
      .header('Content-Type', PROBLEM_MEDIA_TYPE)
      .send(tooManyRequests(verdict.policy, verdict.result));
  };
}
