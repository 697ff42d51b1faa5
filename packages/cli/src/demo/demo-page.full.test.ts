import { describeWithChromium, launchChromium } from '@quotadb/wire/testing';
import { expect, test } from 'vitest';
import { Demo } from './demo.js';

const SCREEN = { width: 1280, height: 900 };

describeWithChromium('the page of the demo', () => {
  test('says at once that a region is being started, and a fresh load shows a dead one as dead', async () => {
    const { demo, port } = await Demo.start([0]);
    const browser = await launchChromium();
    try {
      const page = await browser.newPage({ viewport: SCREEN });
      await page.goto(`http://127.0.0.1:${port}/dashboard/`);
      await page.getByText('live', { exact: true }).waitFor();
      // What the buttons do is seen without scrolling.
      const map = await page.locator('svg.map').boundingBox();
      expect(map!.y + map!.height).toBeLessThanOrEqual(SCREEN.height);
      await page.getByRole('button', { name: 'Kill ap' }).click();
      await page.getByText('live, ap down').waitFor();
      await page.reload();
      await page.getByText('live, ap down').waitFor();
      const regions = page.getByRole('region', { name: 'Regions', exact: true });
      await regions.getByRole('row', { name: /^us ap no answer/ }).waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
      // A start takes seconds; the button says so before the answer has come.
      await page.getByRole('button', { name: 'Start ap' }).click();
      const starting = page.getByRole('button', { name: 'Starting ap …' });
      await starting.waitFor();
      expect(await starting.isDisabled()).toBe(true);
      await page.getByRole('button', { name: 'Kill ap' }).waitFor();
      await page.getByText('live', { exact: true }).waitFor();
    } finally {
      await browser.close();
      await demo.stop();
    }
  });

  test('its quotas can be tried and changed, as those of any server', async () => {
    const { demo, port } = await Demo.start([0]);
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${port}/dashboard/#quotas`);
      const take = page.getByRole('region', { name: 'Try a take' });
      await take.getByLabel('Subject to take for').fill('nobody-else');
      await take.getByRole('button', { name: 'Take' }).click();
      await take.getByText('2,999 left').waitFor();
      const editor = page.getByRole('region', { name: 'Change emails' });
      await editor.getByLabel('Limit').fill('4000');
      await editor.getByRole('button', { name: 'Save' }).click();
      await editor.getByText('emails is changed.').waitFor();
      // A page of another site has no say, though its reader's browser could send the same.
      const foreign = await fetch(`http://127.0.0.1:${port}/regions/us/api/v1/quotas/emails`, {
        method: 'DELETE',
        headers: { origin: 'https://example.com' },
      });
      expect(foreign.status).toBe(403);
    } finally {
      await browser.close();
      await demo.stop();
    }
  });
});
