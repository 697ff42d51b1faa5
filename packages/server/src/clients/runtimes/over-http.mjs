/**
 * What `@quotadb/client/http` has to be able to do where there are no sockets: in pages, workers and every runtime. It
 * uses nothing of Node. Each line is a fact; `over-http-facts.ts` has what they must be.
 */
const HOUR_MS = 3_600_000;

export async function factsOverHttp({ Quota, QuotadbHttpClient, RateLimiter, HttpProblem, honoRateLimit }, url) {
  const client = new QuotadbHttpClient({ url });
  const name = `http-${Math.random().toString(36).slice(2)}`;
  const facts = [`window: ${(await client.windowIncrement(name, HOUR_MS, 2n ** 60n + 1n)).count}`];

  const limiter = new RateLimiter({ client, limit: 100, windowMs: HOUR_MS, whenAway: 'closed', timeoutMs: 10_000 });
  const limited = await countAdmitted(
    200,
    () => limiter.tryLimit(name),
    () => limiter.limitFor(name),
  );
  facts.push(`rate limit: ${limited}`);
  await limiter.close();

  await client.quotaDefine(name, { limit: 200, windowMs: HOUR_MS });
  const quota = new Quota({ client, name, whenAway: 'closed', timeoutMs: 10_000 });
  const taken = await countAdmitted(
    250,
    () => quota.tryTake('a'),
    () => quota.take('a'),
  );
  facts.push(`quota: ${taken}`);
  await (await quota.reserve('b', 50)).cancel();
  facts.push(`given back: ${(await client.quotaPeek(name, 'b')).remainingEverywhere}`);
  await quota.close();

  await client.quotaDefine(`${name}-jobs`, { limit: 1, leaseMs: 60_000 });
  const { lease } = await client.quotaAcquire(`${name}-jobs`, 'a', 30_000);
  const second = await client.quotaAcquire(`${name}-jobs`, 'a', 30_000, { waitMs: 0 });
  const { renewed } = await client.quotaRenew(lease, 30_000);
  facts.push(
    `lease: ${typeof lease === 'string'} ${second.allowed ? 'allowed' : 'denied'} ${renewed ? 'renewed' : 'lost'}`,
  );
  await client.quotaRelease(lease);

  const problem = await client.quotaTake('nosuch', 'a').catch((error) => error);
  facts.push(`problem: ${problem.code} ${problem.status} ${problem instanceof HttpProblem}`);
  facts.push(`hono: ${await tryMiddleware(honoRateLimit, new RateLimiter(only(1, client)), name)}`);
  return facts;
}

function only(limit, client) {
  return { client, limit, windowMs: HOUR_MS, whenAway: 'closed', timeoutMs: 10_000, prefix: 'hono:' };
}

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

/** The middleware of Workers, with as much of Hono's context as it uses. */
async function tryMiddleware(honoRateLimit, limiter, key) {
  const handle = honoRateLimit({ limiter, key: () => key, onLimited: () => new Response('no', { status: 429 }) });
  const context = { header: () => undefined, status: () => undefined };
  const passed = await handle(context, async () => undefined);
  const refused = await handle(context, async () => undefined);
  await limiter.close();
  return `${passed?.status ?? 200} ${refused.status} ${/r=\d/.exec(refused.headers.get('RateLimit'))[0]}`;
}
