/** At most two at once, in all processes and regions together: a lease is renewed while the work goes on. */
import { Quota, QuotadbClient } from '@quotadb/client';

const client = QuotadbClient.open(process.env.QUOTADB_URL ?? 'quotadb://127.0.0.1:6380');
await client.quotaDefine('example-jobs', { limit: 2, leaseMs: 60_000 });
const jobs = new Quota({ client, name: 'example-jobs', whenAway: 'closed' });

let running = 0;
let mostAtOnce = 0;

async function runJob() {
  const lease = await jobs.acquire('alice');
  if (!lease.success) return 'denied';
  try {
    running++;
    mostAtOnce = Math.max(mostAtOnce, running);
    // The work itself; lease.signal would stop it if the lease were lost.
    await new Promise((resolve) => setTimeout(resolve, 100));
    return lease.signal.aborted ? 'lost' : 'done';
  } finally {
    running--;
    await lease.release();
  }
}

const outcomes = await Promise.all([runJob(), runJob(), runJob()]);
console.log(outcomes.sort().join(', '));
console.log(`${mostAtOnce} at once`);
console.log(await runJob());
await jobs.close();
await client.close();
