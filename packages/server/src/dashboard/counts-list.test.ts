import type { CountPage } from '@quotadb/dashboard';
import { describeWithChromium } from '@quotadb/wire/testing';
import { expect, test } from 'vitest';
import { usePages } from '../testing/browser-pages.js';
import { useTestServers } from '../testing/index.js';

describeWithChromium('counts on the page', () => {
  const start = useTestServers({ region: 'us' });
  const pages = usePages();

  test('are listed with their values and found by the beginning of their ids; looking starts no database', async () => {
    const server = await start();
    const base = `http://127.0.0.1:${server.httpPort}`;
    const list = async (query = '') =>
      (await (await fetch(`${base}/api/v1/dashboard/counts${query}`)).json()) as CountPage;
    expect(await list()).toEqual({ isInUse: false, counts: [], cursor: '' });
    const page = await pages.open(`${base}/dashboard/#counts`);
    await page.getByText('The counts API has had no requests yet').waitFor();
    for (let index = 0; index < 103; index++) {
      const itemId = `${index < 3 ? 'likes' : 'visits'}:${String(index).padStart(3, '0')}`;
      await fetch(`${base}/api/v1/internal/counts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ itemId, initialValue: 5000 + index }),
      });
    }
    const first = await list();
    expect(first.counts).toHaveLength(100);
    expect(first.counts[0]).toMatchObject({ itemId: 'likes:000', value: '5000' });
    const second = await list(`?cursor=${encodeURIComponent(first.cursor)}`);
    expect(second.counts.map(({ itemId }) => itemId)).toEqual(['visits:100', 'visits:101', 'visits:102']);
    expect(second.cursor).toBe('');
    expect((await list('?prefix=likes')).counts).toHaveLength(3);
    expect((await fetch(`${base}/api/v1/dashboard/counts?prefix=%00`)).status).toBe(400);
    // The next snapshot says that the database is in use; a search reads the list anew.
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('row', { name: /likes:001 5,001/ }).waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('row', { name: /visits:102 5,102/ }).waitFor();
    await page.getByLabel('Item ids that begin with').fill('nothing');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('No item id begins with nothing').waitFor();
    await page.getByLabel('Item ids that begin with').fill('likes');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('row', { name: /likes:002/ }).waitFor();
    await pages.keep(page, 'counts-listed');
  });
});
