import { describeWithChromium } from '@quotadb/wire/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sidewaysScroll, usePages } from '../testing/browser-pages.js';
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

const YEAR_MS = String(365 * 86_400_000);

const address = (hash = '') => `http://127.0.0.1:${server.httpPort}/dashboard/${hash}`;

describeWithChromium('the views of the page', () => {
  const pages = usePages();

  test('keys have their values, TTLs and regions in columns; a watched one is watched after a reload', async () => {
    await client.call('SET', 'visits:1', '1234567');
    await client.call('SET', 'visits:2', '7', 'EX', '7200');
    await client.call('SET', 'other', '1');
    const page = await pages.open(address('#keys'));
    await page.getByLabel('Pattern, as in KEYS').fill('visits:*');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('row', { name: /visits:1 1,234,567 none us/ }).waitFor();
    await page.getByRole('row', { name: /visits:2 7 1h59m us/ }).waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'other' }).count()).toBe(0);
    await page.getByRole('link', { name: 'visits:1' }).click();
    await page.getByRole('region', { name: 'Watching' }).getByText('1,234,567').first().waitFor();
    await page.reload();
    const watching = page.getByRole('region', { name: 'Watching' });
    await watching.getByText('1,234,567').first().waitFor();
    expect(await page.getByLabel('Pattern, as in KEYS').inputValue()).toBe('visits:*');
    await client.call('INCRBY', 'visits:1', '3');
    await watching.getByText('1,234,570').first().waitFor();
    // The key has the same value in the list and beside it.
    await page.getByRole('row', { name: /visits:1 1,234,570/ }).waitFor();
    await pages.keep(page, 'keys');
    await page.goBack();
    await page.getByText('No key is chosen').waitFor();
  });

  test('on a phone the page moves to a key that was chosen far down in a list', async () => {
    for (let key = 10; key < 50; key++) await client.call('SET', `visits:${key}`, String(key));
    const page = await pages.open(address('#keys'), { width: 390 });
    const watching = page.getByRole('region', { name: 'Watching' });
    const top = async () => (await watching.boundingBox())?.y ?? Number.NEGATIVE_INFINITY;
    for (const key of ['visits:49', 'visits:10', 'visits:48']) {
      await page.getByRole('link', { name: key }).click();
      await watching.getByText(key).waitFor();
      await expect.poll(top).toBeGreaterThanOrEqual(0);
      await expect.poll(top).toBeLessThan(450);
    }
    await pages.keep(page, 'keys-phone');
  });

  test('quotas are listed by their names, and on a phone the page moves to the figures of the one chosen', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `quota-${10 + index}`);
    for (const name of names.toReversed()) await client.call('QUOTA.DEFINE', name, 'LIMIT', '10', 'WINDOW', YEAR_MS);
    const page = await pages.open(address('#quotas'), { width: 390 });
    const rows = page.getByRole('region', { name: 'Quotas', exact: true }).getByRole('link');
    await expect.poll(() => rows.allTextContents()).toEqual(names);
    await rows.nth(20).click();
    const figures = page.getByRole('region', { name: 'quota-30 by region' });
    const top = async () => (await figures.boundingBox())?.y ?? Number.NEGATIVE_INFINITY;
    await expect.poll(top).toBeGreaterThanOrEqual(0);
    await expect.poll(top).toBeLessThan(450);
    expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
    await pages.keep(page, 'quotas-phone');
  });

  test('a search that finds nothing says so, and offers a wider one', async () => {
    await client.call('SET', 'visits:1', '1');
    const page = await pages.open(address('#keys?match=visits'));
    await page.getByText('No key matches visits').waitFor();
    await page.getByRole('link', { name: 'Search for *visits*' }).click();
    await page.getByRole('link', { name: 'visits:1' }).waitFor();
  });

  test('a hostile name is text, and characters that hide or turn text are shown by their codes', async () => {
    const markup = '<img src=x onerror="document.title=1">';
    const hidden = 'user\u202egnp.exe\u200b\n';
    await client.call('SET', markup, '5');
    // The test's client writes a byte for each character.
    await client.call('SET', Buffer.from(hidden).toString('latin1'), '6');
    const page = await pages.open(address('#keys'));
    await page.getByRole('link', { name: 'user\\u{202e}gnp.exe\\u{200b}\\n', exact: true }).click();
    await page.getByRole('region', { name: 'Watching' }).getByText('6', { exact: true }).first().waitFor();
    expect(await page.locator('body').innerText()).not.toMatch(/[\u202e\u200b]/);
    await page.getByRole('link', { name: markup, exact: true }).click();
    await page.getByRole('region', { name: 'Watching' }).getByText('5', { exact: true }).first().waitFor();
    expect(await page.title()).toBe('QuotaDB');
  });

  test('shows where tokens are, who is limited, and how the database is', async () => {
    // Of a year: it does not end in the middle of the test.
    await client.call('QUOTA.DEFINE', 'emails', 'LIMIT', '100', 'WINDOW', YEAR_MS);
    for (let call = 0; call < 25; call++) await client.call('QUOTA.TAKE', 'emails', 'acme', '1');
    for (let call = 0; call < 9; call++) await client.call('RATE.LIMIT', '<b>api</b>', '6', '3600000');
    const page = await pages.open(address('#quotas'));
    await page.getByRole('link', { name: /^acme/ }).click();
    const tokens = page.getByRole('region', { name: 'Where the tokens of acme are' });
    await tokens.getByText('75', { exact: true }).first().waitFor();
    await page.reload();
    await tokens.getByText('75', { exact: true }).first().waitFor();
    await client.call('QUOTA.TAKE', 'emails', 'acme', '5');
    await tokens.getByText('70', { exact: true }).first().waitFor();
    await pages.keep(page, 'quotas');
    await page.getByRole('link', { name: 'Rate limits' }).click();
    await page.getByRole('rowheader', { name: '<b>api</b>' }).waitFor();
    await pages.keep(page, 'rate-limits');
    await page.getByRole('link', { name: 'Counts' }).click();
    await page.getByText('not used yet').waitFor();
    await pages.keep(page, 'counts');
  });

  test('a quota is defined, taken from, changed and dropped on the page', async () => {
    const page = await pages.open(address('#quotas'));
    await page.getByRole('button', { name: 'Define a quota' }).click();
    await page.getByLabel('Name').fill('sms');
    await page.getByLabel('Limit').fill('3');
    await page.getByRole('textbox', { name: 'Window' }).fill('365d');
    await page.getByRole('button', { name: 'Define', exact: true }).click();
    const tryIt = page.getByRole('region', { name: 'Try a take' });
    await tryIt.getByLabel('Subject to take for').fill('acme');
    await tryIt.getByLabel('Cost').fill('2');
    await tryIt.getByRole('button', { name: 'Take' }).click();
    await tryIt.getByText('Allowed, 1 left').waitFor();
    await tryIt.getByRole('button', { name: 'Take' }).click();
    await tryIt.getByText('Denied, 1 left').waitFor();
    await page.getByRole('region', { name: 'Where the tokens of acme are' }).waitFor();
    const editor = page.getByRole('region', { name: 'Change sms' });
    await editor.getByLabel('Limit').fill('10');
    await editor.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /^sms 10 52w1d/ }).waitFor();
    expect(await client.call('QUOTA.TAKE', 'sms', 'acme', '8')).toContain(':1');
    await pages.keep(page, 'quota-editor');
    await editor.getByRole('button', { name: 'Drop …' }).click();
    await editor.getByRole('button', { name: 'Drop sms and its tokens' }).click();
    await page.getByText('No quota is defined').waitFor();
  });

  test('the editor says what is wrong with a window, and with a limit that the server refuses', async () => {
    const page = await pages.open(address('#quotas?edit=new'));
    await page.getByLabel('Name').fill('sms');
    await page.getByRole('textbox', { name: 'Window' }).fill('soon');
    await page.getByRole('button', { name: 'Define', exact: true }).click();
    await page.getByText('"soon" is no span of time').waitFor();
    await page.getByRole('textbox', { name: 'Window' }).fill('1h30m');
    await page.getByLabel('Limit').fill('9999999999999999');
    await page.getByRole('button', { name: 'Define', exact: true }).click();
    await page
      .getByRole('alert')
      .getByText(/limit 10000000000000000 is too large: at most/)
      .waitFor();
    await page.getByLabel('Limit').fill('1000');
    await page.getByRole('button', { name: 'Define', exact: true }).click();
    await page.getByRole('row', { name: /^sms 1,000 1h30m/ }).waitFor();
  });

  test('settings explain themselves and can be searched', async () => {
    const page = await pages.open(address('#server'));
    await page.getByLabel('Find a setting').fill('slowlog');
    await page
      .getByRole('rowheader', { name: /--slowlog-log-slower-than.*microseconds|--slowlog/s })
      .first()
      .waitFor();
    await expect.poll(() => page.getByRole('rowheader', { name: '--region' }).count()).toBe(0);
    await page.getByLabel('Find a setting').fill('');
    await page.getByLabel('Only those that differ').check();
    await page.getByRole('row', { name: /--region the name of this region.*us default local/s }).waitFor();
    await page.reload();
    await page.getByRole('row', { name: /--region/ }).waitFor();
    expect(await page.getByLabel('Only those that differ').isChecked()).toBe(true);
    await pages.keep(page, 'server');
  });

  test('on a phone a long name is cut, and the whole one is a tap away', async () => {
    const name = `tenant:${'very-long-'.repeat(12)}end`;
    for (let call = 0; call < 3; call++) await client.call('RATE.LIMIT', name, '60', '3600000');
    const page = await pages.open(address('#rates'), { width: 390 });
    const button = page.getByRole('button', { name: `${name}, show all of it` });
    await button.waitFor();
    expect(await button.innerText()).toMatch(/^tenant:.*….*end$/);
    await button.click();
    await expect.poll(() => page.getByText(name, { exact: true }).count()).toBe(1);
    expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
    await pages.keep(page, 'rate-limits-phone');
  });
});
