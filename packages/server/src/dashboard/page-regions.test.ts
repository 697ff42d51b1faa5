import { describeWithChromium } from '@quotadb/wire/testing';
import { afterEach, expect, test } from 'vitest';
import { sidewaysScroll, usePages } from '../testing/browser-pages.js';
import { eventually } from '../testing/index.js';
import { startTestServer, type TestServer } from '../testing/test-server.js';

const running: TestServer[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

async function startRegion(region: string, peers: readonly (readonly [string, number])[]): Promise<TestServer> {
  const server = await startTestServer({
    region,
    replicationPort: 0,
    peers: peers.map(([name, port]) => ({ region: name, host: '127.0.0.1', port })),
  });
  running.push(server);
  return server;
}

const replicationPort = ({ server }: TestServer) => server.state.identity.replicationPort as number;
const address = ({ httpPort }: TestServer) => `http://127.0.0.1:${httpPort}/dashboard/`;

describeWithChromium('regions on the page', () => {
  const pages = usePages();

  test('a region that never answered is down on a fresh load, and the page stays live', async () => {
    const unused = await startTestServer({ region: 'ap' });
    await unused.stop();
    const us = await startRegion('us', [['ap', unused.port]]);
    const page = await pages.open(address(us));
    await page.getByText('live, ap down').waitFor();
    await page.getByRole('row', { name: /us ap never answered/ }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByRole('region', { name: 'Regions' }).getByText('As us sees it.').waitFor();
    await page.getByRole('region', { name: 'Lag of the slowest peer' }).getByText('No figures yet.').waitFor();
    await pages.keep(page, 'dead-region');
  });

  test('the map says whose figures it shows and which links it cannot see; none of its labels is under a line', async () => {
    const us = await startRegion('us', []);
    const eu = await startRegion('eu', [['us', replicationPort(us)]]);
    const ap = await startRegion('ap', [
      ['us', replicationPort(us)],
      ['eu', replicationPort(eu)],
    ]);
    await eventually(() => {
      const states = us.server.state.replication.describe()?.peers.map(({ state }) => state);
      expect(states).toEqual(['connected', 'connected']);
    });
    for (const width of [1280, 390]) {
      const page = await pages.open(address(us), { width });
      const regions = page.getByRole('region', { name: 'Regions' });
      await regions.getByText('As us sees it. Not seen from here: ap – eu').waitFor();
      await regions.locator('.label').nth(1).waitFor();
      // What comes later in a drawing lies on top.
      const isOnTop = await page.evaluate(
        `[...document.querySelectorAll('.map .link')].every((link) => [...document.querySelectorAll('.map .label')]
          .every((label) => link.compareDocumentPosition(label) & Node.DOCUMENT_POSITION_FOLLOWING))`,
      );
      expect(isOnTop).toBe(true);
      expect(await overlaps(page)).toEqual([]);
      expect(await sidewaysScroll(page)).toBeLessThanOrEqual(0);
      await pages.keep(page, `map-${width}`);
    }
    await ap.stop();
    running.splice(running.indexOf(ap), 1);
    const page = await pages.open(address(us));
    await page.getByText('live, ap down').waitFor();
    await page.getByRole('row', { name: /us ap no answer/ }).waitFor();
    await page.getByRole('row', { name: /us eu connected/ }).waitFor();
  });
});

/** Labels and nodes of the map that cover each other. */
function overlaps(page: { evaluate(script: string): Promise<unknown> }): Promise<unknown> {
  return page.evaluate(`(() => {
    const boxes = [...document.querySelectorAll('.map .label rect, .map .node rect')].map((one) => one.getBoundingClientRect());
    return boxes.flatMap((one, index) => boxes.slice(index + 1).filter((other) =>
      one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom)
      .map((other) => [one.left, one.top, other.left, other.top]));
  })()`);
}
