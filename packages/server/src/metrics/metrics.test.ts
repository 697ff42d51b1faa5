import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Configuration } from '@quotadb/config';
import { createToken } from '@quotadb/config';
import { bucketBoundsSeconds, DURATION_BUCKETS, durationBucket } from '@quotadb/engine';
import { afterEach, describe, expect, test } from 'vitest';
import { parseExposition } from '../testing/exposition.js';
import { eventually, startTestServer, TestClient, type TestServer } from '../testing/index.js';
import { metricTables } from './all-metrics.js';
import { renderMetric } from './metric.js';
import { MetricRegistry } from './registry.js';

let server: TestServer | undefined;
let client: TestClient | undefined;
afterEach(async () => {
  client?.close();
  await server?.stop();
});

async function start(settings: Partial<Configuration> = {}) {
  server = await startTestServer(settings);
  const url = `http://127.0.0.1:${server.httpPort}/metrics`;
  const scrape = async () => parseExposition(await (await fetch(url)).text());
  return { url, scrape };
}

describe('/metrics', () => {
  test('is in the format of Prometheus, and counts what happened', async () => {
    const { scrape } = await start();
    client = await TestClient.open(server?.port ?? 0);
    for (let call = 0; call < 100; call++) await client.call('INCR', 'a');
    await client.call('GET', 'a');
    await client.call('SET', 'a', 'text');
    await client.call('INCR');
    const metrics = await scrape();
    const value = (name: string, labels: object = {}) =>
      metrics
        .get(name)
        ?.samples.filter((sample) => Object.entries(labels).every(([label, text]) => sample.labels[label] === text))
        .reduce((sum, sample) => sum + sample.value, 0);
    expect(value('quotadb_commands_total', { command: 'incr' })).toBe(100);
    expect(value('quotadb_commands_failed_total', { command: 'set' })).toBe(1);
    expect(value('quotadb_commands_rejected_total', { command: 'incr' })).toBe(1);
    for (const code of ['ERR', 'NOTINTEGER']) expect(value('quotadb_error_replies_total', { code })).toBe(1);
    expect(value('quotadb_keys')).toBe(1);
    expect(value('quotadb_connections')).toBe(1);
    expect(value('quotadb_network_received_bytes_total')).toBeGreaterThan(100 * 20);
    expect(value('quotadb_memory_maximum_bytes')).toBeGreaterThan(1e6);
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6);
    const timed = metrics
      .get('quotadb_command_duration_seconds')
      ?.samples.find(({ name, labels }) => name.endsWith('_count') && labels.command === 'incr');
    expect(timed?.value).toBeGreaterThan(0);
    expect(timed?.value).toBeLessThanOrEqual(100);
  });

  test('has the figures of the disk where there is one', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'quotadb-metrics-'));
    try {
      const { scrape } = await start({ dataDirectory: directory, fsync: 'always' });
      client = await TestClient.open(server?.port ?? 0);
      await client.call('INCR', 'a');
      await eventually(async () => {
        const metrics = await scrape();
        expect(metrics.get('quotadb_disk_up')?.samples[0].value).toBe(1);
        expect(metrics.get('quotadb_wal_fsyncs_total')?.samples[0].value).toBeGreaterThan(0);
        expect(metrics.get('quotadb_wal_flush_duration_seconds')?.samples.at(-1)?.value).toBeGreaterThan(0);
      });
      await server?.stop();
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  test('with --fsync always every flush and sync is timed, on whichever thread it was', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'quotadb-metrics-'));
    try {
      const { scrape } = await start({ dataDirectory: directory, fsync: 'always' });
      client = await TestClient.open(server?.port ?? 0);
      for (let call = 0; call < 50; call++) await client.call('INCR', 'a');
      const metrics = await scrape();
      const count = (name: string) => metrics.get(name)?.samples.find((one) => one.name.endsWith('_count'))?.value;
      expect(count('quotadb_wal_fsync_duration_seconds')).toBeGreaterThanOrEqual(50);
      expect(count('quotadb_wal_flush_duration_seconds')).toBeGreaterThanOrEqual(50);
      await server?.stop();
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  test('counts the decisions of rate limits and quotas, over RESP and HTTP', async () => {
    const { scrape } = await start();
    client = await TestClient.open(server?.port ?? 0);
    // A take that waits a second for the main thread of a busy machine would be denied: this one waits for a minute.
    const wait = ['ON-UNREACHABLE', 'WAIT', '60000'];
    await client.call('QUOTA.DEFINE', 'emails', 'LIMIT', '10', 'WINDOW', '3600000', ...wait);
    for (let call = 0; call < 12; call++) await client.call('QUOTA.TAKE', 'emails', 'acme', '1');
    for (let call = 0; call < 5; call++) await client.call('RATE.LIMIT', 'k', '3', '3600000');
    const url = `http://127.0.0.1:${server?.httpPort}/api/v1/limits/k/take`;
    const body = JSON.stringify({ limit: 3, windowMs: 3_600_000 });
    await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const metrics = await scrape();
    const value = (name: string, outcome?: string) =>
      metrics.get(name)?.samples.find(({ labels }) => labels.outcome === outcome)?.value;
    expect(value('quotadb_rate_decisions_total', 'allowed')).toBe(3);
    expect(value('quotadb_rate_decisions_total', 'denied')).toBe(3);
    expect(value('quotadb_quota_takes_total', 'allowed')).toBe(10);
    expect(value('quotadb_quota_takes_total', 'denied')).toBe(2);
    expect(value('quotadb_quota_tokens_taken_total')).toBe(10);
    expect(value('quotadb_quota_limit')).toBe(10);
    expect(value('quotadb_quota_tokens_refilled_total')).toBe(10);
    expect(value('quotadb_quota_exhausted_total')).toBeGreaterThan(0);
  });

  test('is for those who may read, where there are credentials', async () => {
    const [reader, writer] = [createToken(), createToken()];
    const user = { prefixes: [], passwords: [] };
    const { url } = await start({
      users: new Map([
        ['reader', { ...user, name: 'reader', roles: ['read'], tokens: [reader.hash] }],
        ['writer', { ...user, name: 'writer', roles: ['write'], tokens: [writer.hash] }],
      ]),
    });
    const status = async (authorization?: string) =>
      (await fetch(url, { headers: authorization === undefined ? {} : { authorization } })).status;
    expect(await status()).toBe(401);
    expect(await status('Bearer wrong')).toBe(401);
    expect(await status(`Bearer ${writer.token}`)).toBe(403);
    expect(await status(`Bearer ${reader.token}`)).toBe(200);
    const text = await (await fetch(url, { headers: { authorization: `Bearer ${reader.token}` } })).text();
    expect(parseExposition(text).get('quotadb_logins_failed_total')?.samples[0].value).toBe(1);
  });

  test('takes the password of the default user by Basic authentication', async () => {
    const { url } = await start({ password: 'open sesame' });
    const status = async (credentials: string) => {
      const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
      return (await fetch(url, { headers: { authorization } })).status;
    };
    expect(await status('default:open sesame')).toBe(200);
    expect(await status('default:wrong')).toBe(401);
  });
});

test('a duration falls into the bucket whose bounds it lies between', () => {
  for (const microseconds of [0, 0.3, 1, 1.1, 2, 2.5, 4, 5, 999, 1024, 1025, 1e6, 2 ** 20, 2 ** 20 + 1, 1e12]) {
    const bucket = durationBucket(microseconds);
    const above = bucketBoundsSeconds[bucket] ?? Number.POSITIVE_INFINITY;
    const below = bucket === 0 ? -1 : bucketBoundsSeconds[bucket - 1];
    expect([microseconds, microseconds / 1e6 <= above && microseconds / 1e6 > below]).toEqual([microseconds, true]);
  }
  expect(bucketBoundsSeconds).toHaveLength(DURATION_BUCKETS - 1);
});

test('labels and help survive whatever is in them', () => {
  const hostile = 'a"b\\c\nd}e,f="g"';
  const text = renderMetric({ name: 'x', type: 'gauge', help: 'one\ntwo \\' }, [
    { labels: { key: hostile }, value: 1 },
  ]);
  expect(parseExposition(text).get('x')?.samples).toEqual([{ name: 'x', labels: { key: hostile }, value: 1 }]);
});

test('the tables name every metric of a server', async () => {
  await start();
  const declared = Object.values(metricTables).flatMap((table) => Object.keys(table));
  const registered = server?.server.metrics.metrics().map(({ name }) => name) ?? [];
  expect([...registered].sort()).toEqual(declared.sort());
});

test('two sources cannot have one name', () => {
  const source = { metrics: { a_total: { type: 'counter', help: 'x' } }, collect: () => ({ a_total: 1 }) } as const;
  expect(() => new MetricRegistry([source, source])).toThrow(/two metrics named a_total/);
});
