import { afterEach, expect, test, vi } from 'vitest';
import { eventually, TestClient, TestRegions } from '../testing/index.js';

/** Several processes each, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let regions: TestRegions;
afterEach(() => regions.close());

/** More readings than a region reports in a second: a lag that depends on the last report shows in one of them. */
const READINGS = 30;
const READING_INTERVAL_MS = 50;

interface Reading {
  readonly lagMs: number;
  readonly roundTripMs: number;
}

async function lags(name: string, other: string): Promise<Reading[]> {
  const found: Reading[] = [];
  for (let reading = 0; reading < READINGS; reading++) {
    const { lag_ms, rtt_ms } = await regions.peer(name, other);
    found.push({ lagMs: Number(lag_ms), roundTripMs: Number(rtt_ms) });
    await new Promise((resolve) => setTimeout(resolve, READING_INTERVAL_MS));
  }
  return found.sort((one, two) => one.lagMs - two.lagMs);
}

async function inStep(name: string, other: string): Promise<void> {
  await eventually(async () => {
    const { lag_shards, lag_ms, rtt_ms } = await regions.peer(name, other);
    expect({ lag_shards, isMeasured: Number(lag_ms) >= 0 && Number(rtt_ms) >= 0 }).toEqual({
      lag_shards: '0',
      isMeasured: true,
    });
  });
}

test('the lag of an idle region in step is its round trip, near or far; behind a cut it grows', async () => {
  regions = await TestRegions.start(['us', 'eu']);
  await regions.call('us', 'INCR', 'k');
  await regions.agreeOn('k', 1);
  await regions.allConnected();
  await inStep('us', 'eu');
  // Between a ping and its pong it may be more: on a machine that is busy in some readings, not in most.
  const isRoundTrip = ({ lagMs, roundTripMs }: Reading) => lagMs === roundTripMs;
  expect((await lags('us', 'eu')).filter(isRoundTrip).length).toBeGreaterThan(READINGS / 3);

  regions.delay('us', 'eu', 50);
  await eventually(async () => expect(Number((await regions.peer('us', 'eu')).rtt_ms)).toBeGreaterThanOrEqual(100));
  const far = (await lags('us', 'eu')).filter(isRoundTrip);
  expect(far.length).toBeGreaterThan(READINGS / 3);
  expect(Math.min(...far.map(({ lagMs }) => lagMs))).toBeGreaterThanOrEqual(100);

  regions.cut('us', 'eu');
  await regions.call('us', 'INCR', 'k');
  let last = 0;
  for (const boundMs of [500, 2000]) {
    await eventually(async () => {
      const lagMs = Number((await regions.peer('us', 'eu')).lag_ms);
      expect(lagMs).toBeGreaterThanOrEqual(last);
      last = lagMs;
      expect(lagMs).toBeGreaterThan(boundMs);
    });
  }
  expect(await regions.call('us', 'REPL.SHARDS', 'eu')).toMatch(/\r\n:[1-9]\d{3,}\r\n/);
  regions.delay('us', 'eu', 0);
  regions.heal('us', 'eu');
  await inStep('us', 'eu');
  await eventually(async () => {
    const { lag_ms, rtt_ms } = await regions.peer('us', 'eu');
    expect(lag_ms).toBe(rtt_ms);
  });
});

test('the lag under load is that of the changes, not of the reports about them', async () => {
  regions = await TestRegions.start(['us', 'eu']);
  await regions.allConnected();
  await inStep('us', 'eu');
  const client = await TestClient.open(regions.of('us').ready.resp);
  let isOver = false;
  const waitedMs: number[] = [];
  const load = (async () => {
    while (!isOver) {
      const startedAtMs = performance.now();
      await client.call('INCR', 'k');
      await client.call('WAIT', 1, 20_000);
      waitedMs.push(performance.now() - startedAtMs);
    }
  })();
  const readings = await lags('us', 'eu');
  isOver = true;
  await load;
  client.close();
  // As clients see it, on a machine of any speed: an increment and its acknowledgement.
  const middle = waitedMs.sort((one, two) => one - two)[Math.floor(waitedMs.length / 2)];
  expect(readings[READINGS / 2].lagMs).toBeLessThan(3 * middle + 50);
});
