import { describeWithChromium } from '@quotadb/wire/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sidewaysScroll, usePages } from '../testing/browser-pages.js';
import { TestClient } from '../testing/index.js';
import { startTestServer, type TestServer } from '../testing/test-server.js';

const CATALOGUE = `
plans: { pro: { subjects: [acme, team-*] } }
limits:
  - { name: api, domain: gateway, kind: sliding, limit: 3, window: 1d, overrides: [{ plan: pro, limit: 50 }] }
  - { name: burst, domain: gateway, kind: bucket, limit: 2, window: 1d, shadow: true }
  - { name: mail, kind: exact, limit: 10, window: 52w }
`;

let server: TestServer;
let client: TestClient;
beforeEach(async () => {
  server = await startTestServer({ region: 'us' });
  client = await TestClient.open(server.port);
  expect(await client.call('LIMIT.LOAD', CATALOGUE)).toBe('+OK\r\n');
});
afterEach(async () => {
  client.close();
  await server.stop();
});

const address = (hash = '') => `http://127.0.0.1:${server.httpPort}/dashboard/${hash}`;

describeWithChromium('limits on the page', () => {
  const pages = usePages();

  test('the catalogue is listed; who is denied and by what stands beside who would be, in shadow', async () => {
    const page = await pages.open(address('#limits'));
    await page.getByRole('row', { name: /^api sliding 3 1d gateway 1 enforced/ }).waitFor();
    await page.getByRole('row', { name: /^burst bucket 2 1d gateway 0 shadow/ }).waitFor();
    await page.getByRole('row', { name: /^pro 2 acme, team-\*/ }).waitFor();
    for (let call = 0; call < 8; call++) {
      await client.call('LIMIT.CHECK', 'gateway', 'globex');
      await client.call('LIMIT.CHECK', 'gateway', 'acme');
    }
    const denied = page.getByRole('region', { name: 'Denied', exact: true });
    await denied.getByRole('row', { name: /^globex api/ }).waitFor();
    const shadow = page.getByRole('region', { name: 'Would be denied, in shadow' });
    await shadow.getByRole('row', { name: /^acme burst/ }).waitFor();
    expect(await denied.getByRole('row', { name: /acme/ }).count()).toBe(0);
    await pages.keep(page, 'limits');
    const phone = await pages.open(address('#limits'), { width: 390, colorScheme: 'dark' });
    await phone.getByRole('row', { name: /^burst/ }).waitFor();
    expect(await sidewaysScroll(phone)).toBeLessThanOrEqual(0);
    await pages.keep(phone, 'limits-phone');
  });

  test('a limit is put in shadow, changed, checked and dropped on the page, and its mistakes are named', async () => {
    const page = await pages.open(address('#limits?limit=api'));
    const editor = page.getByRole('region', { name: 'Change api' });
    await editor.getByRole('button', { name: 'Put it in shadow' }).click();
    await page.getByRole('row', { name: /^api sliding 3 1d gateway 1 shadow/ }).waitFor();
    await editor.getByRole('button', { name: 'Enforce it' }).click();
    await page.getByRole('row', { name: /^api sliding 3 1d gateway 1 enforced/ }).waitFor();
    const text = editor.getByLabel('The limit, as JSON');
    await text.fill('{ "kind": "sliding" ');
    await editor.getByRole('button', { name: 'Save' }).click();
    await editor.getByText('This is no JSON').waitFor();
    await text.fill('{ "kind": "slidin", "limit": -1, "window": "1d" }');
    await editor.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => editor.getByRole('alert').textContent()).toMatch(/a kind is one of.*a limit is a whole/s);
    await text.fill('{ "kind": "sliding", "limit": 1, "window": "1d" }');
    await editor.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /^api sliding 1 1d 0 enforced/ }).waitFor();
    await editor.getByLabel('Window').fill('12h');
    expect(JSON.parse(await text.inputValue())).toEqual({ kind: 'sliding', limit: 1, window: '12h' });
    await editor.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /^api sliding 1 12h 0 enforced/ }).waitFor();
    const check = page.getByRole('region', { name: 'Try a check' });
    await check.getByLabel('Only look').uncheck();
    for (const words of [/^Allowed/, /^Denied by api/]) {
      await check.getByRole('button', { name: 'Check' }).click();
      await check.getByRole('status').getByText(words).first().waitFor();
    }
    await pages.keep(page, 'limit-editor');
    await page.reload();
    await editor.getByRole('button', { name: 'Drop …' }).click();
    await editor.getByRole('button', { name: 'Drop api' }).click();
    await expect.poll(() => page.getByRole('row', { name: /^api/ }).count()).toBe(0);
    expect(await client.call('LIMIT.CHECK', 'api', 'acme')).toMatch(/^-/);
  });

  test('a subject is refunded, reset and given extra on the page', async () => {
    await client.call('LIMIT.CHECK', 'api', 'globex', 3);
    const page = await pages.open(address('#limits?limit=api'));
    const panel = page.getByRole('region', { name: 'Help one subject' });
    const press = async (button: string, answer: RegExp) => {
      await panel.getByLabel('Subject to help').fill('globex');
      await panel.getByLabel('Amount').fill('2');
      await panel.getByRole('button', { name: button }).click();
      await panel.getByRole('status').getByText(answer).waitFor();
    };
    await press('Refund', /^2 given back in this region/);
    await press('Reset', /^1 given back in all regions/);
    expect(await client.call('LIMIT.PEEK', 'api', 'globex')).toMatch(/^\*6\r\n:1\r\n:3\r\n:3\r\n/);
    expect(await panel.getByRole('button', { name: 'Give extra' }).count()).toBe(0);
    await page.getByRole('link', { name: 'mail', exact: true }).click();
    await press('Give extra', /^The limit of globex in this window is 12/);
    expect(await client.call('LIMIT.PEEK', 'mail', 'globex')).toMatch(/^\*6\r\n:1\r\n:12\r\n/);
    await pages.keep(page, 'limit-subject');
  });

  test('a limit is added, and the quota of one is changed with its limit', async () => {
    const page = await pages.open(address('#limits'));
    await page.getByRole('button', { name: 'Add a limit' }).click();
    await page.getByLabel('Name of the limit').fill('logins');
    await page.getByLabel('Kind').selectOption('concurrency');
    await page.getByLabel('Limit', { exact: true }).fill('7');
    await page.getByLabel('Domain').fill('work');
    await pages.keep(page, 'limit-new');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('row', { name: /^logins concurrency 7 lease of 30s work 0 shadow/ }).waitFor();
    expect(new URL(page.url()).hash).toBe('#limits?limit=logins');
    await page.getByRole('link', { name: 'Quotas' }).click();
    await page.getByRole('link', { name: 'mail', exact: true }).click();
    await page.getByRole('link', { name: 'Change the limit' }).click();
    await page.getByRole('region', { name: 'Change mail' }).waitFor();
    await page.getByRole('button', { name: 'Edit the catalogue' }).click();
    const text = page.getByLabel('Plans and limits, as JSON');
    expect(JSON.parse(await text.inputValue())).toMatchObject({ plans: { pro: { subjects: ['acme', 'team-*'] } } });
    await text.fill('{ "limits": [] }');
    await page.getByRole('button', { name: 'Replace the catalogue' }).click();
    await page.getByText('The catalogue has no limits').waitFor();
  });
});
