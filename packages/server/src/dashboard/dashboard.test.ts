import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createToken, hashPassword } from '@quotadb/config';
import type { QuotaDetails, Snapshot } from '@quotadb/dashboard';
import { describeWithChromium, launchChromium } from '@quotadb/wire/testing';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { TestClient } from '../testing/index.js';
import { startTestServer, type TestServer } from '../testing/test-server.js';

let server: TestServer;
let client: TestClient;
beforeEach(async () => {
  server = await startTestServer({ region: 'us' });
  client = await TestClient.open(server.port);
});
afterEach(async () => {
  client.close();
  await server.stop();
});

const address = (path: string) => `http://127.0.0.1:${server.httpPort}${path}`;

/** The first snapshot of the stream. */
async function firstSnapshot(token?: string): Promise<Snapshot> {
  const controller = new AbortController();
  const response = await fetch(address('/api/v1/dashboard/events'), {
    signal: controller.signal,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  let text = '';
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    if (text.includes('\n\n')) break;
  }
  controller.abort();
  return JSON.parse(text.slice('data: '.length, text.indexOf('\n\n'))) as Snapshot;
}

describe('the API of the dashboard', () => {
  test('says which server it is, how busy and how full', async () => {
    for (let index = 0; index < 20; index++) await client.call('INCR', `k${index}`);
    const snapshot = await firstSnapshot();
    expect(snapshot.server).toMatchObject({ region: 'us', processId: process.pid });
    expect(snapshot.memory.keys).toBe(20);
    expect(snapshot.traffic.commandsTotal).toBeGreaterThanOrEqual(20);
    expect(snapshot.traffic.connections).toBe(1);
    expect(snapshot.persistence).toBeNull();
  });

  test('finds keys by pattern, page by page, and shows one by its parts', async () => {
    for (let index = 0; index < 350; index++) await client.call('INCRBY', `visits:${index}`, '7');
    await client.call('INCR', 'other');
    await client.call('DECRBY', 'visits:1', '3');
    const found = new Set<string>();
    let cursor = '';
    do {
      const query = new URLSearchParams({ match: 'visits:*', cursor });
      const page = (await (await fetch(address(`/api/v1/dashboard/keys?${query}`))).json()) as {
        keys: string[];
        cursor: string;
      };
      for (const key of page.keys) found.add(key);
      cursor = page.cursor;
    } while (cursor !== '');
    expect(found.size).toBe(350);
    const key = await (await fetch(address('/api/v1/dashboard/keys/visits%3A1'))).json();
    expect(key).toMatchObject({ exists: true, value: '4', components: [{ region: 'us', added: '7', taken: '3' }] });
    expect(await (await fetch(address('/api/v1/dashboard/keys/none'))).json()).toMatchObject({ exists: false });
  });

  test('shows the hottest identifiers, and where the tokens of a subject are', async () => {
    await client.call('QUOTA.DEFINE', 'emails', 'LIMIT', '100', 'WINDOW', '3600000');
    for (let call = 0; call < 30; call++) await client.call('QUOTA.TAKE', 'emails', 'acme', '2');
    for (let call = 0; call < 9; call++) await client.call('RATE.LIMIT', 'api:acme', '6', '3600000');
    await client.call('RATE.LIMIT', 'api:globex', '6', '3600000');
    const { rates, quotas } = await firstSnapshot();
    expect(rates).toMatchObject({ allowedTotal: 7, deniedTotal: 3 });
    expect(rates.hottest.map(({ identifier }) => identifier)).toEqual(['api:acme', 'api:globex']);
    expect(rates.hottest[0].deniedPerSecond).toBeGreaterThan(0);
    expect(quotas).toMatchObject([{ name: 'emails', limit: 100, allowedTotal: 30, deniedTotal: 0, tokensTotal: 60 }]);
    expect(quotas[0].subjects.map(({ identifier }) => identifier)).toEqual(['acme']);
    const found = (await (await fetch(address('/api/v1/dashboard/quotas/emails?subject=acme'))).json()) as QuotaDetails;
    const [{ held, setAside, localBalance }] = found.places;
    expect(found.places).toHaveLength(1);
    expect(setAside - (localBalance as number)).toBe(60);
    expect(held + (localBalance as number)).toBe(40);
    expect((await fetch(address('/api/v1/dashboard/quotas/none?subject=acme'))).status).toBe(404);
    expect((await fetch(address(`/api/v1/dashboard/quotas/emails?subject=${'x'.repeat(2000)}`))).status).toBe(400);
  });

  test('shows a user with key prefixes no key of others', async () => {
    client.close();
    await server.stop();
    const { token, hash } = createToken();
    const admin = createToken();
    const password = await hashPassword(Buffer.from('secret'));
    server = await startTestServer({
      region: 'us',
      users: new Map([
        ['admin', { name: 'admin', roles: ['admin'], prefixes: [], passwords: [password], tokens: [admin.hash] }],
        ['viewer', { name: 'viewer', roles: ['read'], prefixes: ['mine:'], passwords: [], tokens: [hash] }],
      ]),
    });
    client = await TestClient.open(server.port);
    await client.call('AUTH', 'admin', 'secret');
    await client.call('QUOTA.DEFINE', 'emails', 'LIMIT', '100', 'WINDOW', '3600000');
    await client.call('QUOTA.TAKE', 'emails', 'theirs:acme', '1');
    await client.call('RATE.LIMIT', 'theirs:api', '6', '3600000');
    const seen = JSON.stringify(await firstSnapshot(token));
    expect(seen).not.toContain('theirs');
    expect(JSON.stringify(await firstSnapshot(admin.token))).toContain('theirs:api');
    const headers = { authorization: `Bearer ${token}` };
    const status = async (subject: string) =>
      (await fetch(address(`/api/v1/dashboard/quotas/emails?subject=${subject}`), { headers })).status;
    expect(await status('theirs:acme')).toBe(403);
    expect(await status('mine:acme')).toBe(200);
  });

  test('refuses what it does not understand, and shows no secret', async () => {
    expect((await fetch(address('/api/v1/dashboard/keys/%E0%A4%A'))).status).toBe(400);
    expect((await fetch(address('/api/v1/dashboard/keys?cursor=x'))).status).toBe(400);
    expect((await fetch(address('/api/v1/dashboard/nothing'))).status).toBe(404);
    expect((await fetch(address('/api/v1/dashboard/sources'), { method: 'POST' })).status).toBe(405);
    expect((await fetch(address('/dashboard/../package.json'))).status).toBe(404);
    expect((await fetch(address('/dashboard/assets/..%2f..%2ffiles.js'))).status).toBe(404);
    const settings = (await (await fetch(address('/api/v1/dashboard/configuration'))).json()) as { name: string }[];
    const names = settings.map(({ name }) => name);
    expect(names).toContain('--region');
    expect(names).not.toContain('--password');
  });

  test('with credentials it needs them, and figures need less than settings', async () => {
    await server.stop();
    server = await startTestServer({ region: 'us', password: 'secret' });
    const authorization = `Basic ${btoa('default:secret')}`;
    const status = async (path: string, headers = {}) => (await fetch(address(path), { headers })).status;
    expect(await status('/dashboard/')).toBe(200);
    expect(await status('/api/v1/dashboard/sources')).toBe(401);
    expect(await status('/api/v1/dashboard/events')).toBe(401);
    expect(await status('/api/v1/dashboard/keys')).toBe(401);
    expect(await status('/api/v1/dashboard/sources', { authorization })).toBe(200);
    expect(await status('/api/v1/dashboard/configuration', { authorization })).toBe(200);
    client.close();
    client = await TestClient.open(server.port);
    await client.call('AUTH', 'secret');
  });
});

/** Looked at by people when something is wrong; git ignores the folder. */
const ARTIFACTS = fileURLToPath(new URL('../../../../artifacts/dashboard/', import.meta.url));

describeWithChromium('the page in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    mkdirSync(ARTIFACTS, { recursive: true });
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  async function open(hash: string, options: { width: number; colorScheme: 'light' | 'dark' }): Promise<Page> {
    const { width, colorScheme } = options;
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    await page.goto(address(`/dashboard/${hash}`));
    return page;
  }
  let problems: string[] = [];
  beforeEach(() => {
    problems = [];
  });

  test('shows live figures without an error, wide and narrow, light and dark, without a sideways scroll', async () => {
    await client.call('INCR', 'k');
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 390]) {
        const page = await open('', { width, colorScheme });
        await page.getByText('Commands per second').first().waitFor();
        await page.getByText('live', { exact: true }).waitFor();
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect(overflow).toBeLessThanOrEqual(0);
        await page.screenshot({ path: `${ARTIFACTS}overview-${colorScheme}-${width}.png` });
        await page.context().close();
      }
    }
    expect(problems).toEqual([]);
  });

  test('finds a key and watches its value; a hostile name is text', async () => {
    const hostile = '<img src=x onerror="document.title=1">';
    await client.call('SET', hostile, '5');
    const page = await open('#keys', { width: 1280, colorScheme: 'light' });
    await page.getByRole('button', { name: hostile, exact: true }).click();
    await page.getByText('5', { exact: true }).first().waitFor();
    await client.call('INCRBY', hostile, '37');
    await page.getByText('42', { exact: true }).first().waitFor();
    expect(await page.title()).toBe('QuotaDB');
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('shows where tokens are, who is limited, and how the database is', async () => {
    await client.call('QUOTA.DEFINE', 'emails', 'LIMIT', '100', 'WINDOW', '3600000');
    for (let call = 0; call < 25; call++) await client.call('QUOTA.TAKE', 'emails', 'acme', '1');
    for (let call = 0; call < 9; call++) await client.call('RATE.LIMIT', '<b>api</b>', '6', '3600000');
    const page = await open('#quotas', { width: 1280, colorScheme: 'light' });
    await page.getByRole('button', { name: /^acme/ }).click();
    const tokens = page.getByRole('region', { name: 'Where the tokens of acme are' });
    await tokens.getByText('75', { exact: true }).first().waitFor();
    await client.call('QUOTA.TAKE', 'emails', 'acme', '5');
    await tokens.getByText('70', { exact: true }).first().waitFor();
    await page.screenshot({ path: `${ARTIFACTS}quotas.png`, fullPage: true });
    await page.getByRole('link', { name: 'Rate limits' }).click();
    await page.getByRole('rowheader', { name: '<b>api</b>' }).waitFor();
    await page.getByRole('link', { name: 'Counts' }).click();
    await page.getByText('not used yet').waitFor();
    await page.getByRole('link', { name: 'Server' }).click();
    await page.getByRole('rowheader', { name: '--region' }).waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test('can be used with the keyboard alone, and names its regions', async () => {
    const page = await open('', { width: 1280, colorScheme: 'light' });
    await page.getByRole('navigation', { name: 'Views' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Find a key' }).waitFor();
    expect(await page.getByRole('link', { name: 'Keys' }).getAttribute('aria-current')).toBe('page');
    await page.context().close();
  });

  test('says when it is disconnected', async () => {
    const page = await open('', { width: 1280, colorScheme: 'light' });
    await page.getByText('live', { exact: true }).waitFor();
    await server.stop();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('No data from us');
    await page.context().close();
    server = await startTestServer();
  });

  test('asks who is there where the server has credentials, and goes on with the right ones', async () => {
    await server.stop();
    server = await startTestServer({ region: 'us', password: 'secret' });
    const page = await open('', { width: 1280, colorScheme: 'dark' });
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await page.screenshot({ path: `${ARTIFACTS}login.png` });
    await page.getByLabel('Password or token').fill('wrong');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await page.getByLabel('Password or token').fill('secret');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('live', { exact: true }).waitFor();
    await page.context().close();
    client.close();
    client = await TestClient.open(server.port);
    await client.call('AUTH', 'secret');
  });
});
