import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { ConnectionError, TimeoutError } from '../contract/errors.js';
import { HttpProblem, QuotadbHttpClient } from './http-client.js';

test('a slow server is a TimeoutError, a caller that gave up its own reason, no server a ConnectionError', async () => {
  const slow = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(slow, 'listening');
  const { port } = slow.address() as AddressInfo;
  const client = new QuotadbHttpClient({ url: `http://127.0.0.1:${port}`, timeoutMs: 30 });
  await expect(client.windowRead('k', 1_000)).rejects.toBeInstanceOf(TimeoutError);
  const reason = new Error('not needed any more');
  await expect(client.windowRead('k', 1_000, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  slow.closeAllConnections();
  await new Promise((resolve) => slow.close(resolve));
  const away = await client.windowRead('k', 1_000, { timeoutMs: 10_000 }).catch((error: unknown) => error);
  expect(away).toBeInstanceOf(ConnectionError);
  expect(away).not.toBeInstanceOf(TimeoutError);
});

/** A client, and the requests that it makes; every answer is this one. */
function answered(status: number, body: string) {
  const requests: [method: string, path: string, body: unknown, headers: RequestInit['headers']][] = [];
  const client = new QuotadbHttpClient({
    url: 'http://server/',
    token: 'secret',
    fetch: async (url, init) => {
      requests.push([init!.method!, String(url), JSON.parse(String(init!.body ?? 'null')), init!.headers]);
      return new Response(body, { status });
    },
  });
  return { client, requests };
}

test('names and keys are escaped in paths, and the token goes into a header', async () => {
  const { client, requests } = answered(200, '{"quotas":[]}');
  await client.ratePeek('a/b?c', 10, 1_000);
  await client.quotaDrop('emails/é');
  await client.quotaPeek('emails', 'x&y');
  expect(requests.map(([method, path]) => `${method} ${path}`)).toEqual([
    'GET http://server/api/v1/limits/a%2Fb%3Fc?limit=10&windowMs=1000&cost=1',
    'DELETE http://server/api/v1/quotas/emails%2F%C3%A9',
    'GET http://server/api/v1/quotas/emails?subject=x%26y',
  ]);
  expect(requests[0]![3]).toMatchObject({ Authorization: 'Bearer secret' });
});

test('amounts keep all of their digits, and absent options are left out of the body', async () => {
  const { client, requests } = answered(200, '{"count":"4611686018427387905","startMs":"0","endMs":"5"}');
  const counted = await client.windowIncrement('k', 5, 2n ** 62n + 1n);
  expect(counted).toEqual({ count: 2n ** 62n + 1n, startMs: 0, endMs: 5 });
  await client.quotaTake('emails', 'acme', 3, { id: 'once' });
  expect(requests.map(([, , body]) => body)).toEqual([
    { windowMs: 5, amount: '4611686018427387905' },
    { subject: 'acme', cost: 3, id: 'once' },
  ]);
});

test.each([
  [429, '{"code":"too_many","detail":"slow down"}', 'too_many', 'slow down'],
  [502, '<html>', 'no_json', 'the server answered 502 with a body that is not JSON'],
])('an answer of %i with %s is an HttpProblem', async (status, body, code, message) => {
  const problem = await answered(status, body)
    .client.quotaList()
    .catch((error: unknown) => error);
  expect(problem).toBeInstanceOf(HttpProblem);
  expect(problem).toMatchObject({ status, code, message });
});
