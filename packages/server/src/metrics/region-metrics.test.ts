import { afterEach, expect, test, vi } from 'vitest';
import { parseExposition } from '../testing/exposition.js';
import { eventually, TestRegions } from '../testing/index.js';

/** Several processes, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let regions: TestRegions;
afterEach(() => regions.close());

async function scrape(region: string) {
  const { http } = regions.of(region).ready as unknown as { http: number };
  return parseExposition(await (await fetch(`http://127.0.0.1:${http}/metrics`)).text());
}

test('metrics show the lag of a peer by shard, the sizes of its batches, and the flow of tokens', async () => {
  regions = await TestRegions.start(['eu', 'us'], { flags: ['--home', 'eu'] });
  await regions.connected('us', 'eu');
  for (let key = 0; key < 100; key++) await regions.call('us', 'INCR', `k${key}`);
  await eventually(async () =>
    expect(await regions.call('us', 'QUOTA.DEFINE', 'emails', 'LIMIT', 100, 'WINDOW', 3_600_000)).toBe('+OK\r\n'),
  );
  await eventually(async () =>
    expect(await regions.call('us', 'QUOTA.TAKE', 'emails', 'acme', 1)).toMatch(/^\*5\r\n:1/),
  );
  await eventually(async () => {
    const metrics = await scrape('us');
    const lags = metrics.get('quotadb_peer_shard_lag_seconds')?.samples ?? [];
    expect(lags).toHaveLength(64);
    expect(lags.every(({ labels, value }) => labels.peer === 'eu' && value === 0)).toBe(true);
    const sizes = metrics.get('quotadb_peer_batch_components')?.samples ?? [];
    const sum = sizes.find(({ name }) => name.endsWith('_sum'))?.value;
    expect(sum).toBeGreaterThanOrEqual(100);
    expect(sizes.find(({ name }) => name.endsWith('_count'))?.value).toBeGreaterThan(0);
    expect(metrics.get('quotadb_tokens_received_total')?.samples[0]?.value).toBeGreaterThan(0);
    expect(metrics.get('quotadb_token_requests_total')?.samples[0]?.value).toBeGreaterThan(0);
  });
  const given = (await scrape('eu')).get('quotadb_tokens_given_total')?.samples[0];
  expect(given?.labels).toEqual({ peer: 'us' });
  expect(given?.value).toBeGreaterThan(0);
});
