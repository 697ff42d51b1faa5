import { type IncomingMessage, request } from 'node:http';
import { createToken } from '@quotadb/config';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, TestClient, type TestServer } from '../testing/index.js';
import { attackedOperations, pathOf } from './attacked-operations.js';

type Headers = Readonly<Record<string, string>>;

const admin = createToken();
let open: TestServer;
let closed: TestServer;
beforeAll(async () => {
  const boss = { name: 'boss', roles: ['admin' as const], prefixes: [], passwords: [], tokens: [admin.hash] };
  [open, closed] = await Promise.all([
    startTestServer({ httpNames: ['quota.example', 'quota.example:8443'] }),
    startTestServer({ users: new Map([[boss.name, boss]]) }),
  ]);
});
afterAll(() => Promise.all([open.stop(), closed.stop()]));

/** The status and the code of the problem, if it is one. */
function ask(port: number, method: string, path: string, headers: Headers): Promise<[number, string | undefined]> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, headers: { ...headers }, agent: false };
    const answered = async (response: IncomingMessage) => {
      const status = response.statusCode as number;
      const isProblem = /problem/.test(response.headers['content-type'] ?? '');
      if (!isProblem) response.destroy();
      let text = '';
      if (isProblem) for await (const part of response) text += part;
      resolve([status, isProblem ? JSON.parse(text).code : undefined]);
    };
    request(options, (response) => void answered(response).catch(reject))
      .on('error', reject)
      .end();
  });
}

/** What a page can make a browser send, in the headers that it cannot change. */
const attacks: readonly [string, Headers, string][] = [
  ['a name of another site that points here', { host: 'evil.example' }, 'unknown_host'],
  [
    'a page of a name that points here',
    { host: 'evil.example:8380', origin: 'http://evil.example:8380', 'sec-fetch-site': 'same-origin' },
    'unknown_host',
  ],
  ['a name that begins like ours', { host: '127.0.0.1.evil.example' }, 'unknown_host'],
  ['a name in the place of the user', { host: '127.0.0.1@evil.example' }, 'unknown_host'],
  ['a form of another site, of an older browser', { origin: 'http://evil.example' }, 'forbidden'],
  ['a page without an origin', { origin: 'null' }, 'forbidden'],
  ['an image of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 'forbidden'],
  [
    'a page of another port of this machine',
    { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
    'forbidden',
  ],
  [
    'a frame of another site',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    'forbidden',
  ],
  [
    'a socket of another site',
    { origin: 'http://evil.example', connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
    'forbidden',
  ],
  ['an origin that ends like ours', { origin: 'http://evil.example/quota.example' }, 'forbidden'],
  ['another port of a name of ours', { origin: 'https://quota.example:1' }, 'forbidden'],
];

describe('no operation runs for', () => {
  test.each(attacks)('%s', async (_, headers, code) => {
    for (const operation of attackedOperations) {
      const found = await ask(open.httpPort, operation.method, pathOf(operation), headers);
      expect([operation.id, ...found]).toEqual([operation.id, code === 'forbidden' ? 403 : 421, code]);
    }
  });

  test('a page of another site, whatever credentials it has', async () => {
    for (const operation of attackedOperations) {
      const headers = { origin: 'http://evil.example', authorization: `Bearer ${admin.token}` };
      const found = await ask(closed.httpPort, operation.method, pathOf(operation), headers);
      expect([operation.id, ...found]).toEqual([operation.id, 403, 'forbidden']);
    }
  });

  test('a link on a page of another site, if it needs a role', async () => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    for (const operation of attackedOperations) {
      const [status] = await ask(open.httpPort, operation.method, pathOf(operation), headers);
      expect([operation.id, status === 403]).toEqual([operation.id, operation.roles !== undefined]);
    }
  });
});

describe('an operation runs for', () => {
  const count = async (headers: Headers, port = open.httpPort) =>
    (await ask(port, 'GET', '/api/v1/windows/k?windowMs=1000', headers))[0];

  test.each([
    ['a client that is no browser', {}],
    ['another name of this machine', { host: 'localhost:1' }],
    ['an address of this machine', { host: '[::1]:8380' }],
    ['a name of the settings', { host: 'Quota.Example:99' }],
    ['its own page', { 'sec-fetch-site': 'same-origin', host: '127.0.0.1:8380', origin: 'http://127.0.0.1:8380' }],
    ['its own page in an older browser', { host: '127.0.0.1:8380', origin: 'http://127.0.0.1:8380' }],
    ['an address that was typed', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }],
    ['a page of a proxy that the settings name', { origin: 'https://quota.example', host: '127.0.0.1:8380' }],
    ['one of another port', { origin: 'https://quota.example:8443', 'sec-fetch-site': 'same-site' }],
  ])('%s', async (_, headers) => {
    expect(await count(headers)).toBe(200);
  });

  test('any name where callers need credentials, which no other site has', async () => {
    const authorization = `Bearer ${admin.token}`;
    expect(await count({ host: 'load-balancer.example', authorization }, closed.httpPort)).toBe(200);
    expect(await count({ host: 'evil.example' }, closed.httpPort)).toBe(401);
  });

  test('its names until the password is taken away', async () => {
    const server = await startTestServer({ password: 'secret' });
    expect((await ask(server.httpPort, 'GET', '/healthz', { host: 'evil.example' }))[0]).toBe(200);
    const client = await TestClient.open(server.port);
    await client.call('AUTH', 'secret');
    expect(await client.call('CONFIG', 'SET', 'requirepass', '')).toBe('+OK\r\n');
    expect((await ask(server.httpPort, 'GET', '/healthz', { host: 'evil.example' }))[0]).toBe(421);
    client.close();
    await server.stop();
  });
});
