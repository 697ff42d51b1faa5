/**
 * Budgets for calls to a model: tokens, money and requests at once, held together before a call and settled with what
 * it used after it. A proxy stands in front of a server that speaks OpenAI's interface; here that is llm-upstream.mjs.
 */
import { createServer } from 'node:http';
import { LlmBudgets, nodeHandler, openAiProxy, QuotadbClient } from '@quotadb/client';
import { startUpstream } from './llm-upstream.mjs';

const client = QuotadbClient.open(process.env.QUOTADB_URL ?? 'quotadb://127.0.0.1:6380');
await client.quotaDefine('llm-tokens', { limit: 2_000, windowMs: 3_600_000 });
// Money is in millionths of a currency: 0.05 of it in a month of the calendar.
await client.send('QUOTA.DEFINE llm-money LIMIT 50000 WINDOW MONTH ZONE Europe/Berlin'.split(' '));
await client.quotaDefine('llm-at-once', { limit: 4, leaseMs: 60_000 });

let settled = () => {};
const budgets = new LlmBudgets({
  client,
  whenAway: 'closed',
  budgets: [
    { quota: 'llm-at-once', counts: 'requestsAtOnce' },
    { quota: 'llm-tokens', counts: 'tokens' },
    { quota: 'llm-money', counts: 'money' },
  ],
  // Micro-units for a million tokens.
  prices: {
    small: { promptPerMillion: 2_500_000, cachedPromptPerMillion: 1_250_000, completionPerMillion: 10_000_000 },
  },
  onSettled: (charges) => settled(charges),
});

const upstream = await startUpstream();
const proxy = createServer(
  nodeHandler(openAiProxy({ budgets, upstream: upstream.url, subject: (request) => request.headers.get('x-user') })),
);
await new Promise((resolve) => proxy.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', resolve));
const url = `http://127.0.0.1:${proxy.address().port}/v1/chat/completions`;

const ask = (fields, signal) =>
  fetch(url, {
    method: 'POST',
    signal,
    headers: { 'Content-Type': 'application/json', 'X-User': 'alice' },
    body: JSON.stringify({ model: 'small', messages: [{ role: 'user', content: 'say a few words' }], ...fields }),
  });
const charged = () => new Promise((resolve) => (settled = resolve));
const print = (what, charges) =>
  console.log(`${what}: ${charges.map(({ budget, charged }) => `${charged} of ${budget.quota}`).join(', ')}`);

let charges = charged();
await (await ask({ max_tokens: 100 })).json();
print('in one piece', await charges);

charges = charged();
const text = await (await ask({ max_tokens: 50, stream: true })).text();
print('streamed', await charges);
console.log(`the caller sees ${text.includes('"usage"') ? 'a' : 'no'} usage that it did not ask for`);

charges = charged();
const hangUp = new AbortController();
const reader = (await ask({ max_tokens: 1_000, stream: true }, hangUp.signal)).body.getReader();
await reader.read();
hangUp.abort();
const [{ charged: cut, estimate }] = await charges;
console.log(`hung up: ${cut < estimate ? 'less than estimated' : 'all'} is charged`);

const tooMuch = await ask({ max_tokens: 1_900 });
console.log(tooMuch.status, (await tooMuch.json()).error.message.replace(/in \d+ s/, 'later'));

const { remainingEverywhere } = await client.quotaPeek('llm-tokens', 'alice');
console.log(`${remainingEverywhere === 2_000 - 104 - 54 - cut ? 'all' : 'not all'} that was not used is there again`);
proxy.close();
proxy.closeAllConnections();
upstream.close();
await client.close();
