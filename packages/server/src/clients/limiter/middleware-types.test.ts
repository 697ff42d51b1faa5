import { expressRateLimit, fastifyRateLimit, honoRateLimit, type RateLimiter } from '@quotadb/client';
import express from 'express';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Context, Hono } from 'hono';
import { expect, test } from 'vitest';

/**
 * The types of the three frameworks, as people use them. That this file compiles is the test; it runs so that nothing
 * in it fails when an application is put together.
 */
const limiter = {} as RateLimiter;

declare module 'express-serve-static-core' {
  interface Request {
    tenant?: { readonly id: string };
  }
}
declare module 'fastify' {
  interface FastifyRequest {
    tenant?: { readonly id: string };
  }
}

test("the middleware for Express takes Express's own request and response", () => {
  const app = express();
  app.use(expressRateLimit({ limiter }));
  app.use(expressRateLimit({ limiter, key: (request) => request.get('x-user') }));
  app.use('/api', expressRateLimit({ limiter, key: (request) => request.ip, cost: ({ path }) => path.length }));
  const apart = expressRateLimit({
    limiter,
    key: ({ headers, hostname }) => `${hostname} ${String(headers['x-user'])}`,
    onLimited: (_request, response, _next, { retryAfterMs }) => {
      response.status(429).json({ retryAfterMs });
    },
  });
  app.use(apart);
  app.get('/orders/:id', apart, (request, response) => {
    const id: string = request.params.id;
    response.send(id + request.body.field);
  });
  app.post(
    '/own',
    expressRateLimit<express.Request, express.Response>({
      limiter,
      key: (request) => request.tenant?.id,
      onLimited: async (request, response, next) => {
        if (request.accepts('html')) response.redirect('/slow-down');
        else next(new Error('too many'));
      },
    }),
  );
  express.Router().use(expressRateLimit({ limiter, key: (request: express.Request) => request.tenant?.id }));
  expect(app).toBeTypeOf('function');
});

test("the middleware for Fastify takes Fastify's own request and reply", async () => {
  const app = Fastify();
  app.addHook('onRequest', fastifyRateLimit({ limiter }));
  app.addHook('onRequest', fastifyRateLimit({ limiter, key: ({ headers, ip }) => String(headers['x-user'] ?? ip) }));
  const apart = fastifyRateLimit({
    limiter,
    key: (request) => request.url,
    onLimited: (_request, reply, { retryAfterMs }) => reply.send({ retryAfterMs }),
  });
  app.get('/one', { onRequest: apart }, async () => 'one');
  app.get('/two', { preHandler: [apart] }, async () => 'two');
  app.addHook(
    'preHandler',
    fastifyRateLimit<FastifyRequest, FastifyReply>({
      limiter,
      key: (request) => request.tenant?.id ?? request.routeOptions.url,
      onLimited: async (_request, reply) => reply.redirect('/slow-down'),
    }),
  );
  app.addHook('onRequest', fastifyRateLimit({ limiter, key: (request: FastifyRequest) => request.tenant?.id }));
  await app.close();
});

test("the middleware for Hono takes Hono's own context", () => {
  const app = new Hono<{ Variables: { tenant: string } }>();
  app.use(honoRateLimit({ limiter, key: (context) => context.req.header('x-user') }));
  app.use('/api/*', honoRateLimit({ limiter, key: (context) => context.req.query('tenant') ?? context.req.path }));
  const apart = honoRateLimit({
    limiter,
    key: ({ req }) => req.header('x-user'),
    onLimited: (context, { retryAfterMs }) => context.json({ retryAfterMs }),
  });
  app.get('/one', apart, (context) => context.text('one'));
  app.use(
    honoRateLimit<Context<{ Variables: { tenant: string } }>>({
      limiter,
      key: (context) => context.get('tenant'),
      onLimited: (context) => context.redirect('/slow-down'),
    }),
  );
  app.use(honoRateLimit({ limiter, key: (context: Context) => context.req.param('id') }));
  expect(app.routes.length).toBeGreaterThan(4);
});
