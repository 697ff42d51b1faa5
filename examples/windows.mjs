/**
 * Counting in fixed windows. The counter reports counts and makes no decision; with another store the rest stays the
 * same.
 */
import { QuotadbClient } from '@quotadb/client';
import { bucketKey, QuotadbWindowStore, TimeWindowCounter } from '@quotadb/windows';

const client = QuotadbClient.open(process.env.QUOTADB_URL ?? 'quotadb://127.0.0.1:6380');
const store = new QuotadbWindowStore({ client });

const logins = new TimeWindowCounter({ store, durationMs: 3_600_000, threshold: 3 });
const user = `alice ${process.pid}`;
for (let attempt = 1; attempt <= 4; attempt++) {
  const { count, thresholdReached } = await logins.increment(user);
  console.log(`login ${attempt}: ${count} in this hour${thresholdReached ? ', which is a lot' : ''}`);
}

// The time as a part of a plain key.
const key = bucketKey('requests:{customer}:{YYYYMMDDHHmm}', Date.now(), { customer: process.pid });
console.log(`plain counter: ${await client.increment(key)}`);

await client.close();
