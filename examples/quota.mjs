/** A limit that is never exceeded: takes that the process answers alone, and costs that are known only afterwards. */
import { Quota, QuotadbClient } from '@quotadb/client';

const client = QuotadbClient.open(process.env.QUOTADB_URL ?? 'quotadb://127.0.0.1:6380');
await client.quotaDefine('example-tokens', { limit: 1_000, windowMs: 3_600_000 });
const quota = new Quota({ client, name: 'example-tokens', whenAway: 'closed' });

let admitted = 0;
let answeredHere = 0;
for (let request = 0; request < 500; request++) {
  const known = quota.tryTake('alice');
  if (known !== undefined) answeredHere++;
  if ((known ?? (await quota.take('alice'))).success) admitted++;
}
console.log(`${admitted} admitted, ${answeredHere > 0 ? 'some' : 'none'} of them without asking`);

// `await using` does the same, in runtimes that have it.
const reservation = await quota.reserve('alice', 400);
try {
  const { charged } = await reservation.commit(150);
  console.log(`reserved 400, used ${charged}`);
} finally {
  await reservation.cancel();
}

const tooMuch = await quota.reserve('alice', 400);
console.log(`another 400: ${tooMuch.success ? 'allowed' : 'denied'}`);

await quota.close();
console.log(`${(await client.quotaPeek('example-tokens', 'alice')).remainingEverywhere} remain`);
await client.close();
