/** Several limits on one request, all or none; and a bucket for a steady pace. */
import { QuotadbClient } from '@quotadb/client';

const client = QuotadbClient.open(process.env.QUOTADB_URL ?? 'quotadb://127.0.0.1:6380');
const id = process.pid;

const rules = [
  { key: `ip:${id}`, limit: 100, windowMs: 60_000 },
  { key: `user:${id}`, limit: 2, windowMs: 3_600_000 },
];
for (let request = 1; request <= 3; request++) {
  const { allowed, decisions } = await client.rateLimitAll(rules);
  const [byAddress, byUser] = decisions.map(({ remaining }) => remaining);
  console.log(`request ${request}: ${allowed ? 'allowed' : 'denied'}, ${byAddress} and ${byUser} remain`);
}

const { allowed, remaining } = await client.gcra(`pace:${id}`, { burst: 4, count: 10, periodMs: 1_000 });
console.log(`bucket: ${allowed ? 'allowed' : 'denied'}, ${remaining} remain`);

await client.close();
