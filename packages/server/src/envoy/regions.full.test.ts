import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvoyClient, ProxyModel } from '@quotadb/envoy/testing';
import { afterEach, expect, test } from 'vitest';
import { eventually, TestRegions } from '../testing/index.js';

const PATIENCE_MS = 180_000;
const LIMIT = 600;
const opened: { close(): unknown }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

/** Windows of a year: none ends in the middle of a test. */
const YAML = `
domain: d
descriptors:
  - { key: k, exact: true, rate_limit: { unit: year, requests_per_unit: ${LIMIT} } }
`;

/** Three regions with the gRPC door in each, the same files, and disks. */
async function startRegions(): Promise<{ regions: TestRegions; clients: EnvoyClient[] }> {
  const directory = await mkdtemp(join(tmpdir(), 'quotadb-envoy-regions-'));
  opened.push({ close: () => rm(directory, { recursive: true, force: true }) });
  await writeFile(join(directory, 'limits.yaml'), YAML);
  const regions = await TestRegions.make(['a', 'b', 'c'], { flags: ['--rls', '0', '--envoy-config', directory] });
  opened.push(regions);
  await regions.startAll((name) => ['--data', join(directory, `data-${name}`)]);
  await regions.allConnected();
  const clients = regions.names.map((name) => {
    const client = new EnvoyClient(regions.of(name).ready.rls as number);
    opened.push(client);
    return client;
  });
  for (const name of regions.names)
    await eventually(async () => expect(await regions.call(name, 'QUOTA.LIST')).toContain('envoy:d.k:year'));
  return { regions, clients };
}

test(
  'an exact descriptor admits exactly its limit over three regions with skewed load',
  async () => {
    const { clients } = await startRegions();
    const ask = async (client: EnvoyClient) => (await client.ask('d', [['k', 'v']])).overallCode === 'OK';
    const load = async (client: EnvoyClient, streams: number, callsEach: number) => {
      let allowed = 0;
      const work = async () => {
        for (let call = 0; call < callsEach; call++) if (await ask(client)) allowed++;
      };
      await Promise.all(Array.from({ length: streams }, work));
      return allowed;
    };
    const [a, b, c] = clients;
    const counts = await Promise.all([load(a, 16, 40), load(b, 4, 20), load(c, 1, 10)]);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    let allowed = counts.reduce((sum, count) => sum + count);
    // What lies unused in one region is found by another.
    await eventually(async () => {
      while (allowed < LIMIT && (await ask(b))) allowed++;
      expect(allowed).toBe(LIMIT);
    });
    for (const client of clients) expect(await ask(client)).toBe(false);
  },
  PATIENCE_MS,
);

/** A proxy that reports every 200 ms. */
function startProxy(client: EnvoyClient) {
  const model = new ProxyModel({ k: 'v' }, performance.now());
  const { call } = client.reports();
  call.on('data', (response: Record<string, unknown>) => model.receive(response, performance.now()));
  const report = () => call.write(model.report('d', performance.now()));
  model.request(performance.now());
  report();
  const reporting = setInterval(report, 200);
  opened.push({
    close: () => {
      clearInterval(reporting);
      call.end();
    },
  });
  return model;
}

test(
  'proxies in three regions, with shares of one exact limit, allow exactly the limit together',
  async () => {
    const { clients } = await startRegions();
    const models = clients.flatMap((client) => [startProxy(client), startProxy(client)]);
    const total = () => models.reduce((sum, { allowed }) => sum + allowed, 0);
    const requests = setInterval(() => {
      for (const [index, model] of models.entries())
        for (let count = 0; count < [8, 4, 2, 1, 1, 1][index]; count++) model.request(performance.now());
      expect(total()).toBeLessThanOrEqual(LIMIT);
    }, 20);
    opened.push({ close: () => clearInterval(requests) });
    await expect.poll(total, { timeout: 120_000, interval: 100 }).toBe(LIMIT);
    for (const { allowed } of models) expect(allowed).toBeGreaterThan(0);
    // From now on every region and every proxy denies.
    await expect
      .poll(() => clients[0].ask('d', [['k', 'v']]).then(({ overallCode }) => overallCode))
      .toBe('OVER_LIMIT');
    expect(total()).toBe(LIMIT);
  },
  PATIENCE_MS,
);
