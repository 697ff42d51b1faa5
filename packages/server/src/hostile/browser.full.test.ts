import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describeWithChromium, launchChromium } from '@quotadb/wire/testing';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, TestClient, type TestServer } from '../testing/index.js';
import { attackedOperations, pathOf } from './attacked-operations.js';

const START_TIMEOUT_MS = 60_000;
const LIMIT = 1000;

/** All requests that a page can make for an operation, as a script that runs in it and never fails. */
const ATTACK = `async ({ method, address, body }) => {
  const quietly = async (work) => { try { await work(); } catch {} };
  const bare = () => new Blob([body]);
  await quietly(() => fetch(address, { method, mode: 'cors', body: method === 'GET' ? undefined : bare() }));
  await quietly(() => fetch(address, { method: 'POST', mode: 'no-cors', body: bare() }));
  await quietly(() => fetch(address, { method: 'POST', mode: 'no-cors', referrerPolicy: 'no-referrer', body: bare() }));
  await quietly(() => fetch(address, { method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body }));
  await quietly(() => fetch(address, { method: 'POST', mode: 'no-cors' }));
  navigator.sendBeacon(address, bare());
  await new Promise((resolve) => {
    const image = new Image();
    image.onload = image.onerror = resolve;
    image.src = address;
  });
}`;

/** A form, sent from a frame so that the page stays. */
const SEND_FORM = `({ address, body }) => {
  const frame = Object.assign(document.createElement('iframe'), { name: 'target' });
  const form = document.createElement('form');
  Object.assign(form, { method: 'post', action: address, target: 'target', enctype: 'text/plain' });
  form.append(Object.assign(document.createElement('input'), { name: body.slice(0, -1) + ',"x', value: '":1}' }));
  document.body.replaceChildren(frame, form);
  form.submit();
}`;

describeWithChromium('a page of another site, in a browser', () => {
  let browser: Browser;
  let server: TestServer;
  let site: Server;
  let client: TestClient;
  beforeAll(async () => {
    browser = await launchChromium(['--host-resolver-rules=MAP evil.example 127.0.0.1']);
    server = await startTestServer();
    site = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>evil'));
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    client = await TestClient.open(server.port);
    await client.call('QUOTA.DEFINE', 'x', 'LIMIT', LIMIT, 'WINDOW', 86_400_000);
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    client.close();
    await browser.close();
    site.close();
    await server.stop();
  });

  /** The answers that the browser gets from the server, without those to preflights. */
  async function open(origin: string): Promise<{ page: Page; statuses: Set<number> }> {
    const context = await browser.newContext();
    const page = await context.newPage();
    const statuses = new Set<number>();
    page.on('response', (response) => {
      const isOurs = new URL(response.url()).port === String(server.httpPort);
      if (isOurs && response.request().method() !== 'OPTIONS') statuses.add(response.status());
    });
    await page.goto(origin);
    return { page, statuses };
  }

  test.each(['evil.example', '127.0.0.1'])(
    'of http://%s changes and reads nothing, by whatever operation',
    async (name) => {
      const { page, statuses } = await open(`http://${name}:${(site.address() as AddressInfo).port}/`);
      for (const operation of attackedOperations) {
        const { method } = operation;
        const address = `http://127.0.0.1:${server.httpPort}${pathOf(operation)}`;
        const body = JSON.stringify({ windowMs: 60_000, limit: LIMIT, cost: 1, subject: 's' });
        await page.evaluate(`(${ATTACK})(${JSON.stringify({ method, address, body })})`);
        const form = page.waitForResponse((response) => response.request().isNavigationRequest());
        await page.evaluate(`(${SEND_FORM})(${JSON.stringify({ address, body })})`);
        await form;
      }
      // Some forms reach an operation that has no POST.
      expect([...statuses].filter((status) => status !== 405)).toEqual([403]);
      expect(await client.call('KEYS', '*')).toBe('*0\r\n');
      expect(await client.call('DBSIZE')).toBe(':0\r\n');
      expect(await client.call('QUOTA.PEEK', 'x', 's')).toContain(`:${LIMIT}\r\n`);
      await page.context().close();
    },
    START_TIMEOUT_MS,
  );

  test('that points its name here is not answered', async () => {
    const { page, statuses } = await open(`http://evil.example:${server.httpPort}/`);
    const text = await page.evaluate('fetch("/api/v1/quotas/x", { method: "DELETE" }).then((answer) => answer.text())');
    expect(JSON.parse(String(text))).toMatchObject({ code: 'unknown_host', status: 421 });
    expect([...statuses]).toEqual([421]);
    await page.context().close();
  });

  test('has a link to the dashboard, and it works there', async () => {
    const { page } = await open(`http://evil.example:${(site.address() as AddressInfo).port}/`);
    const address = `http://127.0.0.1:${server.httpPort}/dashboard/`;
    await page.evaluate(`document.body.innerHTML = '<a href="${address}">there</a>'`);
    const events = page.waitForResponse((response) => response.url().endsWith('/api/v1/dashboard/events'));
    await page.click('a');
    expect((await events).status()).toBe(200);
    await page.context().close();
  });
});
