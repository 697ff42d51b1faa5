/** Five requests a minute for each user, by a header; requests without it share one limit. */
import { serve } from '@hono/node-server';
import { honoRateLimit, QuotadbClient, RateLimiter } from '@quotadb/client';
import { Hono } from 'hono';

const client = QuotadbClient.open(process.env.QUOTADB_URL ?? 'quotadb://127.0.0.1:6380');
const limiter = new RateLimiter({ client, limit: 5, windowMs: 60_000, whenAway: 'closed', prefix: 'example:hono:' });

const app = new Hono();
app.use(honoRateLimit({ limiter, key: (context) => context.req.header('x-user') ?? 'anonymous' }));
app.get('/', (context) => context.text('hello\n'));

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}/`);
});
