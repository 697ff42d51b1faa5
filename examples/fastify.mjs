/** Five requests a minute from each address; one route costs three. */
import { fastifyRateLimit, QuotadbClient, RateLimiter } from '@quotadb/client';
import Fastify from 'fastify';

const client = QuotadbClient.open(process.env.QUOTADB_URL ?? 'quotadb://127.0.0.1:6380');
const limiter = new RateLimiter({
  client,
  limit: 5,
  windowMs: 60_000,
  whenAway: { share: 0.5 },
  prefix: 'example:fastify:',
});

const app = Fastify();
app.addHook('onRequest', fastifyRateLimit({ limiter, cost: (request) => (request.url === '/report' ? 3 : 1) }));
app.get('/', async () => 'hello\n');
app.get('/report', async () => 'a lot of work\n');

console.log(`${await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })}/`);
