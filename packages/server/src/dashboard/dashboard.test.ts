import { connect } from 'node:net';
import { createToken, hashPassword } from '@quotadb/config';
import type { History, KeyPage, QuotaDetails, SettingFacts, Snapshot, Sources } from '@quotadb/dashboard';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually, TestClient } from '../testing/index.js';
import { startTestServer, type TestServer } from '../testing/test-server.js';

let server: TestServer;
let client: TestClient;
beforeEach(async () => {
  server = await startTestServer({ region: 'us' });
  client = await TestClient.open(server.port);
});
afterEach(async () => {
  client.close();
  await server.stop();
});

const YEAR_MS = String(365 * 86_400_000);

const address = (path: string) => `http://127.0.0.1:${server.httpPort}${path}`;

async function read<Answer>(path: string): Promise<Answer> {
  return (await (await fetch(address(path))).json()) as Answer;
}

/** The first snapshot of the stream. */
async function firstSnapshot(token?: string): Promise<Snapshot> {
  const controller = new AbortController();
  const response = await fetch(address('/api/v1/dashboard/events'), {
    signal: controller.signal,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  let text = '';
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    if (text.includes('\n\n')) break;
  }
  controller.abort();
  return JSON.parse(text.slice('data: '.length, text.indexOf('\n\n'))) as Snapshot;
}

describe('the API of the dashboard', () => {
  test('says which server it is, how busy and how full', async () => {
    for (let index = 0; index < 20; index++) await client.call('INCR', `k${index}`);
    const snapshot = await firstSnapshot();
    expect(snapshot.server).toMatchObject({ region: 'us', processId: process.pid });
    expect(snapshot.memory.keys).toBe(20);
    expect(snapshot.traffic.commandsTotal).toBeGreaterThanOrEqual(20);
    expect(snapshot.traffic.connections).toBe(1);
    expect(snapshot.persistence).toBeNull();
  });

  test('finds keys by pattern, page by page, and shows one by its parts', async () => {
    for (let index = 0; index < 350; index++) await client.call('INCRBY', `visits:${index}`, '7');
    await client.call('EXPIRE', 'visits:2', '1000');
    await client.call('INCR', 'other');
    await client.call('DECRBY', 'visits:1', '3');
    const found = new Map<string, KeyPage['keys'][number]>();
    let cursor = '';
    do {
      const query = new URLSearchParams({ match: 'visits:*', cursor });
      const page = await read<KeyPage>(`/api/v1/dashboard/keys?${query}`);
      for (const one of page.keys) found.set(one.key, one);
      cursor = page.cursor;
    } while (cursor !== '');
    expect(found.size).toBe(350);
    expect(found.get('visits:1')).toEqual({
      key: 'visits:1',
      isText: true,
      value: '4',
      expiresAtMs: 0,
      regions: ['us'],
    });
    expect(found.get('visits:2')?.expiresAtMs).toBeGreaterThan(Date.now());
    const key = await (await fetch(address('/api/v1/dashboard/keys/visits%3A1'))).json();
    expect(key).toMatchObject({ exists: true, value: '4', components: [{ region: 'us', added: '7', taken: '3' }] });
    expect(await (await fetch(address('/api/v1/dashboard/keys/none'))).json()).toMatchObject({ exists: false });
  });

  test('shows the hottest identifiers, and where the tokens of a subject are', async () => {
    // Of a year: it does not end in the middle of the test.
    await client.call('QUOTA.DEFINE', 'emails', 'LIMIT', '100', 'WINDOW', YEAR_MS);
    for (let call = 0; call < 30; call++) await client.call('QUOTA.TAKE', 'emails', 'acme', '2');
    for (let call = 0; call < 9; call++) await client.call('RATE.LIMIT', 'api:acme', '6', '3600000');
    await client.call('RATE.LIMIT', 'api:globex', '6', '3600000');
    const { rates, quotas } = await firstSnapshot();
    expect(rates).toMatchObject({ allowedTotal: 7, deniedTotal: 3 });
    expect(rates.hottest.map(({ identifier }) => identifier)).toEqual(['api:acme', 'api:globex']);
    expect(rates.hottest[0].deniedPerSecond).toBeGreaterThan(0);
    expect(quotas).toMatchObject([{ name: 'emails', limit: 100, allowedTotal: 30, deniedTotal: 0, tokensTotal: 60 }]);
    expect(quotas[0].subjects.map(({ identifier }) => identifier)).toEqual(['acme']);
    const found = (await (await fetch(address('/api/v1/dashboard/quotas/emails?subject=acme'))).json()) as QuotaDetails;
    const [{ held, setAside, localBalance }] = found.places;
    expect(found.places).toHaveLength(1);
    expect(setAside - (localBalance as number)).toBe(60);
    expect(held + (localBalance as number)).toBe(40);
    expect((await fetch(address('/api/v1/dashboard/quotas/none?subject=acme'))).status).toBe(404);
    expect((await fetch(address(`/api/v1/dashboard/quotas/emails?subject=${'x'.repeat(2000)}`))).status).toBe(400);
  });

  test('keeps a history although no page is open, and serves it by range', async () => {
    await eventually(async () => {
      const { series } = await read<History>('/api/v1/dashboard/history');
      expect(series.commandsPerSecond.filter((value) => value !== null).length).toBeGreaterThan(1);
    });
    await client.call('INCR', 'k');
    await eventually(async () => {
      const { keys } = (await read<History>('/api/v1/dashboard/history?range=24h')).series;
      expect(keys.at(-1)).toBe(1);
    });
    expect((await fetch(address('/api/v1/dashboard/history?range=2y'))).status).toBe(400);
  });

  test('knows a peer that has never answered, and says so', async () => {
    const silent = await startTestServer({ region: 'ap' });
    await silent.stop();
    await server.stop();
    server = await startTestServer({
      region: 'us',
      replicationPort: 0,
      // Nothing listens there any more.
      peers: [{ region: 'ap', host: '127.0.0.1', port: silent.port }],
    });
    client.close();
    client = await TestClient.open(server.port);
    const { replication } = await firstSnapshot();
    expect(replication?.peers).toMatchObject([{ region: 'ap', state: 'connecting', isConfigured: true, lagMs: -1 }]);
  });

  test('explains every setting, and says which differ from the default', async () => {
    const settings = await read<SettingFacts[]>('/api/v1/dashboard/configuration');
    const region = settings.find(({ name }) => name === '--region');
    expect(region).toMatchObject({ value: 'us', standard: 'local', isChangeable: false });
    expect(settings.filter(({ help }) => help === '')).toEqual([]);
  });

  test('a key whose name is not text is listed, and marked as such', async () => {
    const socket = connect(server.port, '127.0.0.1');
    socket.end(Buffer.from('*2\r\n$4\r\nINCR\r\n$2\r\n\xffA\r\n', 'latin1'));
    await eventually(async () => {
      const { keys } = await read<KeyPage>('/api/v1/dashboard/keys');
      expect(keys).toMatchObject([{ key: '\ufffdA', isText: false, value: '1' }]);
    });
  });

  test('shows a user with key prefixes no key of others', async () => {
    client.close();
    await server.stop();
    const { token, hash } = createToken();
    const admin = createToken();
    const password = await hashPassword(Buffer.from('secret'));
    server = await startTestServer({
      region: 'us',
      users: new Map([
        ['admin', { name: 'admin', roles: ['admin'], prefixes: [], passwords: [password], tokens: [admin.hash] }],
        ['viewer', { name: 'viewer', roles: ['read'], prefixes: ['mine:'], passwords: [], tokens: [hash] }],
      ]),
    });
    client = await TestClient.open(server.port);
    await client.call('AUTH', 'admin', 'secret');
    await client.call('QUOTA.DEFINE', 'emails', 'LIMIT', '100', 'WINDOW', '3600000');
    await client.call('QUOTA.TAKE', 'emails', 'theirs:acme', '1');
    await client.call('RATE.LIMIT', 'theirs:api', '6', '3600000');
    const seen = JSON.stringify(await firstSnapshot(token));
    expect(seen).not.toContain('theirs');
    expect(JSON.stringify(await firstSnapshot(admin.token))).toContain('theirs:api');
    const headers = { authorization: `Bearer ${token}` };
    const status = async (subject: string) =>
      (await fetch(address(`/api/v1/dashboard/quotas/emails?subject=${subject}`), { headers })).status;
    expect(await status('theirs:acme')).toBe(403);
    expect(await status('mine:acme')).toBe(200);
    const sources = (await (await fetch(address('/api/v1/dashboard/sources'), { headers })).json()) as Sources;
    expect(sources.user).toEqual({ name: 'viewer', isAdmin: false, mayTake: false });
    expect((await fetch(address('/api/v1/dashboard/counts'), { headers })).status).toBe(403);
  });

  test('refuses what it does not understand, and shows no secret', async () => {
    expect((await fetch(address('/api/v1/dashboard/keys/%E0%A4%A'))).status).toBe(400);
    expect((await fetch(address('/api/v1/dashboard/keys?cursor=x'))).status).toBe(400);
    expect((await fetch(address('/api/v1/dashboard/nothing'))).status).toBe(404);
    expect((await fetch(address('/api/v1/dashboard/sources'), { method: 'POST' })).status).toBe(405);
    expect((await fetch(address('/dashboard/../package.json'))).status).toBe(404);
    expect((await fetch(address('/dashboard/assets/..%2f..%2ffiles.js'))).status).toBe(404);
    const settings = (await (await fetch(address('/api/v1/dashboard/configuration'))).json()) as { name: string }[];
    const names = settings.map(({ name }) => name);
    expect(names).toContain('--region');
    expect(names).not.toContain('--password');
  });

  test('with credentials it needs them, and figures need less than settings', async () => {
    await server.stop();
    server = await startTestServer({ region: 'us', password: 'secret' });
    const authorization = `Basic ${btoa('default:secret')}`;
    const status = async (path: string, headers = {}) => (await fetch(address(path), { headers })).status;
    expect(await status('/dashboard/')).toBe(200);
    expect(await status('/api/v1/dashboard/sources')).toBe(401);
    expect(await status('/api/v1/dashboard/events')).toBe(401);
    expect(await status('/api/v1/dashboard/keys')).toBe(401);
    expect(await status('/api/v1/dashboard/sources', { authorization })).toBe(200);
    expect(await status('/api/v1/dashboard/configuration', { authorization })).toBe(200);
    client.close();
    client = await TestClient.open(server.port);
    await client.call('AUTH', 'secret');
  });
});
