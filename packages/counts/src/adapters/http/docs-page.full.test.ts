import { describeWithChromium, launchChromium } from '@quotadb/wire/testing';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startMemoryServer } from '../../testing/memory-server.js';
import type { TestServer } from '../../testing/test-server.js';
import { countsApi } from './counts-api.js';

const PHONE = { width: 360, height: 740 };
const START_TIMEOUT_MS = 60_000;

describeWithChromium('the page to browse the API, in a browser', () => {
  let browser: Browser;
  let server: TestServer;
  const complaints: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium();
    const tokens = { external: ['counting'], internal: ['managing'] };
    server = await startMemoryServer({ fastPath: true, tokens });
  }, START_TIMEOUT_MS);

  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    expect(complaints.splice(0)).toEqual([]);
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
  });

  /** A request to another address and a complaint of the browser fail the test. */
  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const origin = `http://127.0.0.1:${server.port}`;
    const context = await browser.newContext(options);
    await context.route(
      (url) => url.origin !== origin,
      (route) => {
        complaints.push(`asks for ${route.request().url()}`);
        return route.abort();
      },
    );
    const page = await context.newPage();
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      // Some tests have requests refused, and the browser logs each.
      if (!/the server responded with a status of 4/.test(message.text())) complaints.push(message.text());
    });
    await page.goto(`${origin}/api/v1/counts/docs`);
    await page.locator('details').first().waitFor();
    return page;
  }

  async function send(page: Page, operation: string, fields: Record<string, string> = {}): Promise<string> {
    const details = page.locator(`details#${operation}`);
    if ((await details.getAttribute('open')) === null) await details.locator('summary').click();
    for (const [label, text] of Object.entries(fields)) await details.getByLabel(label).fill(text);
    await details.getByRole('button', { name: 'Send' }).click();
    const output = details.locator('pre[aria-live]');
    await expect.poll(() => output.textContent()).toMatch(/^\d{3}/);
    return (await output.textContent())!;
  }

  test('it lists every operation, without anything from elsewhere', async () => {
    const page = await open();
    const methods = await page.locator('summary .method').allTextContents();
    const paths = await page.locator('summary code').allTextContents();
    const listed = methods.map((method, index) => `${method} ${paths[index]}`);
    const all = countsApi(['external', 'internal']).operations.map(({ method, path }) => `${method} ${path}`);
    expect(listed.sort()).toEqual(all.sort());
    for (const summary of await page.locator('summary').all()) await summary.click();
    expect(await page.locator('details[open]').count()).toBe(all.length);
    expect(await page.locator('main').textContent()).not.toContain('`');
  });

  test('every operation can be tried, with the token of its part', async () => {
    const page = await open();
    expect(await send(page, 'reset', { 'itemId (path)': 'tried' })).toMatch(/^401 /);
    await page.getByLabel('Bearer token').fill('managing');
    expect(await send(page, 'reset', { 'itemId (path)': 'tried' })).toMatch(/^403 /);
    expect(await send(page, 'initialize', { Body: '{"itemId":"tried/ä","initialValue":5}' })).toMatch(/^201 /);
    expect(await send(page, 'update', { 'itemId (path)': 'tried/ä', Body: '{"value":9223372036854775807}' })).toBe(
      '200 OK\n{"itemId":"tried/ä","value":"9223372036854775807"}',
    );
    await page.getByLabel('Bearer token').fill('counting');
    expect(await send(page, 'decrease', { 'itemId (path)': 'tried/ä', 'Idempotency-Key (header)': 'k' })).toBe(
      '200 OK\n{"itemId":"tried/ä","value":"9223372036854775806"}',
    );
    expect(await send(page, 'increase', { 'itemId (path)': 'tried/ä', Body: '' })).toContain('9223372036854775807');
    await page.getByLabel('Bearer token').fill('managing');
    expect(await send(page, 'get', { 'itemId (path)': 'tried/ä' })).toContain('"currentValue":"9223372036854775807"');
    expect(await send(page, 'getMany', { 'itemIds (query)': 'none, tried/ä' })).toContain('"itemId":"tried/ä"');
    expect(await send(page, 'delete', { 'itemId (path)': 'tried/ä' })).toMatch(/^204/);
  });

  test('required fields are asked for before anything is sent', async () => {
    const page = await open();
    await page.locator('details#increase summary').click();
    await page.locator('details#increase').getByRole('button', { name: 'Send' }).click();
    expect(await page.locator('details#increase :invalid').count()).toBeGreaterThan(0);
    expect(await page.locator('details#increase pre[aria-live]').textContent()).toBe('Not sent yet.');
  });

  test.each(['light', 'dark'] as const)(
    'on a phone nothing sticks out, and text can be read: %s',
    async (colorScheme) => {
      const page = await open({ viewport: PHONE, colorScheme });
      for (const summary of await page.locator('summary').all()) await summary.click();
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      for (const selector of ['.method', '.quiet', 'a', 'td p', 'input']) {
        expect(await contrastOf(page, selector), selector).toBeGreaterThanOrEqual(MINIMUM_CONTRAST);
      }
    },
  );
});

/** What WCAG asks for ordinary text. */
const MINIMUM_CONTRAST = 4.5;

/** Runs in the page: the colour of an element's text and of the background behind it. */
const COLOURS_OF = `(selector) => {
  const element = document.querySelector(selector);
  let behind = element;
  while (behind !== null && !/^rgb\\(/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
  // Without a colour of its own the page has the browser's: white, or nearly black.
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const canvas = isDark ? 'rgb(18, 18, 18)' : 'rgb(255, 255, 255)';
  return [getComputedStyle(element).color, behind === null ? canvas : getComputedStyle(behind).backgroundColor];
}`;

async function contrastOf(page: Page, selector: string): Promise<number> {
  const colours = await page.evaluate<string[]>(`(${COLOURS_OF})(${JSON.stringify(selector)})`);
  const [one, other] = colours.map((colour) => luminance(colour.match(/\d+/g)!.map(Number)));
  return (Math.max(one!, other!) + 0.05) / (Math.min(one!, other!) + 0.05);
}

function luminance(channels: readonly number[]): number {
  const [red, green, blue] = channels.map((channel) => {
    const share = channel / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}
