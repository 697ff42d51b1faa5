import type { LimitResult } from '../limiter/limit-result.js';
import { judge, type MiddlewareOptions, PROBLEM_TYPE, REFUSED_STATUS } from './middleware-options.js';

/**
 * What Fastify's own request has, as far as a key or a cost is made of it; Fastify itself is no dependency. Where more
 * is needed, name its type: `fastifyRateLimit<FastifyRequest>({ … })`.
 */
export interface FastifyRequestLike {
  readonly ip: string;
  readonly method: string;
  readonly url: string;
  readonly hostname: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly query: unknown;
  readonly params: unknown;
  readonly body: unknown;
}

export interface FastifyReplyLike {
  code(status: number): FastifyReplyLike;
  header(name: string, value: string): FastifyReplyLike;
  send(body?: unknown): FastifyReplyLike;
}

export interface FastifyOptions<Request, Reply> extends MiddlewareOptions<Request> {
  /**
   * Answers a refused request in place of the problem document: it sends a reply, and returns it. The status is 429 and
   * the headers are set already.
   */
  readonly onLimited?: (request: Request, reply: Reply, result: LimitResult) => Reply | Promise<Reply>;
}

/**
 * `app.addHook('onRequest', fastifyRateLimit({ limiter }))`, for all routes or for one. Counts by the address of the
 * client, or by `key`.
 */
export function fastifyRateLimit<
  Request extends FastifyRequestLike = FastifyRequestLike,
  Reply extends FastifyReplyLike = FastifyReplyLike,
>(options: FastifyOptions<Request, Reply>) {
  return async (request: Request, reply: Reply): Promise<unknown> => {
    const { headers, refusal } = await judge(options, request, ({ ip }) => ip);
    for (const [name, value] of Object.entries(headers)) reply.header(name, value);
    if (refusal === undefined) return undefined;
    reply.code(REFUSED_STATUS);
    if (options.onLimited !== undefined) return options.onLimited(request, reply, refusal.result);
    return reply.header('Content-Type', PROBLEM_TYPE).send(refusal.body);
  };
}
