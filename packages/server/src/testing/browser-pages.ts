import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { launchChromium } from '@quotadb/wire/testing';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';

/** Looked at by people; git ignores the folder. */
const ARTIFACTS = fileURLToPath(new URL('../../../../artifacts/dashboard/', import.meta.url));

export interface PageOptions {
  readonly width?: number;
  readonly colorScheme?: 'light' | 'dark';
}

/**
 * Pages in a real browser, closed after each test. A page that throws, or that asks another server for anything, fails
 * the test.
 */
export function usePages() {
  let browser: Browser;
  let problems: string[] = [];
  const open: Page[] = [];
  beforeAll(async () => {
    mkdirSync(ARTIFACTS, { recursive: true });
    browser = await launchChromium();
  });
  afterAll(() => browser.close());
  beforeEach(() => {
    problems = [];
  });
  afterEach(async () => {
    for (const page of open.splice(0)) await page.context().close();
    expect(problems).toEqual([]);
  });
  return {
    async open(address: string, { width = 1280, colorScheme = 'light' }: PageOptions = {}): Promise<Page> {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
      const page = await context.newPage();
      open.push(page);
      page.on('pageerror', (error) => problems.push(error.message));
      page.on('request', (request) => {
        const url = new URL(request.url());
        if (url.protocol !== 'data:' && url.hostname !== '127.0.0.1') problems.push(`asks ${request.url()}`);
      });
      await page.goto(address);
      return page;
    },
    /** Keeps what the page looks like. */
    async keep(page: Page, name: string): Promise<void> {
      await page.screenshot({ path: `${ARTIFACTS}${name}.png`, fullPage: true });
    },
  };
}

/** How far the page can be scrolled sideways. */
export async function sidewaysScroll(page: Page): Promise<unknown> {
  return page.evaluate('document.documentElement.scrollWidth - innerWidth');
}
