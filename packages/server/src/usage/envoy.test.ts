import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvoyClient } from '@quotadb/envoy/testing';
import type { UsageEvent } from '@quotadb/usage';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, type SpawnedServer, useProcesses } from '../testing/index.js';

const YAML = `
domain: shop
descriptors:
  - { key: user, rate_limit: { unit: second, requests_per_unit: 100000 } }
  - { key: few, rate_limit: { unit: second, requests_per_unit: 5 } }
  - { key: tried, shadow_mode: true, rate_limit: { unit: second, requests_per_unit: 4 } }
  - { key: key, exact: true, rate_limit: { unit: second, requests_per_unit: 100000 } }
  - { key: slow, sliding: true, rate_limit: { unit: second, requests_per_unit: 100000 } }
`;

const { serve } = useProcesses();
let directory: string;
const clients: EnvoyClient[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-usage-'));
  mkdirSync(join(directory, 'limits'));
  writeFileSync(join(directory, 'limits', 'shop.yaml'), YAML);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  rmSync(directory, { recursive: true, force: true });
});

async function start(): Promise<{ server: SpawnedServer; client: EnvoyClient }> {
  const of = (name: string) => join(directory, name);
  const envoy = ['--rls', '0', '--envoy-config', of('limits')];
  const server = serve(['--data', of('data'), '--usage-export', of('usage.ndjson'), ...envoy]);
  const { rls } = await server.ready();
  const client = new EnvoyClient(rls as number, {});
  clients.push(client);
  return { server, client };
}

async function ask(client: EnvoyClient, hitsAddend: number, ...keys: readonly string[]): Promise<string> {
  const descriptors = keys.map((key) => ({ entries: [{ key, value: 'ann' }] }));
  return (await client.shouldRateLimit({ domain: 'shop', descriptors, hitsAddend })).overallCode;
}

/** By name of the limit and subject. */
function sums(): Record<string, number> {
  const found: Record<string, number> = {};
  let text = '';
  try {
    text = readFileSync(join(directory, 'usage.ndjson'), 'utf8');
  } catch {
    return found;
  }
  const events = text.split('\n').filter((line) => line !== '');
  for (const { subject, data } of events.map((line) => JSON.parse(line) as UsageEvent)) {
    const name = `${data.limit ?? data.quota} ${subject}`;
    found[name] = (found[name] ?? 0) + data.used;
  }
  return found;
}

test("what fixed windows of Envoy's files admit is exported, through a kill, and what is denied is not", async () => {
  const first = await start();
  let few = 0;
  for (let call = 0; call < 8; call++) {
    if ((await ask(first.client, 1, 'few')) === 'OK') few++;
  }
  expect(few).toBeGreaterThanOrEqual(5);
  await ask(first.client, 7, 'user');
  await ask(first.client, 3, 'key');
  await ask(first.client, 3, 'slow');
  // Over its limit in shadow mode: not as far as that. And a descriptor that denies spares the one beside it.
  await ask(first.client, 9, 'tried');
  expect(await ask(first.client, 6, 'user', 'few')).toBe('OVER_LIMIT');
  first.server.child.kill('SIGKILL');
  await first.server.finished;
  const second = await start();
  await ask(second.client, 2, 'user');
  await eventually(async () =>
    expect(sums()).toEqual({
      'envoy:shop.user:second shop_user_ann_': 9,
      'envoy:shop.few:second shop_few_ann_': few,
      'envoy:shop.key:second shop_key_ann_': 3,
    }),
  );
});
