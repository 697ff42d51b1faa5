import { humanBytes } from '@quotadb/wire';
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

const address = (hash = '') => `http://127.0.0.1:${server.httpPort}/dashboard/${hash}`;

/** The line of a control in a snapshot of what a screen reader is given: its role, then its name in quotes. */
const CONTROL = /^\s*- '?(button|textbox|searchbox|spinbutton|combobox|checkbox|radio|slider|link|img)\b/;

describeWithChromium('the page in a browser', () => {
  const pages = usePages();

  test('shows live figures, wide and narrow, light and dark, without a sideways scroll', async () => {
    await client.call('INCR', 'k');
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1280, 390]) {
        const page = await pages.open(address(), { width, colorScheme });
        await page.getByText('Commands per second').first().waitFor();
        await page.getByText('live', { exact: true }).waitFor();
        expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
        await pages.keep(page, `overview-${colorScheme}-${width}`);
      }
  });

  test('writes sizes as the terminal does', async () => {
    const page = await pages.open(address());
    const { maxMemoryBytes } = server.server.state.config;
    await page.getByText(`of ${humanBytes(maxMemoryBytes)}`).waitFor();
  });

  test('a fresh page has the past that the server kept, and shows the values of the instant pointed at', async () => {
    const first = await pages.open(address());
    const chart = first.getByRole('img', { name: /^Commands per second, now: us/ });
    await chart.waitFor();
    const legend = first.getByRole('region', { name: 'Commands per second' }).locator('.legend');
    expect(await legend.textContent()).toContain('now');
    await chart.focus();
    await first.keyboard.press('ArrowLeft');
    await expect.poll(() => legend.textContent()).toMatch(/\d\d:\d\d:\d\d/);
    const box = (await chart.boundingBox()) as { x: number; y: number; width: number; height: number };
    await first.mouse.move(box.x + box.width * 0.8, box.y + box.height / 2);
    await expect.poll(() => legend.textContent()).toMatch(/\d\d:\d\d:\d\d.*us \d/);
  });

  test('a range is chosen by its address, and is still chosen after a reload and on another view', async () => {
    const page = await pages.open(address());
    await page.getByRole('navigation', { name: 'Range of the charts' }).getByRole('link', { name: '1h' }).click();
    expect(new URL(page.url()).hash).toBe('#overview?range=1h');
    await page.reload();
    await expect.poll(() => page.getByRole('link', { name: '1h' }).getAttribute('aria-current')).toBe('true');
    await page.getByRole('link', { name: 'Rate limits' }).click();
    await expect.poll(() => page.getByRole('link', { name: '1h' }).getAttribute('aria-current')).toBe('true');
  });

  test('can be used with the keyboard alone, and names its regions', async () => {
    const page = await pages.open(address());
    await page.getByRole('navigation', { name: 'Views' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Find a key' }).waitFor();
    expect(await page.getByRole('link', { name: 'Keys' }).getAttribute('aria-current')).toBe('page');
  });

  test('every control has a name, on every view', async () => {
    await client.call('QUOTA.DEFINE', 'emails', 'LIMIT', '100', 'WINDOW', '60000');
    await client.call('INCR', 'k');
    const page = await pages.open(address('#quotas'));
    for (const view of ['Overview', 'Keys', 'Quotas', 'Rate limits', 'Counts', 'Server']) {
      await page.getByRole('link', { name: view, exact: true }).click();
      await page.locator('.panel').first().waitFor();
      // One snapshot of the whole page: controls come and go while it is live.
      const parts = (await page.locator('body').ariaSnapshot()).split('\n');
      expect(parts.filter((part) => CONTROL.test(part)).length, view).toBeGreaterThan(5);
      expect(
        parts.filter((part) => CONTROL.test(part) && !part.includes('"')),
        view,
      ).toEqual([]);
    }
  });

  test('says when it is disconnected', async () => {
    const page = await pages.open(address());
    await page.getByText('live', { exact: true }).waitFor();
    await server.stop();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('No data from us');
    await page.getByText('No server answers').waitFor();
    server = await startTestServer();
  });

  test('asks who is there, says that a password is wrong, and who is logged in', async () => {
    await server.stop();
    server = await startTestServer({ region: 'us', password: 'secret' });
    const page = await pages.open(address('#quotas'), { colorScheme: 'dark' });
    await page.getByRole('heading', { name: 'Log in to us' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await pages.keep(page, 'login');
    await page.getByLabel('Password or token').fill('wrong');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('Wrong user or password');
    expect(await page.getByLabel('User').inputValue()).toBe('default');
    await pages.keep(page, 'login-wrong');
    await page.getByLabel('Password or token').fill('secret');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('live', { exact: true }).waitFor();
    // The view that was asked for, not the first one.
    await page.getByRole('region', { name: 'Quotas' }).waitFor();
    await page.getByText('default', { exact: true }).waitFor();
    // Credentials that hold no longer lead back to the login, which says why.
    await page.evaluate(`sessionStorage.setItem('quotadb-credentials', 'Basic ' + btoa('default:old'))`);
    await page.reload();
    await page.getByText('Wrong user or password').waitFor();
    await page.getByLabel('Password or token').fill('secret');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in to us' }).waitFor();
    client.close();
    client = await TestClient.open(server.port);
    await client.call('AUTH', 'secret');
  });
});
