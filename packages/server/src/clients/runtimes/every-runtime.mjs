/**
 * What a client has to be able to do, in whatever runtime this is run: each line is a fact, and the test knows which
 * they have to be. Takes the client's address, the ports of a server and a certificate from its environment.
 */
const { ConnectionError, Quota, QuotadbClient, QuotadbHttpClient, RateLimiter, TimeoutError } = await import(
  process.env.CLIENT_URL
);
const port = Number(process.env.RESP_PORT);
const prefix = `${process.pid} ${Date.now()}:`;
const HOUR_MS = 3_600_000;

function say(what, ...facts) {
  console.log(`${what}: ${facts.join(' ')}`);
}

const client = QuotadbClient.open({ port, reconnectAfterMs: () => 10 });
const other = QuotadbClient.open({ port });
say(
  'counts',
  await client.increment(`${prefix}a`, 5),
  await client.increment(`${prefix}a`),
  await client.get(`${prefix}a`),
);

const exact = QuotadbClient.open({ port, integers: 'bigint' });
say('every digit', await exact.increment(`${prefix}big`, 2n ** 62n + 1n));
await exact.close();

const bytes = Uint8Array.of(255, 0, 13, 10, ...new TextEncoder().encode(prefix));
await client.increment(bytes, 3);
say('keys of any bytes', await client.get(bytes));

const counts = await Promise.all(Array.from({ length: 5_000 }, () => client.increment(`${prefix}pipeline`)));
say(
  'pipelined, in order',
  counts.every((count, index) => count === index + 1),
);

await other.send(['CLIENT', 'KILL', 'ID', await client.send(['CLIENT', 'ID'])]);
let reconnected;
while (reconnected === undefined) {
  reconnected = await client.increment(`${prefix}a`).catch((error) => {
    if (!(error instanceof ConnectionError)) throw error;
  });
}
say('reconnected', reconnected >= 7);

const reason = new Error('not needed');
const given = new AbortController();
const waiting = client.increment(`${prefix}aborted`, 1, { signal: given.signal }).catch((error) => error);
given.abort(reason);
say('aborted', (await waiting) === reason, await client.get(`${prefix}aborted`));

const nowhere = QuotadbClient.open({ port: 1, timeoutMs: 50 });
say('timeout', (await nowhere.ping().catch((error) => error)) instanceof TimeoutError);
await nowhere.close();

async function countAdmitted(attempts, atOnce, ask) {
  let admitted = 0;
  let here = 0;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const known = atOnce();
    if (known?.success) here++;
    if ((known ?? (await ask())).success) admitted++;
  }
  return `${admitted} ${here > 0}`;
}

const limiter = new RateLimiter({ client, limit: 100, windowMs: HOUR_MS, whenAway: 'closed', prefix });
say(
  'rate limit',
  await countAdmitted(
    200,
    () => limiter.tryLimit('k'),
    () => limiter.limitFor('k'),
  ),
);
await limiter.close();

const http = new QuotadbHttpClient({ url: `http://127.0.0.1:${process.env.HTTP_PORT}` });
const name = `runtime-${process.pid}-${Date.now()}`;
await client.quotaDefine(name, { limit: 200, windowMs: HOUR_MS });
for (const [subject, backend] of Object.entries({ resp: client, http })) {
  const quota = new Quota({ client: backend, name, whenAway: 'closed', timeoutMs: 10_000 });
  say(
    `quota over ${subject}`,
    await countAdmitted(
      250,
      () => quota.tryTake(subject),
      () => quota.take(subject),
    ),
  );
  const reservation = await quota.reserve(`${subject} reserved`, 50);
  await reservation[Symbol.asyncDispose]();
  say('given back', (await client.quotaPeek(name, `${subject} reserved`)).remainingEverywhere);
  await quota.close();
}

say('window over http', (await http.windowIncrement(`${prefix}w`, HOUR_MS, 2n ** 60n + 1n)).count);

if (process.env.TLS_PORT !== undefined) {
  const tls = { ca: process.env.CA };
  const secure = QuotadbClient.open({ host: 'localhost', port: Number(process.env.TLS_PORT), tls });
  say('tls', await secure.increment(`${prefix}tls`));
  await secure.close();
  const stranger = QuotadbClient.open({
    host: 'localhost',
    port: Number(process.env.TLS_PORT),
    tls: true,
    timeoutMs: 300,
  });
  say('unknown certificate', (await stranger.ping().catch((error) => error)) instanceof TimeoutError);
  await stranger.close();
}

await other.close();
await client.close();
