import type { ClientBase } from 'pg';
import { expect, test } from 'vitest';
import { Servers } from './servers.js';

const SEVERAL = 'postgresql://me:p%40ss@a:5432,b:6432,[::1]:7432/db?sslmode=verify-full';

const session = (readOnly: 'on' | 'off') => ({ query: async () => ({ rows: [[readOnly]] }) }) as unknown as ClientBase;

test('each host of a URL is a server with the login, database and settings of all', async () => {
  const servers = new Servers({ connectionString: SEVERAL });
  const found: (string | undefined)[] = [];
  for (let turn = 0; turn < 4; turn++) {
    const present = await servers.locate();
    found.push(present.connectionString);
    servers.moveOn(present);
  }
  const url = (host: string) => `postgresql://me:p%40ss@${host}/db?sslmode=verify-full`;
  expect(found).toEqual([url('a:5432'), url('b:6432'), url('[::1]:7432'), url('a:5432')]);
});

test('connections that fail at the same server move on once, not past the next', async () => {
  const servers = new Servers({ connectionString: SEVERAL });
  const first = await servers.locate();
  servers.moveOn(first);
  servers.moveOn(first);
  expect((await servers.locate()).connectionString).toContain('@b:6432/');
});

test('what is not a URL with hosts stays as it is', async () => {
  for (const options of [{ host: '/run/postgresql', user: 'me' }, { connectionString: 'postgres:///db?host=/run' }]) {
    const servers = new Servers(options);
    expect(await servers.locate()).toEqual(options);
    servers.moveOn(await servers.locate());
    expect(await servers.locate()).toEqual(options);
  }
});

test.each([
  ['one host', 'postgres://a/db', false],
  ['one host, any', 'postgres://a/db?target_session_attrs=any', false],
  ['one host, read-write', 'postgres://a/db?sslmode=disable&target_session_attrs=read-write', true],
  ['one host, primary', 'postgres://a/db?target_session_attrs=primary', true],
  ['several hosts', 'postgres://a,b/db', true],
  ['several hosts, any', 'postgres://a,b/db?target_session_attrs=any', false],
])('%s: whether a server that only reads is refused', async (_name, connectionString, refuses) => {
  const servers = new Servers({ connectionString });
  await servers.check(session('off'));
  if (refuses) await expect(servers.check(session('on'))).rejects.toThrow('only reads');
  else await servers.check(session('on'));
});

test('a wish for a server that only reads is a mistake, and the message has no password', () => {
  const connectionString = 'postgres://me:hunter2@a,b/db?target_session_attrs=prefer-standby';
  const make = () => new Servers({ connectionString });
  expect(make).toThrow('target_session_attrs is "prefer-standby"; it must be one of: read-write, primary, any');
  expect(make).not.toThrow('hunter2');
});
