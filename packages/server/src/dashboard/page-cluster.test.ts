import { describeWithChromium } from '@quotadb/wire/testing';
import { afterEach, expect, test } from 'vitest';
import { sidewaysScroll, usePages } from '../testing/browser-pages.js';
import { TestCluster } from '../testing/index.js';

let cluster: TestCluster;
afterEach(async () => {
  await cluster?.remove();
});

describeWithChromium('a cluster on the page', () => {
  const pages = usePages();

  test('groups, their slots and members are shown, and which member does not answer', async () => {
    cluster = await TestCluster.prepare('red/a', 'red/b', 'blue', 'green');
    const groups = {
      red: { slots: '0-5460', members: ['a', 'b'] },
      blue: { slots: '5461-10922, 16000' },
      green: { slots: '10923-15999' },
    };
    const running = ['red/a', 'blue', 'green'];
    await cluster.give(cluster.map(7, groups), 'red/b', ...running);
    await Promise.all(running.map((name) => cluster.start(name)));
    const address = `http://127.0.0.1:${cluster.servers.get('red/a')?.httpPort}/dashboard/`;
    for (const width of [1280, 390])
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await pages.open(address, { width, colorScheme });
        const panel = page.getByRole('region', { name: 'Cluster' });
        await panel.getByText('3 groups, revision 7 of the map. As local/a of the group red sees it.').waitFor();
        await panel.getByRole('row', { name: /^red 5,461: 0–5460 local\/a .*this server 7/ }).waitFor();
        await panel.getByRole('row', { name: /local\/b .*no answer/ }).waitFor();
        await panel.getByRole('row', { name: /^blue 5,463: 5461–10922, 16000 local .*answers 7 the same/ }).waitFor();
        await panel.getByText('383 slots are of no group').waitFor();
        expect(await panel.locator('.slots .share span').count()).toBe(5);
        expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
        await pages.keep(page, `cluster-${width}-${colorScheme}`);
      }
  });
});
