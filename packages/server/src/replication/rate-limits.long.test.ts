import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { TestClient, TestRegions } from '../testing/index.js';

const LIMIT = 100;
const WINDOW_MS = 10_000;
/** One way between two regions. */
const DELAY_MS = 20;
/** Requests under way are a few where machines are quiet. Eight processes on a busy one keep each other waiting. */
const MOST_UNDER_WAY = 0.3;

let regions: TestRegions;
afterEach(() => regions.close());

/** What regions with one client each admit together, by window, from the beginning of one on. */
async function admittedBy(names: readonly string[], windows: number, pauseMs: () => number): Promise<number[]> {
  regions = await TestRegions.start(names);
  await regions.allConnected();
  for (const [index, one] of names.entries())
    for (const other of names.slice(index + 1)) regions.delay(one, other, DELAY_MS);
  const startMs = Math.ceil((Date.now() + DELAY_MS * 10) / WINDOW_MS) * WINDOW_MS;
  await sleep(startMs - Date.now());
  const admitted = Array<number>(windows).fill(0);
  const windowNow = () => Math.floor((Date.now() - startMs) / WINDOW_MS);
  await Promise.all(
    names.map(async (name) => {
      const client = await TestClient.open(regions.of(name).ready.resp);
      for (let window = windowNow(); window < windows; window = windowNow()) {
        const reply = await client.call('RATE.LIMIT', 'hot', LIMIT, WINDOW_MS, 1);
        if (reply.startsWith('*5\r\n:1\r\n')) admitted[window]++;
        await sleep(pauseMs());
      }
      client.close();
    }),
  );
  return admitted;
}

test.each([2, 8])(
  '%i regions exceed a limit by requests under way alone, at the default threshold, where demand is twice the limit',
  async (count) => {
    const names = Array.from({ length: count }, (_, index) => `r${index}`);
    const meanMs = (WINDOW_MS * count) / (2 * LIMIT);
    const admitted = await admittedBy(names, 2, () => Math.random() * 2 * meanMs);
    expect(Math.max(...admitted), admitted.join()).toBeLessThanOrEqual(LIMIT * (1 + MOST_UNDER_WAY));
    expect(Math.min(...admitted), admitted.join()).toBeGreaterThan(LIMIT / 2);
  },
);

test('clients that hammer get the limit in each region in the first window, and then a request in each above it', async () => {
  const names = ['us', 'eu', 'ap'];
  const [first, ...later] = await admittedBy(names, 3, () => 1);
  expect(first).toBeLessThanOrEqual(LIMIT * names.length);
  expect(Math.max(...later), later.join()).toBeLessThanOrEqual(LIMIT + names.length);
});
