import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createToken, hashPassword } from '@quotadb/config';
import { Redis } from 'ioredis';
import { createClient } from 'redis6';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually, type ReadyLine, type SpawnedServer, spawnServer, TestClient } from '../testing/index.js';

const WRONG = '-WRONGPASS invalid username-password pair or user is disabled.\r\n';

let directory: string;
let passwords: Record<'web' | 'boss' | 'other', string>;
const token = createToken();
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-access-'));
  const [web, boss, other] = await Promise.all(['web', 'boss', 'other'].map((word) => hashPassword(Buffer.from(word))));
  passwords = { web, boss, other };
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe.each([
  ['net', ['--transport', 'net']],
  ['two lanes', ['--lanes', '2']],
])('with users, over %s', (_, flags) => {
  let file: string;
  let server: SpawnedServer;
  let ready: ReadyLine;

  async function configure(users: object): Promise<void> {
    await writeFile(file, JSON.stringify({ users }));
  }

  function usual() {
    return {
      web: { roles: ['read', 'write'], prefixes: ['web:'], passwords: [passwords.web] },
      boss: { roles: ['admin'], passwords: [passwords.boss], tokens: [token.hash] },
    };
  }

  beforeAll(async () => {
    file = join(directory, `${flags.join('')}.json`);
    await configure(usual());
    server = spawnServer([...flags, '--config', file, '--log-level', 'info']);
    ready = await server.ready();
  });
  afterAll(async () => {
    await server.stop();
  });
  const clients: TestClient[] = [];
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
  });

  async function open(...login: string[]): Promise<TestClient> {
    const client = await TestClient.open(ready.resp);
    clients.push(client);
    if (login.length > 0) expect(await client.call('AUTH', ...login)).toBe('+OK\r\n');
    return client;
  }

  test('AUTH and HELLO let a user in, with its rights and no more', async () => {
    const client = await open();
    expect(await client.call('INCR', 'web:a')).toBe('-NOAUTH Authentication required.\r\n');
    expect(await client.call('HELLO', 3, 'AUTH', 'web', 'web', 'SETNAME', 'me')).toMatch(/^%7/);
    expect(await client.call('INCR', 'web:a')).toMatch(/^:/);
    expect(await client.call('INCR', 'a')).toMatch(/^-NOPERM/);
    expect(await client.call('FLUSHALL')).toMatch(/^-NOPERM/);
    expect(await client.call('ACL', 'WHOAMI')).toBe('$3\r\nweb\r\n');
    expect(await client.call('CLIENT', 'INFO')).toContain('user=web');
  });

  test('what is sent behind AUTH in one go is run as that user', async () => {
    const client = await open();
    client.write('AUTH web web\r\nACL WHOAMI\r\nAUTH boss boss\r\nACL WHOAMI\r\n');
    expect([await client.reply(), await client.reply(), await client.reply(), await client.reply()]).toEqual([
      '+OK\r\n',
      '$3\r\nweb\r\n',
      '+OK\r\n',
      '$4\r\nboss\r\n',
    ]);
  });

  test.each([
    ['AUTH', 'web', 'wrong'],
    ['AUTH', 'nobody', 'web'],
    ['AUTH', 'default', ''],
    ['AUTH', 'web'],
    ['HELLO', '2', 'AUTH', 'boss', 'web'],
  ])('%s %s %s is refused', async (...words) => {
    const client = await open();
    expect(await client.call(...words)).toBe(WRONG);
    expect(await client.call('PING')).toMatch(/^-NOAUTH/);
  });

  test('a wrong password holds up no other client', async () => {
    const friend = await open('web', 'web');
    const attackers = await Promise.all(Array.from({ length: 8 }, () => open()));
    const refused = attackers.map((attacker) => attacker.call('AUTH', 'web', 'wrong'));
    expect(await friend.call('INCR', 'web:b')).toMatch(/^:/);
    const newcomer = await open('web', 'web');
    expect(await newcomer.call('PING')).toBe('+PONG\r\n');
    expect(new Set(await Promise.all(refused))).toEqual(new Set([WRONG]));
  });

  test('real clients log in', async () => {
    const io = new Redis({ port: ready.resp, username: 'web', password: 'web', lazyConnect: true });
    await io.connect();
    expect(await io.incr('web:ioredis')).toBe(1);
    await io.quit();
    const node = createClient({ socket: { port: ready.resp, host: '127.0.0.1' }, username: 'web', password: 'web' });
    await node.connect();
    expect(await node.incr('web:node-redis')).toBe(1);
    await node.close();
  });

  test('a bearer token of an admin opens the internal part of the counts API, and no token does not', async () => {
    const call = async (headers: Record<string, string>) => {
      const url = `http://127.0.0.1:${ready.http}/api/v1/internal/counts`;
      return (await fetch(url, { method: 'POST', body: '{}', headers })).status;
    };
    expect(await call({})).toBe(401);
    expect(await call({ authorization: 'Bearer wrong' })).toBe(401);
    expect(await call({ authorization: `Bearer ${token.token}` })).toBe(415);
  });

  test('ACL LOAD reads other users and rights for all lanes, and refuses mistakes as a whole', async () => {
    const boss = await open('boss', 'boss');
    const [web, second] = [await open('web', 'web'), await open('web', 'web')];
    await configure({ ...usual(), web: { roles: ['read'], passwords: [passwords.web] } });
    expect(await web.call('ACL', 'LOAD')).toMatch(/^-NOPERM/);
    expect(await boss.call('ACL', 'LOAD')).toBe('+OK\r\n');
    for (const client of [web, second])
      expect(await client.call('INCR', 'web:a')).toMatch(/^-NOPERM .* run the 'incr'/);
    await configure({ ...usual(), web: { roles: ['read'], passwords: ['plain'] } });
    expect(await boss.call('ACL', 'LOAD')).toMatch(/^-ERR nothing was changed: .*must be hashed/);
    expect(await web.call('GET', 'a')).toBe('$-1\r\n');
    await configure(usual());
    expect(await boss.call('ACL', 'LOAD')).toBe('+OK\r\n');
  });

  test('SIGHUP does the same, and who has another password has to come again', async () => {
    const web = await open('web', 'web');
    await configure({ ...usual(), web: { ...usual().web, passwords: [passwords.other] } });
    server.child.kill('SIGHUP');
    await web.closed;
    await eventually(async () => {
      const client = await TestClient.open(ready.resp);
      clients.push(client);
      expect(await client.call('AUTH', 'web', 'other')).toBe('+OK\r\n');
    });
    expect(await (await open()).call('AUTH', 'web', 'web')).toBe(WRONG);
    await configure(usual());
    const boss = await open('boss', 'boss');
    expect(await boss.call('ACL', 'LOAD')).toBe('+OK\r\n');
  });
});
