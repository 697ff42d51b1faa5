import { createCountsService } from '@quotadb/counts';
import { expect, test } from 'vitest';
import { HealthServer } from './health.js';
import { usualHttpLimits } from './limits.js';

const limits = { ...usualHttpLimits, maximumConnections: 100 };

test('alive from the start, ready when it is, and nothing else is served', async () => {
  let ready = false;
  const counts = createCountsService();
  const answers = { isReady: () => ready, describe: () => ({ name: 'quotadb' }), metrics: async () => {} };
  const server = new HealthServer(answers, { counts: counts.endpoint(['external', 'internal']) }, limits);
  const port = await server.listen('127.0.0.1', 0);
  const status = async (path: string, method = 'GET') =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { method })).status;
  expect(await status('/healthz')).toBe(200);
  expect(await status('/readyz')).toBe(503);
  ready = true;
  expect(await status('/readyz?verbose=1')).toBe(200);
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).json()).toEqual({ name: 'quotadb' });
  expect(await status('/nothing')).toBe(404);
  expect(await status('/healthz', 'POST')).toBe(405);
  server.close();
  await counts.stop();
});
