import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Configuration, createToken, hashPassword, type UserRecord } from '@quotadb/config';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually, startTestServer, TestClient, type TestServer } from '../testing/index.js';

const opened: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.stop();
});

async function serve(settings: Partial<Configuration> = {}): Promise<{ server: TestServer; client: TestClient }> {
  const server = await startTestServer(settings);
  opened.push(server);
  return { server, client: await connect(server) };
}

async function connect({ port }: TestServer): Promise<TestClient> {
  const client = await TestClient.open(port);
  opened.push({ stop: async () => client.close() });
  return client;
}

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'quotadb-limits-'));
  opened.push({ stop: () => rm(path, { recursive: true, force: true }) });
  return path;
}

/** The reply of LIMIT.CHECK. */
async function check(client: TestClient, ...words: readonly (string | number)[]) {
  const reply = await client.call('LIMIT.CHECK', ...words);
  const numbers = [...reply.matchAll(/^:(-?\d+)\r$/gm)].map(([, digits]) => Number(digits));
  if (!reply.startsWith('*6') || numbers.length !== 5) throw new Error(reply);
  const [allowed, limit, remaining, resetMs, retryAfterMs] = numbers;
  const deniedBy = /\$\d+\r\n(.+)\r\n$/.exec(reply)?.[1];
  return { allowed, limit, remaining, resetMs, retryAfterMs, deniedBy };
}

const HOUR = 'window: 1h';
const CATALOGUE = `
plans: { pro: { subjects: [acme, team-*] } }
limits:
  - { name: api, domain: gateway, kind: exact, limit: 3, ${HOUR}, overrides: [{ plan: pro, limit: 5 }] }
  - { name: slide, kind: sliding, limit: 3, ${HOUR} }
  - { name: fix, kind: fixed, limit: 3, window: month, timeZone: Europe/Berlin }
  - { name: bucket, domain: gateway, kind: bucket, limit: 3, ${HOUR} }
  - { name: user, kind: exact, limit: 10, ${HOUR}, parent: org }
  - { name: org, kind: sliding, limit: 15, ${HOUR} }
  - { name: free, kind: fixed, limit: unlimited, ${HOUR} }
  - { name: off, kind: fixed, limit: 0, ${HOUR}, enabled: false }
  - { name: jobs, kind: concurrency, limit: 1, hold: 30s }
`;

async function load(client: TestClient, text = CATALOGUE): Promise<void> {
  expect(await client.call('LIMIT.LOAD', text)).toBe('+OK\r\n');
}

describe.each(['api', 'slide', 'fix', 'bucket'])('of one subject of the limit %s', (name) => {
  test('what was used is given back by LIMIT.REFUND and LIMIT.RESET, once under an id, and is an event', async () => {
    const { client } = await serve();
    await load(client);
    await check(client, name, 'bob', 3);
    await check(client, name, 'carol', 1);
    expect(await client.call('LIMIT.REFUND', name, 'bob', 2, 'ID', 'a')).toMatch(/^\*3\r\n:2\r\n/);
    expect(await client.call('LIMIT.REFUND', name, 'bob', 2, 'ID', 'a')).toMatch(/^\*3\r\n:2\r\n/);
    expect(await check(client, name, 'bob', 0)).toMatchObject({ remaining: 2 });
    expect(await client.call('LIMIT.REFUND', name, 'bob', 9)).toMatch(/^\*3\r\n:1\r\n/);
    expect(await check(client, name, 'bob', 3)).toMatchObject({ allowed: 1, remaining: 0 });
    expect(await client.call('LIMIT.RESET', name, 'bob')).toMatch(/^\*3\r\n:3\r\n\*1\r\n/);
    expect(await check(client, name, 'bob', 0)).toMatchObject({ remaining: 3 });
    expect(await check(client, name, 'carol', 0)).toMatchObject({ remaining: 2 });
    const events = await client.call('QUOTA.EVENTS');
    expect(events.match(/quota\.(refund|reset)/g)).toEqual([
      'quota.reset',
      'quota.refund',
      'quota.refund',
      'quota.refund',
    ]);
    const page = await client.call('LIMIT.SUBJECTS', name);
    expect(page).toContain('$5\r\ncarol\r\n:3\r\n:2\r\n');
    expect(await client.call('LIMIT.REFUND', name, 'bob', 0)).toContain('an amount is a whole number');
  });

  test('the same goes over HTTP', async () => {
    const { client, server } = await serve();
    await load(client);
    await check(client, name, 'bob', 3);
    const url = `http://127.0.0.1:${server.httpPort}/api/v1/limits/named/${name}/subjects`;
    const headers = { 'content-type': 'application/json' };
    const post = async (path: string, body: object) =>
      (await fetch(`${url}/bob/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json();
    expect(await post('refund', { amount: 1 })).toEqual({ refunded: 1 });
    expect(await post('reset', {})).toMatchObject({ refunded: 2, missing: [] });
    await check(client, name, 'bob', 1);
    expect(await (await fetch(url)).json()).toMatchObject({ subjects: [{ subject: 'bob', remaining: 2 }] });
  });
});

describe('LIMIT.CHECK', () => {
  test.each(['api', 'slide', 'fix', 'bucket'])('answers alike for every kind: %s', async (name) => {
    const { client } = await serve();
    await load(client);
    expect(await check(client, name, 'bob')).toMatchObject({ allowed: 1, limit: 3, remaining: 2, retryAfterMs: 0 });
    expect(await check(client, name, 'bob', 2)).toMatchObject({ allowed: 1, remaining: 0, deniedBy: undefined });
    const denied = await check(client, name, 'bob');
    expect(denied).toMatchObject({ allowed: 0, limit: 3, remaining: 0, deniedBy: name });
    expect(denied.retryAfterMs).toBeGreaterThan(0);
    expect(await check(client, name, 'carol', 4)).toMatchObject({ allowed: 0, remaining: 3, retryAfterMs: -1 });
    expect(await client.call('LIMIT.PEEK', name, 'carol')).toMatch(/^\*6\r\n:1\r\n:3\r\n:3\r\n/);
  });

  test('takes from all limits of a domain or from none', async () => {
    const { client } = await serve();
    await load(client);
    expect(await check(client, 'gateway', 'acme', 3)).toMatchObject({ allowed: 1, limit: 3, remaining: 0 });
    expect(await check(client, 'gateway', 'acme')).toMatchObject({ allowed: 0, deniedBy: 'bucket' });
    // The bucket denied, and nothing was taken from the other.
    expect(await check(client, 'api', 'acme')).toMatchObject({ allowed: 1, limit: 5, remaining: 1 });
  });

  test('knows limits without a limit, disabled ones and leases, and says so', async () => {
    const { client } = await serve();
    await load(client);
    const unlimited = { allowed: 1, limit: -1, remaining: -1, resetMs: -1, retryAfterMs: 0 };
    expect(await check(client, 'free', 'x', 1000)).toMatchObject(unlimited);
    expect(await check(client, 'off', 'x')).toMatchObject(unlimited);
    expect(await client.call('LIMIT.CHECK', 'jobs', 'x')).toContain('LIMIT.CHECK jobs <subject> LEASE');
    expect(await client.call('QUOTA.ACQUIRE', 'jobs', 'x', 'TTL', 5000)).toMatch(/^\*\d\r\n:1\r\n/);
    expect(await client.call('LIMIT.CHECK', 'nobody', 'x')).toBe(
      "-ERR there is no limit or domain 'nobody' in the catalogue\r\n",
    );
  });

  test('takes a lease under the id of its caller, once, and ends it with LIMIT.RELEASE', async () => {
    const { client, server } = await serve();
    await load(
      client,
      `${CATALOGUE}  - { name: rate, domain: work, kind: sliding, limit: 9, ${HOUR} }
  - { name: one, domain: work, kind: concurrency, limit: 1, hold: 30s, parent: all }
  - { name: all, kind: concurrency, limit: 2, hold: 30s }
`,
    );
    for (let time = 0; time < 3; time++)
      expect(await check(client, 'work', 'ann', 'LEASE', 'a')).toMatchObject({ allowed: 1, limit: 1, remaining: 0 });
    expect(await check(client, 'work', 'ann', 1, 'WAIT', 0, 'LEASE', 'b')).toMatchObject({
      allowed: 0,
      deniedBy: 'one',
    });
    expect(await check(client, 'rate', 'ann', 0)).toMatchObject({ remaining: 8 });
    expect(await check(client, 'work', 'bob', 'LEASE', 'a')).toMatchObject({ allowed: 1 });
    expect(await check(client, 'work', 'cid', 'LEASE', 'a')).toMatchObject({ allowed: 0, deniedBy: 'all' });
    expect(await client.call('LIMIT.RELEASE', 'work', 'ann', 'b')).toBe(':0\r\n');
    expect(await client.call('LIMIT.RELEASE', 'work', 'ann', 'a')).toBe(':1\r\n');
    const url = `http://127.0.0.1:${server.httpPort}/api/v1/limits`;
    const headers = { 'content-type': 'application/json' };
    const post = async (path: string, body: object) =>
      (await fetch(`${url}/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json();
    const asked = { name: 'work', subject: 'cid', lease: 'z' };
    expect(await post('check', asked)).toMatchObject({ allowed: true, limits: [{}, { name: 'one' }, { name: 'all' }] });
    expect(await post('check', { ...asked, lease: undefined })).toMatchObject({ code: 'limit_refused' });
    expect(await post('release', asked)).toEqual({ released: true });
    expect(await post('release', asked)).toEqual({ released: false });
    expect(await client.call('LIMIT.RELEASE', 'nobody', 'ann', 'a')).toContain("there is no limit or domain 'nobody'");
    expect(await client.call('LIMIT.CHECK', 'work', 'ann', 'LEASE', 'x'.repeat(129))).toContain('1 to 128 bytes');
    await client.call('MULTI');
    await client.call('LIMIT.CHECK', 'work', 'ann', 'LEASE', 'a');
    expect(await client.call('EXEC')).toContain('cannot run inside MULTI');
  });

  test('keeps a lease over a restart with data, and a repetition gets the same one', async () => {
    const data = await directory();
    const first = await serve({ dataDirectory: data });
    await load(first.client);
    expect(await check(first.client, 'jobs', 'ann', 'LEASE', 'a')).toMatchObject({ allowed: 1 });
    await first.server.stop();
    const { client } = await serve({ dataDirectory: data });
    expect(await check(client, 'jobs', 'ann', 'LEASE', 'a')).toMatchObject({ allowed: 1 });
    expect(await check(client, 'jobs', 'ann', 'LEASE', 'b')).toMatchObject({ allowed: 0, deniedBy: 'jobs' });
    expect(await client.call('LIMIT.RELEASE', 'jobs', 'ann', 'a')).toBe(':1\r\n');
  });

  test.each([
    [['api', 'x', '-1'], "the cost is a whole number from 0 to 1125899906842624, not '-1'"],
    [['api', 'x', 'many'], "not 'many'"],
    [['api', 'x', '1', 'WAIT'], 'syntax'],
    [['api', 'x', '1', 'WAIT', 'long'], 'timeout is not an integer'],
    [['api', 'x'.repeat(1025)], 'a subject has at most 1024 bytes'],
  ])('refuses %j: %s', async (words, message) => {
    const { client } = await serve();
    await load(client);
    expect(await client.call('LIMIT.CHECK', ...words)).toContain(message);
    expect(await check(client, 'api', 'x', 'WAIT', '10ms')).toMatchObject({ allowed: 1 });
    expect(await check(client, 'api', 'x', 0, 'WAIT', 10)).toMatchObject({ allowed: 1, remaining: 2 });
  });

  test('runs in scripts and transactions, where nothing waits', async () => {
    const { client } = await serve();
    await load(client);
    const script = "return redis.call('LIMIT.CHECK', KEYS[1], ARGV[1])[1]";
    const run = (name: string) => client.call('EVAL', script, 1, name, 's');
    for (let time = 0; time < 3; time++) expect(await run('slide')).toBe(':1\r\n');
    expect(await run('slide')).toBe(':0\r\n');
    // Its first tokens are asked for, and found by a later call.
    await eventually(async () => expect(await run('api')).toBe(':1\r\n'));
    expect(await client.call('EVAL', script, 1, 'nobody', 's')).toContain("there is no limit or domain 'nobody'");
    await client.call('MULTI');
    await client.call('LIMIT.CHECK', 'fix', 's', 3);
    await client.call('LIMIT.CHECK', 'fix', 's', 1);
    expect(await client.call('EXEC')).toMatch(/^\*2\r\n\*6\r\n:1\r\n[\s\S]*\*6\r\n:0\r\n/);
  });

  test('is for the role quota, for subjects that the prefixes of the user cover; changes are for admins', async () => {
    const { token, hash } = createToken();
    const passwords = [await hashPassword(Buffer.from('a-long-password'))];
    const users = new Map<string, UserRecord>([
      ['checker', { name: 'checker', roles: ['quota'], prefixes: ['team:'], passwords, tokens: [hash] }],
      ['operator', { name: 'operator', roles: ['admin', 'quota'], prefixes: [], passwords, tokens: [] }],
    ]);
    const { server } = await serve({ users });
    const [operator, checker] = await Promise.all(
      ['operator', 'checker'].map(async (name) => {
        const client = await connect(server);
        expect(await client.call('AUTH', name, 'a-long-password')).toBe('+OK\r\n');
        return client;
      }),
    );
    await load(operator);
    expect(await check(checker, 'slide', 'team:a')).toMatchObject({ allowed: 1 });
    expect(await checker.call('LIMIT.CHECK', 'slide', 'other')).toMatch(/^-NOPERM/);
    const ask = async (subject: string) => {
      const url = `http://127.0.0.1:${server.httpPort}/api/v1/limits/check`;
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      return (await fetch(url, { method: 'POST', headers, body: JSON.stringify({ name: 'slide', subject }) })).status;
    };
    expect(await ask('team:a')).toBe(200);
    expect(await ask('other')).toBe(403);
    for (const words of [
      ['LIMIT.LOAD', ''],
      ['LIMIT.SET', '{}'],
      ['LIMIT.DROP', 'slide'],
    ])
      expect(await checker.call(...(words as [string, string]))).toMatch(/^-NOPERM/);
  });

  test('admits exactly the limit from many connections at once, in child and parent alike', async () => {
    const { server, client } = await serve();
    await load(client);
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect(server)));
    const allowed = { ann: 0, bob: 0 };
    const ask = async (each: TestClient, index: number) => {
      const name = index % 2 === 0 ? 'ann' : 'bob';
      for (let time = 0; time < 10; time++)
        if ((await check(each, 'user', `acme/${name}`)).allowed === 1) allowed[name]++;
    };
    await Promise.all(clients.map(ask));
    expect(allowed.ann + allowed.bob).toBe(15);
    expect(Math.max(allowed.ann, allowed.bob)).toBeLessThanOrEqual(10);
    // What the organisation denied was not taken from the users.
    for (const name of ['ann', 'bob'] as const) {
      const reply = await client.call('QUOTA.PEEK', 'user', `acme/${name}`);
      expect(reply).toContain(`:${10 - allowed[name]}\r\n`);
    }
  });

  test('with a limit in shadow decides as without it, and counts what that would have denied', async () => {
    const traffic = Array.from({ length: 60 }, (_, index) => [`s${index % 3}`, 1 + (index % 2)] as const);
    const decisionsOf = async (shadow: string) => {
      const { server, client } = await serve();
      await load(client, `limits:\n  - { name: real, domain: d, kind: exact, limit: 20, ${HOUR} }\n${shadow}`);
      const decisions: string[] = [];
      for (const [subject, cost] of traffic) {
        const { allowed, limit, remaining, deniedBy } = await check(client, 'd', subject, cost);
        decisions.push(JSON.stringify([allowed, limit, remaining, deniedBy]));
      }
      return { server, decisions };
    };
    const without = await decisionsOf('');
    for (const kind of ['exact', 'sliding', 'fixed', 'bucket']) {
      const tried = `  - { name: tried, domain: d, kind: ${kind}, limit: 4, ${HOUR}, shadow: true }`;
      const withShadow = await decisionsOf(tried);
      expect(withShadow.decisions).toEqual(without.decisions);
      const text = await withShadow.server.server.metrics.render();
      expect(text).toMatch(/quotadb_limit_decisions_total\{limit="tried",outcome="shadow-denied"\} [1-9]/);
      expect(text).toContain('quotadb_limit_decisions_total{limit="tried",outcome="denied"} 0');
    }
  });
});

describe('the catalogue', () => {
  test('is listed, read, changed one limit at a time, and refused with all mistakes', async () => {
    const { client } = await serve({ dataDirectory: await directory() });
    await load(client);
    expect(await client.call('LIMIT.LIST')).toContain('bucket');
    expect(await client.call('LIMIT.GET', 'slide')).toContain(
      '{"name":"slide","kind":"sliding","limit":3,"window":"1h"}',
    );
    expect(await client.call('LIMIT.GET', 'nobody')).toBe('$-1\r\n');
    expect(await client.call('LIMIT.SET', '{ name: slide, kind: sliding, limit: 4, window: 1h }')).toBe('+OK\r\n');
    expect(await check(client, 'slide', 'x')).toMatchObject({ limit: 4 });
    expect(await client.call('LIMIT.SET', 'name: x\nkind: y\nlimit: -1')).toMatch(
      /^-ERR line 2, kind: .*; line 3, limit: /,
    );
    expect(await client.call('LIMIT.DROP', 'org')).toContain("parent: there is no limit 'org'");
    expect(await client.call('LIMIT.DROP', 'slide')).toBe(':1\r\n');
    expect(await client.call('LIMIT.DROP', 'slide')).toBe(':0\r\n');
    expect(await client.call('LIMIT.LOAD', 'limits: [{}]')).toContain('limits[0].name: it is missing');
    expect(await check(client, 'api', 'x')).toMatchObject({ allowed: 1 });
    expect(await client.call('QUOTA.DROP', 'api')).toContain("'api' is of the catalogue of limits");
  });

  test('comes back from the disk, with what was taken', async () => {
    const dataDirectory = await directory();
    const first = await serve({ dataDirectory });
    await load(first.client);
    await check(first.client, 'api', 'x', 2);
    await check(first.client, 'fix', 'x', 2);
    await first.server.stop();
    const { client } = await serve({ dataDirectory });
    expect(await check(client, 'api', 'x')).toMatchObject({ allowed: 1, remaining: 0 });
    expect(await check(client, 'fix', 'x', 2)).toMatchObject({ allowed: 0, remaining: 1 });
  });

  test('of a file holds from the start, is watched, and is refused with its mistakes while it has some', async () => {
    const path = await directory();
    const limitsFile = join(path, 'limits.yaml');
    const write = async (limit: string) => {
      await writeFile(`${limitsFile}.new`, `limits:\n  - { name: api, kind: fixed, limit: ${limit}, window: 1h }\n`);
      await rename(`${limitsFile}.new`, limitsFile);
    };
    await write('3');
    const { server, client } = await serve({ limitsFile });
    expect(await check(client, 'api', 'x')).toMatchObject({ limit: 3 });
    await write('4');
    await eventually(async () => expect(await check(client, 'api', 'x', 0)).toMatchObject({ limit: 4 }));
    await write('many');
    const mistakes = async () => /limits_file_mistakes (\d)/.exec(await server.server.metrics.render())?.[1];
    await eventually(async () => expect(await mistakes()).toBe('1'));
    expect(await check(client, 'api', 'x', 0)).toMatchObject({ limit: 4 });
    await write('5');
    await eventually(async () => expect(await check(client, 'api', 'x', 0)).toMatchObject({ limit: 5 }));
    expect(await mistakes()).toBe('0');
  });
});

describe('over HTTP', () => {
  async function http(server: TestServer, method: string, path: string, body?: unknown) {
    const response = await fetch(`http://127.0.0.1:${server.httpPort}/api/v1/limits${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  test('a check has the same names, and a denial is an answer', async () => {
    const { server, client } = await serve();
    await load(client);
    const ask = (given: object) => http(server, 'POST', '/check', given);
    const first = await ask({ name: 'user', subject: 'acme/ann' });
    expect(first).toMatchObject({
      status: 200,
      body: { allowed: true, limit: 10, remaining: 9, retryAfterMs: 0, deniedBy: null },
    });
    expect(first.body.limits).toMatchObject([{ name: 'user' }, { name: 'org', remaining: 14 }]);
    expect(await ask({ name: 'user', subject: 'acme/ann', cost: 10 })).toMatchObject({
      status: 200,
      body: { allowed: false, remaining: 9, deniedBy: 'user' },
    });
    expect((await ask({ name: 'user', subject: 'acme/ann', cost: 9, peek: true })).body).toMatchObject({
      allowed: true,
    });
    expect((await ask({ name: 'free', subject: 'a' })).body).toMatchObject({ limit: -1, remaining: -1, resetMs: -1 });
    expect(await ask({ name: 'nobody', subject: 'a' })).toMatchObject({ status: 404, body: { code: 'no_such_limit' } });
    expect(await ask({ name: 'jobs', subject: 'a' })).toMatchObject({ status: 422, body: { code: 'limit_refused' } });
    expect((await ask({ name: 'api', subject: 'a', cost: -1 })).status).toBe(400);
  });

  test('the catalogue is read and changed, and one with mistakes is refused', async () => {
    const { server, client } = await serve();
    await load(client);
    const { body: catalogue } = await http(server, 'GET', '');
    expect(catalogue).toMatchObject({ plans: { pro: { subjects: ['acme', 'team-*'] } } });
    expect(await http(server, 'PUT', '', catalogue)).toMatchObject({ status: 200, body: { changed: true } });
    expect(await http(server, 'PUT', '', { limits: [{ name: 'x' }] })).toMatchObject({
      status: 422,
      body: { code: 'catalogue_refused' },
    });
    const slide = { kind: 'sliding', limit: 9, window: '1h' };
    expect((await http(server, 'PUT', '/named/slide', slide)).body).toEqual({ changed: true });
    expect((await http(server, 'GET', '/named/slide')).body).toEqual({ name: 'slide', ...slide });
    expect((await http(server, 'DELETE', '/named/slide')).body).toEqual({ changed: true });
    expect((await http(server, 'DELETE', '/named/slide')).body).toEqual({ changed: false });
    expect((await http(server, 'GET', '/named/slide')).status).toBe(404);
  });

  test('subjects are listed, refunded, reset and given extra', async () => {
    const { server, client } = await serve();
    await load(client);
    await check(client, 'api', 'bob', 3);
    const bob = '/named/api/subjects/bob';
    expect((await http(server, 'GET', bob)).body).toMatchObject({ allowed: true, limit: 3, remaining: 0 });
    expect((await http(server, 'GET', '/named/slide/subjects/x')).body).toMatchObject({ limit: 3, remaining: 3 });
    expect((await http(server, 'GET', '/named/nobody/subjects/x')).status).toBe(404);
    const { body: page } = await http(server, 'GET', '/named/api/subjects');
    expect(page.subjects).toMatchObject([{ subject: 'bob', remaining: 0 }]);
    expect(await http(server, 'POST', `${bob}/refund`, { amount: 1 })).toMatchObject({ body: { refunded: 1 } });
    expect(await check(client, 'api', 'bob')).toMatchObject({ allowed: 1, remaining: 0 });
    expect(await http(server, 'POST', `${bob}/extra`, { amount: 2 })).toMatchObject({ body: { limit: 5 } });
    await eventually(async () => expect(await check(client, 'api', 'bob', 2)).toMatchObject({ allowed: 1, limit: 5 }));
    expect(await http(server, 'POST', `${bob}/reset`)).toMatchObject({ body: { refunded: 5 } });
    expect(await http(server, 'POST', '/named/slide/subjects/x/reset')).toMatchObject({ body: { refunded: 0 } });
    expect(await http(server, 'POST', '/named/jobs/subjects/x/reset')).toMatchObject({ status: 409 });
  });
});
