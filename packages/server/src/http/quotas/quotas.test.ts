import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/index.js';
import { quotasApi } from './quotas-api.js';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

async function call(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`http://127.0.0.1:${server.httpPort}/api/v1/quotas${path}`, {
    method,
    ...(body !== undefined && { headers: { 'content-type': 'application/json' } }),
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test('what the commands do can be done over HTTP', async () => {
  expect(await call('PUT', '/calls', { limit: 10, windowMs: 3_600_000 })).toEqual({
    status: 200,
    body: { defined: true },
  });
  expect((await call('GET', '')).body).toEqual({ quotas: ['calls'] });
  const taken = await call('POST', '/calls/take', { subject: 's', cost: 4, id: 'one' });
  expect(taken.body).toMatchObject({ allowed: true, remainingEverywhere: 6, retryAfterMs: 0 });
  expect(await call('POST', '/calls/take', { subject: 's', cost: 4, id: 'one' })).toEqual(taken);
  const reserved = await call('POST', '/calls/reserve', { subject: 's', estimate: 6, ttlMs: 60_000 });
  expect(reserved.body.allowed).toBe(true);
  expect((await call('POST', '/calls/take', { subject: 's', cost: 1 })).body.allowed).toBe(false);
  const commit = `/reservations/${reserved.body.reservation}/commit`;
  expect((await call('POST', commit, { actual: 5 })).body).toEqual({ charged: 5, uncharged: 0 });
  const items = [
    { name: 'calls', subject: 's', cost: 1 },
    { name: 'calls', subject: 't', cost: 1 },
  ];
  expect((await call('POST', '/take-all', { items })).body.allowed).toBe(true);
  expect((await call('POST', '/take-all', { items })).body.allowed).toBe(false);
  expect((await call('GET', '/calls?subject=t')).body).toMatchObject({ limit: 10, remainingEverywhere: 9 });
  expect((await call('DELETE', `/reservations/${reserved.body.reservation}`)).body).toEqual({ cancelled: false });
  expect((await call('DELETE', '/calls')).body).toEqual({ dropped: true });
});

test('a cost that is left out is 1, and a span of time may be written with its unit', async () => {
  expect((await call('PUT', '/units', { limit: 2, windowMs: '1h', waitMs: '250ms' })).status).toBe(200);
  expect((await call('POST', '/units/take', { subject: 's' })).body).toMatchObject({ remainingEverywhere: 1 });
  const items = [{ name: 'units', subject: 's' }];
  expect((await call('POST', '/take-all', { items, waitMs: '1s' })).body).toMatchObject({ allowed: true });
  expect((await call('POST', '/units/take', { subject: 's' })).body).toMatchObject({ allowed: false });
  expect((await call('GET', '/units')).body).toMatchObject({ windowMs: 3_600_000, waitMs: 250, startsHere: true });
  await call('DELETE', '/units');
});

test('a quota is read in the fields that define it: shares are objects', async () => {
  const shares = [{ region: 'local', fraction: 0.5 }];
  expect((await call('PUT', '/shared', { limit: 10, windowMs: 60_000, shares })).status).toBe(200);
  expect((await call('GET', '/shared')).body).toMatchObject({ shares, startsHere: true });
  await call('DELETE', '/shared');
});

test('a mistake names the field, the value and what is allowed', async () => {
  const detailOf = async (body: unknown) => (await call('POST', '/nobody/take', body)).body.detail;
  expect(await detailOf({})).toMatch(/ subject is missing: give a text\.$/);
  expect(await detailOf({ subject: 's', cost: 'two' })).toMatch(/ cost "two" is not a (?:whole )?number\.$/);
  expect(await detailOf({ subject: 's', cost: 0 })).toMatch(/ cost 0 is too small: at least 1\.$/);
  expect(await detailOf({ subject: 's', waitMs: 'soon' })).toMatch(
    / waitMs "soon": must be 0 to .* such as 250ms, 60s/,
  );
  expect(await detailOf({ subject: 's', csot: 2 })).toMatch(/ "csot" is not known; did you mean "cost"\?$/);
  expect(await detailOf('{"subject": x}')).toMatch(/not a JSON document in UTF-8\. .*x/);
});

test('leases are taken, renewed and given back over HTTP', async () => {
  expect((await call('PUT', '/jobs', { limit: 1, leaseMs: 60_000 })).body).toEqual({ defined: true });
  const acquired = await call('POST', '/jobs/acquire', { subject: 's', ttlMs: 30_000, id: 'job' });
  expect(acquired.body).toMatchObject({ allowed: true, remainingEverywhere: 0, resetMs: -1 });
  expect(await call('POST', '/jobs/acquire', { subject: 's', ttlMs: 30_000, id: 'job' })).toEqual(acquired);
  const denied = (await call('POST', '/jobs/acquire', { subject: 's', ttlMs: 30_000 })).body;
  expect(denied).toMatchObject({ allowed: false });
  expect(denied).not.toHaveProperty('lease');
  const lease = `/leases/${encodeURIComponent(acquired.body.lease as string)}`;
  expect((await call('POST', `${lease}/renew`, { ttlMs: 60_000 })).body).toEqual({
    renewed: true,
    ttlMs: 60_000,
    retryAfterMs: 0,
  });
  expect((await call('DELETE', lease)).body).toEqual({ released: true });
  expect((await call('DELETE', lease)).body).toEqual({ released: false });
  expect(await call('POST', `${lease}/renew`, { ttlMs: 1 })).toMatchObject({ body: { code: 'lease_refused' } });
  expect((await call('GET', '/jobs')).body).toMatchObject({ leaseMs: 60_000 });
  expect((await call('DELETE', '/jobs')).body).toEqual({ dropped: true });
});

test.each([
  ['POST', '/nobody/take', { subject: 's', cost: 1 }, 404, 'no_such_quota'],
  ['GET', '/nobody', undefined, 404, 'no_such_quota'],
  ['POST', '/nobody/take', '{', 400, 'malformed_json'],
  ['POST', '/nobody/take', { subject: 's', cost: 0 }, 400, 'invalid_body'],
  ['POST', '/nobody/take', { subject: 's', cost: 1, more: 1 }, 400, 'unknown_field'],
  ['POST', '/nobody/take', `"${'x'.repeat(70_000)}"`, 413, 'body_too_large'],
  ['PUT', '/forever', { limit: 1, windowMs: null }, 409, 'policy_refused'],
  ['POST', '/reservations/none/commit', { actual: 1 }, 409, 'reservation_refused'],
  ['POST', '/nobody/acquire', { subject: 's', ttlMs: 1 }, 404, 'no_such_quota'],
  ['POST', '/nobody/acquire', { subject: 's' }, 400, 'invalid_body'],
  ['POST', '/leases/none/renew', { ttlMs: 1 }, 409, 'lease_refused'],
  ['PUT', '/both', { limit: 1, windowMs: 1, leaseMs: 1 }, 400, 'invalid_body'],
  ['PUT', '/neither', { limit: 1 }, 400, 'invalid_body'],
  ['PATCH', '/nobody', {}, 405, 'method_not_allowed'],
  ['POST', '/a/b/c/d', {}, 404, 'route_not_found'],
  ['GET', '/%ff', undefined, 400, 'invalid_name'],
] as const)('%s %s is answered with a problem', async (method, path, body, status, code) => {
  expect(await call(method, path, body)).toMatchObject({ status, body: { status, code } });
});

test('the document names every operation', async () => {
  const { paths } = (await call('GET', '/openapi.json')).body as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const named = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
  expect(named.sort()).toEqual(quotasApi.operations.map(({ id }) => id).sort());
});

test('a page of another site cannot spend anything', async () => {
  await call('PUT', '/site', { limit: 10, windowMs: 3_600_000 });
  const take = async (origin: string, mediaType = 'application/json') => {
    const response = await fetch(`http://127.0.0.1:${server.httpPort}/api/v1/quotas/site/take`, {
      method: 'POST',
      headers: { origin, 'content-type': mediaType },
      body: JSON.stringify({ subject: 's', cost: 1 }),
    });
    return response.status;
  };
  expect(await take('http://evil.example')).toBe(403);
  expect(await take('null')).toBe(403);
  for (const mediaType of ['text/plain', 'application/x-www-form-urlencoded'])
    expect(await take(`http://127.0.0.1:${server.httpPort}`, mediaType)).toBe(415);
  expect(await take(`http://127.0.0.1:${server.httpPort}`)).toBe(200);
});
