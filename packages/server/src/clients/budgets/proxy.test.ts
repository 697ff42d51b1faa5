import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type BudgetCharge,
  LlmBudgets,
  type LlmBudgetsOptions,
  nodeHandler,
  openAiProxy,
  QuotadbClient,
} from '@quotadb/client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, useTestServers } from '../../testing/index.js';
import { beginStream, ModelUpstream, reported, sendJson, sendPiece, word } from './model-upstream.js';

const LIMIT_TOKENS = 1_000;
const LIMIT_MONEY = 100_000;
const startServer = useTestServers();
const prices = { small: { promptPerMillion: 1_000_000, completionPerMillion: 2_000_000 } };

let client: QuotadbClient;
let upstream: ModelUpstream;
let upstreamUrl: string;
let proxy: Server | undefined;
let charges: BudgetCharge[][];

beforeEach(async () => {
  const { port } = await startServer();
  client = QuotadbClient.open(`quotadb://127.0.0.1:${port}`);
  await client.quotaDefine('tokens', { limit: LIMIT_TOKENS, windowMs: 366 * 24 * 3_600_000 });
  await client.quotaDefine('money', { limit: LIMIT_MONEY, windowMs: 366 * 24 * 3_600_000 });
  await client.quotaDefine('atOnce', { limit: 4, leaseMs: 60_000 });
  upstream = new ModelUpstream();
  upstreamUrl = await upstream.listen();
  charges = [];
});
afterEach(async () => {
  proxy?.close();
  proxy?.closeAllConnections();
  upstream.close();
  await client.close();
});

function open(options: Partial<LlmBudgetsOptions> = {}): LlmBudgets {
  return new LlmBudgets({
    client,
    whenAway: 'closed',
    // A busy machine is not a server that is away.
    timeoutMs: 20_000,
    prices,
    budgets: [
      { quota: 'atOnce', counts: 'requestsAtOnce' },
      { quota: 'tokens', counts: 'tokens' },
      { quota: 'money', counts: 'money' },
    ],
    onSettled: (settled) => void charges.push([...settled]),
    ...options,
  });
}

async function serve(options: Partial<LlmBudgetsOptions> = {}): Promise<string> {
  const budgets = open(options);
  const handler = openAiProxy({ budgets, upstream: upstreamUrl, upstreamKey: 'upstream-key', subject: () => 'alice' });
  proxy = createServer(nodeHandler(handler));
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/v1/chat/completions`;
}

function ask(url: string, fields: object = {}, signal?: AbortSignal): Promise<Response> {
  const body = { model: 'small', messages: [{ role: 'user', content: 'x'.repeat(36) }], max_tokens: 100, ...fields };
  return fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { Authorization: 'Bearer caller-key' },
    ...(signal && { signal }),
  });
}

const remaining = async (quota: string) => (await client.quotaPeek(quota, 'alice')).remainingEverywhere;
/** All that was not used is in the budgets again. */
async function expectUsed(tokens: number, money: number): Promise<void> {
  await eventually(async () => {
    expect(await remaining('tokens')).toBe(LIMIT_TOKENS - tokens);
    expect(await remaining('money')).toBe(LIMIT_MONEY - money);
    expect(await remaining('atOnce')).toBe(4);
  });
}

test('an answer in one piece is charged as its usage says, in tokens and in money, and passed on as it is', async () => {
  const response = await ask(await serve());
  expect(await response.json()).toEqual({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 20 } });
  await expectUsed(30, 10 + 40);
  expect(upstream.received[0]?.headers.authorization).toBe('Bearer upstream-key');
  expect(charges).toHaveLength(1);
});

test('a stream passes event by event, and its usage is asked for, counted and hidden', async () => {
  let next = () => {};
  upstream.answer = async (response) => {
    beginStream(response);
    for (const text of ['one', 'two']) {
      sendPiece(response, word(text));
      await new Promise<void>((resolve) => {
        next = resolve;
      });
    }
    sendPiece(response, reported(7, 2));
    response.end('data: [DONE]\n\n');
  };
  const response = await ask(await serve(), { stream: true, seed: 1 });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  // The second event is not written before the first has arrived here.
  expect((await reader.read()).value).toContain('one');
  next();
  expect((await reader.read()).value).toContain('two');
  next();
  let rest = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value;
  expect(rest).toBe('data: [DONE]\n\n');
  expect(upstream.received[0]?.body).toMatchObject({ stream: true, seed: 1, stream_options: { include_usage: true } });
  await expectUsed(9, 7 + 4);
});

test('a caller that asked for the usage gets it', async () => {
  upstream.answer = (response) => {
    beginStream(response);
    sendPiece(response, reported(7, 2));
    response.end('data: [DONE]\n\n');
  };
  const response = await ask(await serve(), { stream: true, stream_options: { include_usage: true } });
  expect(await response.text()).toContain('"prompt_tokens":7');
});

test('a caller that hangs up ends the request upstream, and what was seen is charged once', async () => {
  upstream.answer = (response) => {
    beginStream(response);
    for (const text of ['one', 'two', 'three']) sendPiece(response, word(text));
  };
  const hangUp = new AbortController();
  const response = await ask(await serve(), { stream: true }, hangUp.signal);
  let seen = '';
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  while (!seen.includes('three')) seen += (await reader.read()).value;
  hangUp.abort();
  await eventually(async () => expect(upstream.broken).toBe(1));
  // The prompt as estimated, 10 + 4, and a token for every piece.
  await expectUsed(14 + 3, 14 + 6);
  expect(charges).toHaveLength(1);
});

test('a caller that hangs up before an answer begins is charged for its prompt: the upstream was at work on it', async () => {
  upstream.answer = () => {};
  const hangUp = new AbortController();
  const response = ask(await serve(), {}, hangUp.signal);
  await eventually(async () => expect(upstream.received).toHaveLength(1));
  hangUp.abort();
  await expect(response).rejects.toThrow();
  await eventually(async () => expect(upstream.broken).toBe(1));
  await expectUsed(14, 14);
  expect(charges).toHaveLength(1);
});

test('an upstream that breaks off is charged for what was seen, and the caller sees that it broke off', async () => {
  upstream.answer = (response) => {
    beginStream(response);
    sendPiece(response, word('one'));
    setTimeout(() => response.destroy(), 20);
  };
  const response = await ask(await serve(), { stream: true });
  await expect(response.text()).rejects.toThrow();
  await expectUsed(14 + 1, 14 + 2);
});

test('an upstream that refuses is passed on and costs nothing', async () => {
  upstream.answer = (response) => sendJson(response, { error: { message: 'overloaded' } }, 503);
  const response = await ask(await serve());
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({ error: { message: 'overloaded' } });
  await expectUsed(0, 0);
});

test('an upstream that is away is a 502 in the words of OpenAI and costs nothing', async () => {
  const url = await serve();
  upstream.close();
  const response = await ask(url);
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({ error: { type: 'server_error', code: 'upstream_failed' } });
  await expectUsed(0, 0);
});

test('a budget that denies is a 429 with the time to try again, and holds nothing in the others', async () => {
  const url = await serve();
  const response = await ask(url, { max_tokens: 980 });
  expect(response.status).toBe(200);
  await response.text();
  const denied = await ask(url, { max_tokens: 970 });
  expect(denied.status).toBe(429);
  expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await denied.json()).toMatchObject({
    error: { type: 'rate_limit_error', code: 'rate_limit_exceeded', message: expect.stringContaining("'tokens'") },
  });
  await expectUsed(30, 50);
  expect(upstream.received).toHaveLength(1);
});

test('a request beyond the whole budget is a 429 without a time', async () => {
  const denied = await ask(await serve(), { max_tokens: 5_000 });
  expect(denied.status).toBe(429);
  expect(denied.headers.get('retry-after')).toBeNull();
  expect(await denied.json()).toMatchObject({ error: { code: 'insufficient_quota' } });
  await expectUsed(0, 0);
});

test('mistakes of callers are errors in the words of OpenAI, and reach no upstream', async () => {
  const url = await serve();
  const post = (body: string, to = url) => fetch(to, { method: 'POST', body });
  expect((await post('{')).status).toBe(400);
  expect((await post('[]')).status).toBe(400);
  expect((await post('{"model":7}')).status).toBe(400);
  expect(await (await post('{"model":"unknown"}')).json()).toMatchObject({ error: { code: 'model_not_priced' } });
  expect((await post('{}', url.replace('chat/completions', 'files'))).status).toBe(404);
  expect((await post(' '.repeat(17 * 1024 * 1024))).status).toBe(413);
  expect(upstream.received).toEqual([]);
});

test('a request without a key is refused, and one with a key pays by a digest of it', async () => {
  const handler = openAiProxy({ budgets: open(), upstream: upstreamUrl });
  const request = (headers: Record<string, string>) =>
    new Request('http://proxy/v1/chat/completions', {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'small', messages: [], max_tokens: 5 }),
    });
  expect((await handler(request({}))).status).toBe(401);
  await (await handler(request({ Authorization: 'Bearer sk-1' }))).text();
  expect(upstream.received[0]?.headers.authorization).toBe('Bearer sk-1');
  await eventually(async () => expect(charges[0]?.[0]?.subject).toMatch(/^key:[0-9a-f]{32}$/));
});

test('a limit of 4 at once never serves 5, and 40 requests leave nothing held', async () => {
  upstream.answer = (response) => {
    setTimeout(() => sendJson(response, reported(1, 1)), 10);
  };
  const url = await serve();
  const statuses = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const response = await ask(url, { max_tokens: 1 });
      await response.text();
      return response.status;
    }),
  );
  const served = statuses.filter((status) => status === 200).length;
  expect(upstream.mostAtOnce).toBeLessThanOrEqual(4);
  expect(served).toBeGreaterThanOrEqual(4);
  expect(statuses.filter((status) => status === 429)).toHaveLength(40 - served);
  await expectUsed(served * 2, served * 3);
});
