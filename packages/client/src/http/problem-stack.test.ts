import { expect, test } from 'vitest';
import { type HttpProblem, QuotadbHttpClient } from './http-client.js';

test('the stack of a problem leads to the code that awaits the answer', async () => {
  const client = new QuotadbHttpClient({
    url: 'http://server',
    fetch: async () => new Response('{"code":"no_such_quota","detail":"there is no quota emails"}', { status: 404 }),
  });
  async function placeOrder(): Promise<void> {
    await client.quotaTake('emails', 'acme');
  }
  const problem = (await placeOrder().catch((error: unknown) => error)) as HttpProblem;
  expect(problem.code).toBe('no_such_quota');
  expect(problem.stack).toMatch(/quotaTake.*\n\s+at .*placeOrder/);
});
