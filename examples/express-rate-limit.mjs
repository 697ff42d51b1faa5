/** express-rate-limit as you know it, with its counts in QuotaDB instead of in each process. */
import { ExpressRateLimitStore, QuotadbClient } from '@quotadb/client';
import express from 'express';
import { rateLimit } from 'express-rate-limit';

const client = QuotadbClient.open(process.env.QUOTADB_URL ?? 'quotadb://127.0.0.1:6380');

const app = express();
app.use(
  rateLimit({
    windowMs: 60_000,
    limit: 5,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    store: new ExpressRateLimitStore({ client, prefix: 'example:express-rate-limit:' }),
  }),
);
app.get('/', (_request, response) => response.send('hello\n'));

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});
