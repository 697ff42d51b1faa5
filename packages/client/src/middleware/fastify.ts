import { judge, type MiddlewareOptions } from './middleware-options.js';

export interface FastifyRequest {
  readonly ip: string;
}
interface FastifyReply {
  code(status: number): FastifyReply;
  header(name: string, value: string): FastifyReply;
  send(body: string): FastifyReply;
}

/**
 * `app.addHook('onRequest', fastifyRateLimit({ limiter }))`, for all routes or for one. Counts by the address of the
 * client, or by `key`.
 */
export function fastifyRateLimit<Request extends FastifyRequest>(options: MiddlewareOptions<Request>) {
  return async (request: Request, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const { headers, refusal } = await judge(options, request, ({ ip }) => ip);
    for (const [name, value] of Object.entries(headers)) reply.header(name, value);
    return refusal === undefined ? undefined : reply.code(429).send(refusal);
  };
}
