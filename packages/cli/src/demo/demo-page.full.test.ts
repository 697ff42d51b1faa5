import { describeWithChromium, launchChromium } from '@quotadb/wire/testing';
import { expect, test } from 'vitest';
import { Demo } from './demo.js';

describeWithChromium('the page of the demo', () => {
  test('says at once that a region is being started, and a fresh load shows a dead one as dead', async () => {
    const { demo, port } = await Demo.start([0]);
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${port}/dashboard/`);
      await page.getByText('live', { exact: true }).waitFor();
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
});
