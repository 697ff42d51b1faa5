import { createHandler, HttpServer, Sites, serveApi } from '@quotadb/http';
import { expect, test } from 'vitest';
import { statusApi } from './status-api.js';

test('alive from the start, ready when it is, and nothing else is served', async () => {
  let ready = false;
  const context = {
    isReady: () => ready,
    describe: () => ({ name: 'quotadb' }),
    page: '/page/',
    metrics: async () => '',
  };
  const handle = createHandler([serveApi(statusApi, context)], {
    authenticate: () => ({}),
    sites: new Sites({ isOpen: () => false, isLoopbackName: () => true }),
    onError: () => undefined,
  });
  const server = new HttpServer({ handle, maximumConnections: 100 });
  const port = await server.listen('127.0.0.1', 0);
  const ask = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${port}${path}`, { method });
  expect((await ask('/healthz')).status).toBe(200);
  expect((await ask('/healthz', 'HEAD')).status).toBe(200);
  const notReady = await ask('/readyz');
  expect(notReady.status).toBe(503);
  expect(await notReady.json()).toMatchObject({ code: 'not_ready', ready: false });
  ready = true;
  expect((await ask('/readyz?verbose=1')).status).toBe(200);
  expect(await (await ask('/')).json()).toEqual({ name: 'quotadb' });
  expect((await ask('/nothing')).status).toBe(404);
  // A person who opens the address in a browser is sent to the page; a program is not, whatever else it accepts.
  const open = (accept: string) => fetch(`http://127.0.0.1:${port}/`, { headers: { accept }, redirect: 'manual' });
  const browser = await open('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8');
  expect([browser.status, browser.headers.get('location')]).toEqual([302, '/page/']);
  for (const accept of ['*/*', 'application/json', 'text/plain']) expect((await open(accept)).status).toBe(200);
  expect((await ask('/healthz', 'POST')).status).toBe(405);
  server.close();
});
