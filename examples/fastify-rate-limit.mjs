/** @fastify/rate-limit as you know it, with its counts in QuotaDB instead of in each process. */
import rateLimit from '@fastify/rate-limit';
import { fastifyRateLimitStore, QuotadbClient } from '@quotadb/client';
import Fastify from 'fastify';

const client = QuotadbClient.open(process.env.QUOTADB_URL ?? 'quotadb://127.0.0.1:6380');

const app = Fastify();
await app.register(rateLimit, {
  max: 5,
  timeWindow: 60_000,
  store: fastifyRateLimitStore(client, 'example:fastify-rate-limit:'),
});
app.get('/', async () => 'hello\n');

console.log(`${await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })}/`);
