/** Five requests a minute from each address, counted for all processes and regions together. */
import { expressRateLimit, QuotadbClient, RateLimiter } from '@quotadb/client';
import express from 'express';

const client = QuotadbClient.open(process.env.QUOTADB_URL ?? 'quotadb://127.0.0.1:6380');
const limiter = new RateLimiter({ client, limit: 5, windowMs: 60_000, whenAway: 'open', prefix: 'example:express:' });

const app = express();
app.use(expressRateLimit({ limiter }));
app.get('/', (_request, response) => response.send('hello\n'));

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});
