import { request } from 'node:http';
import { createToken } from '@quotadb/config';
import { type Operation, problems } from '@quotadb/http';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startTestServer, type TestServer } from '../../testing/index.js';
import { apis } from './apis.js';

const operations = apis.flatMap((api) => api.operations as readonly Operation[]);
const named = operations.map((operation) => [operation.id, operation] as const);
const guarded = named.filter(([, { roles }]) => roles !== undefined);

const admin = createToken();
const powerless = createToken();
let server: TestServer;
beforeAll(async () => {
  const user = (name: string, roles: 'admin'[], hash: string) =>
    [name, { name, roles, prefixes: [], passwords: [], tokens: [hash] }] as const;
  server = await startTestServer({
    users: new Map([user('admin', ['admin'], admin.hash), user('powerless', [], powerless.hash)]),
  });
});
afterAll(() => server.stop());

/** A path of this operation: every variable is `x`. */
const pathOf = ({ path }: Operation) => path.replaceAll(/\{\+?\w+\}/g, 'x');

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

function call(method: string, path: string, headers: Record<string, string> = {}, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: server.httpPort, method, path, headers, agent: false };
    const outgoing = request(options, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function expectProblem({ status, headers, text }: Answer, code: keyof typeof problems): void {
  const { status: expected, title } = problems[code];
  expect([status, headers['content-type']]).toEqual([expected, 'application/problem+json']);
  const type = `urn:quotadb:problem:${code}`;
  expect(JSON.parse(text)).toMatchObject({ type, title, status: expected, code, detail: expect.any(String) });
}

const bearer = ({ token }: { token: string }) => ({ authorization: `Bearer ${token}` });

describe('every operation of the table answers in the one format', () => {
  test.each(guarded)('%s: 401 without credentials', async (_, operation) => {
    const answer = await call(operation.method, pathOf(operation));
    expectProblem(answer, 'unauthenticated');
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
  });

  test.each(guarded)('%s: 403 for a user without the role', async (_, operation) => {
    expectProblem(await call(operation.method, pathOf(operation), bearer(powerless)), 'wrong_role');
  });

  test.each(named)('%s: 404 below its path', async (_, operation) => {
    expectProblem(await call(operation.method, `${pathOf(operation)}/no/such/path`), 'route_not_found');
  });

  test.each(named)('%s: 405 for another method', async (_, operation) => {
    const answer = await call('PATCH', pathOf(operation));
    expectProblem(answer, 'method_not_allowed');
    expect(String(answer.headers.allow).split(', ')).toContain(operation.method);
  });

  test.each(named.filter(([, { body }]) => body !== undefined))('%s: 413 for a larger body', async (_, operation) => {
    const body = `"${'x'.repeat(operation.body?.maximumBytes ?? 16 * 1024)}"`;
    const headers = { ...bearer(admin), 'content-type': 'application/json' };
    expectProblem(await call(operation.method, pathOf(operation), headers, body), 'body_too_large');
  });
});

/** A point in time, not a span. */
const MOMENTS = ['startMs'];

test.each(named)('%s takes spans of time as texts with a unit, too, in its body and its query', (_, operation) => {
  const { body, query } = operation;
  const schemas = [body?.schema, query].filter((schema) => schema !== undefined);
  const fields = schemas.flatMap((schema) => {
    const { properties = {} } = z.toJSONSchema(schema as z.ZodType, { io: 'input', unrepresentable: 'any' });
    return Object.entries(properties);
  });
  const spans = fields.filter(([name]) => name.endsWith('Ms') && !MOMENTS.includes(name));
  const asNumbersOnly = spans.filter(([, schema]) => !JSON.stringify(schema).includes('"type":"string"'));
  expect(asNumbersOnly.map(([name]) => name)).toEqual([]);
});

test('the counts API takes tokens only, no passwords', async () => {
  const own = await startTestServer({ password: 'secret', countsTokens: ['counting'] });
  const status = async (path: string) => {
    const headers = { authorization: `Basic ${Buffer.from('default:secret').toString('base64')}` };
    return (await fetch(`http://127.0.0.1:${own.httpPort}/api/v1/${path}`, { headers })).status;
  };
  expect(await status('internal/counts/x')).toBe(401);
  expect(await status('windows/x?windowMs=1000')).toBe(200);
  await own.stop();
});

describe('the OpenAPI document', () => {
  const read = async (path: string) => JSON.parse((await call('GET', path)).text);

  test('is valid and has every operation of the table', async () => {
    const document = await read('/api/v1/openapi.json');
    expect(await new Validator().validate(document)).toEqual({ valid: true });
    const methods = Object.values(document.paths as Record<string, Record<string, { operationId: string }>>);
    const described = methods.flatMap((each) => Object.values(each)).map(({ operationId }) => operationId);
    expect(described.sort()).toEqual(operations.map(({ id }) => id).sort());
    expect(new Set(described).size).toBe(described.length);
  });

  test.each(apis.flatMap(({ documentPath, operations: own }) => (documentPath ? [[documentPath, own] as const] : [])))(
    '%s has those of its API alone',
    async (path, own) => {
      const document = await read(path);
      expect(await new Validator().validate(document)).toEqual({ valid: true });
      const paths = own.map((operation) => operation.path);
      expect(Object.keys(document.paths).sort()).toEqual([...new Set(paths)].sort());
    },
  );

  test('can be browsed at one address, to which older ones lead, and lies beside it', async () => {
    const page = await call('GET', '/docs');
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    for (const former of ['/api/v1/docs', '/api/v1/counts/docs']) {
      const { status, headers } = await call('GET', former);
      expect([status, headers.location]).toEqual([301, '/docs']);
    }
    expect(await read('/openapi.json')).toEqual(await read('/api/v1/openapi.json'));
  });
});
