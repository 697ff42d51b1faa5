import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { serveApi } from './api.js';
import { createHandler } from './handler.js';
import { HttpServer } from './http-server.js';
import { operationsOf } from './operation.js';
import { defineProblems, ProblemError } from './problem.js';
import { Sites } from './sites.js';

const operation = operationsOf<{ readonly seen: unknown[] }, { readonly name: string }>();
const { teapot, bad_size } = defineProblems({
  teapot: [418, 'Teapot', 'Short and stout.', 7],
  bad_size: [400, 'Bad size', 'A size is a digit.'],
});

const api = {
  name: 'things',
  title: 'Things',
  description: '',
  documentPath: '/things/openapi.json',
  fieldProblems: { size: bad_size },
  operations: [
    operation({
      id: 'read',
      method: 'GET',
      path: '/things/{name}',
      summary: '',
      query: z.strictObject({ size: z.int().max(9).optional(), tags: z.array(z.string()).optional() }),
      success: { description: '' },
      run: (_, { path, query }) => ({ ...path, ...query, big: 2n ** 60n }),
    }),
    operation({
      id: 'make',
      method: 'PUT',
      path: '/things/{name}',
      summary: '',
      roles: ['maker'],
      body: { schema: z.strictObject({ size: z.int() }) },
      success: { status: 201, description: '', location: ({ at }: { at: string }) => at },
      run: ({ seen }, { body }, caller) => {
        seen.push([caller, body]);
        return { at: '/things/made' };
      },
    }),
    operation({
      id: 'pour',
      method: 'POST',
      path: '/things/tea',
      summary: '',
      success: { description: '' },
      run: () => {
        throw new ProblemError(teapot, { members: { handle: true } });
      },
    }),
    operation({
      id: 'break',
      method: 'POST',
      path: '/things/broken',
      summary: '',
      success: { description: '' },
      run: () => {
        throw new Error('secret');
      },
    }),
    operation({
      id: 'note',
      method: 'POST',
      path: '/notes/{text}',
      summary: '',
      body: { schema: z.strictObject({}), isOptional: true, maximumBytes: 16 },
      success: { description: '' },
      run: async ({ seen }, { path }) => {
        seen.push(`${path.text} begins`);
        await new Promise((resolve) => setImmediate(resolve));
        seen.push(path.text);
        return { noted: path.text };
      },
    }),
    operation({
      id: 'send',
      method: 'GET',
      path: '/files/{+file}',
      summary: '',
      success: { description: '' },
      respond: (_, { path }, _caller, { response }) => void response.end(path.file),
    }),
  ],
};

let server: HttpServer;
let port: number;
let seen: unknown[];
let faults: unknown[];
beforeEach(async () => {
  seen = [];
  faults = [];
  const handle = createHandler([serveApi(api, { seen })], {
    authenticate: ({ authorization }) => {
      if (authorization === undefined) return 'unauthenticated';
      return authorization === 'Bearer right' ? { name: 'right' } : 'wrong_role';
    },
    sites: new Sites({ isOpen: () => true, isLoopbackName: (name) => name === '127.0.0.1', names: ['quota.example'] }),
    onError: (error, id) => faults.push([id, error]),
  });
  server = new HttpServer({ handle, maximumConnections: 10 });
  port = await server.listen('127.0.0.1', 0);
});
afterEach(() => server.close());

async function ask(method: string, path: string, headers: Record<string, string> = {}, body?: string) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...(body && { body }) });
  const text = await response.text();
  const isJson = text !== '' && /json/.test(response.headers.get('content-type') ?? '');
  const json = isJson ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, json };
}

test('a path and a query arrive in the types of their schemas, and integers leave exactly', async () => {
  const { json } = await ask('GET', '/things/a%2Fb?size=7&tags=x&tags[]=y');
  expect(json).toEqual({ name: 'a/b', size: 7, tags: ['x', 'y'], big: '1152921504606846976' });
  expect((await ask('HEAD', '/things/a')).status).toBe(200);
});

test.each([
  ['GET', '/things/a?size=x', 400, 'bad_size'],
  ['GET', '/things/a?sise=1', 400, 'unknown_parameter'],
  ['GET', '/things/%ff', 400, 'invalid_parameter'],
  ['GET', '/nothing', 404, 'route_not_found'],
  ['DELETE', '/things/tea', 405, 'method_not_allowed'],
  ['POST', '/things/tea', 418, 'teapot'],
])('%s %s is answered with %d %s', async (method, path, status, code) => {
  const answer = await ask(method, path);
  expect(answer.json).toMatchObject({ status, code, type: `urn:quotadb:problem:${code}` });
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
});

test('a problem carries its own members and says when to try again', async () => {
  const { json, headers } = await ask('POST', '/things/tea');
  expect([json.handle, headers.get('retry-after')]).toEqual([true, '7']);
});

test('the fixed path comes first, and a method that only a path with a variable has is still found', async () => {
  expect((await ask('POST', '/things/tea')).status).toBe(418);
  expect((await ask('GET', '/things/tea')).json.name).toBe('tea');
  expect((await ask('DELETE', '/things/tea')).headers.get('allow')).toBe('POST, GET, PUT');
  expect((await ask('GET', '/files/a/b/c')).text).toBe('a/b/c');
});

test('the guard asks who it is before anything is read, and refuses pages of other sites', async () => {
  const type = { 'content-type': 'application/json' };
  const make = (headers: Record<string, string>, body = '{"size":1}') =>
    ask('PUT', '/things/a', { ...type, ...headers }, body);
  expect((await make({})).json.code).toBe('unauthenticated');
  expect((await make({ authorization: 'Bearer wrong' }, '{')).json.code).toBe('wrong_role');
  const right = { authorization: 'Bearer right' };
  expect((await make({ ...right, origin: 'http://evil.example' })).json.code).toBe('forbidden');
  expect((await make(right, '{"size":1,"other":2}')).json).toMatchObject({ code: 'unknown_field' });
  expect((await make(right, '{"size":0.5}')).json.errors).toEqual([{ pointer: '/size', detail: expect.any(String) }]);
  expect(seen).toEqual([]);
  expect((await make({ ...right, 'sec-fetch-site': 'cross-site' })).json.code).toBe('forbidden');
  const made = await make({ ...right, origin: `http://127.0.0.1:${port}` });
  expect([made.status, made.headers.get('location')]).toEqual([201, '/things/made']);
  expect(seen).toEqual([[{ name: 'right' }, { size: 1 }]]);
});

test('JSON is taken under its own media type, under none, and as the form of curl -d, never as the form of a page', async () => {
  const put = (...headers: string[]) =>
    exchange(
      [
        'PUT /things/a HTTP/1.1',
        'Host: 127.0.0.1',
        'Authorization: Bearer right',
        ...headers,
        'Connection: close',
      ].join('\r\n') + '\r\nContent-Length: 10\r\n\r\n{"size":1}',
    );
  const form = 'Content-Type: application/x-www-form-urlencoded';
  for (const headers of [
    [],
    ['Content-Type: application/json; charset=utf-8'],
    ['Content-Type: application/x+json'],
    [form],
  ])
    expect(await put(...headers)).toMatch(/^HTTP\/1\.1 201 /);
  const own = `Origin: http://127.0.0.1`;
  for (const headers of [
    [form, own],
    [form, 'Sec-Fetch-Site: same-origin'],
    ['Content-Type: text/plain'],
    [form, 'Content-Encoding: gzip'],
  ])
    expect(await put(...headers)).toMatch(/^HTTP\/1\.1 415 /);
  expect(await put('Content-Type: text/plain')).toContain('It has \\"Content-Type: text/plain\\"');
});

test('a mistake names the field, the value and what is allowed', async () => {
  const headers = { authorization: 'Bearer right', 'content-type': 'application/json' };
  const detailOf = async (body: string) => (await ask('PUT', '/things/a', headers, body)).json.detail;
  expect(await detailOf('{}')).toBe('A size is a digit. It is missing.');
  expect(await detailOf('{"size":"big"}')).toBe('A size is a digit. It is "big".');
  expect(await detailOf('{"size":1,"sise":2}')).toMatch(/"sise" is not known; did you mean "size"\?$/);
  expect(await detailOf('[]')).toMatch(/\[\] is not an object\.$/);
  expect(await detailOf('{"size":}')).toMatch(/^The request body is not a JSON document in UTF-8\. .+/);
  expect((await ask('GET', '/things/a?size=12')).json.detail).toBe('A size is a digit. It is 12.');
});

test('a fault of the server is reported with its operation, and answered without its details', async () => {
  const answer = await ask('POST', '/things/broken');
  expect(answer.json.code).toBe('internal_error');
  expect(answer.text).not.toContain('secret');
  expect(faults).toEqual([['break', new Error('secret')]]);
});

async function exchange(text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk;
  });
  socket.on('error', () => undefined);
  socket.write(text);
  await once(socket, 'close');
  return answer;
}

test.each([
  ['is not HTTP', 'nonsense\r\n\r\n', 400, 'malformed_request'],
  ['has no host', 'GET /things/a HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'malformed_request'],
  ['has endless headers', `GET / HTTP/1.1\r\nHost: x\r\n${'X: abcdefghij\r\n'.repeat(9000)}`, 431, 'headers_too_large'],
  [
    'expects something odd',
    'GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n',
    417,
    'expectation_failed',
  ],
])('a request that %s gets a problem too', async (_, text, status, code) => {
  const [head = '', body = ''] = (await exchange(text)).split('\r\n\r\n');
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(head.toLowerCase()).toContain('content-type: application/problem+json');
  expect(JSON.parse(body)).toMatchObject({ status, code });
});

test('an address may name a thousand UUIDs', async () => {
  const tags = Array.from({ length: 1000 }, () => `tags=${crypto.randomUUID()}`).join('&');
  expect((await ask('GET', `/things/a?${tags}`)).json.tags).toHaveLength(1000);
});

describe('requests in one go', () => {
  const note = (text: string, ...headers: string[]) =>
    [`POST /notes/${text} HTTP/1.1`, 'Host: 127.0.0.1', ...headers, '', ''].join('\r\n');
  const statuses = (answer: string) => [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
  const bodies = (answer: string) => [...answer.matchAll(/"noted":"(\w+)"/g)].map(([, text]) => text);

  test('run one after another', async () => {
    const answer = await exchange(note('a') + note('b') + note('c', 'Connection: close'));
    expect(bodies(answer)).toEqual(['a', 'b', 'c']);
    expect(seen).toEqual(['a begins', 'a', 'b begins', 'b', 'c begins', 'c']);
  });

  test.each([
    ['another request', note('c')],
    ['no HTTP', 'nonsense\r\n\r\n'],
  ])('behind one that closes do not run, and those before it are answered: %s', async (_, rest) => {
    const answer = await exchange(note('a') + note('b', 'Connection: close') + rest);
    expect([statuses(answer), bodies(answer)]).toEqual([
      [200, 200],
      ['a', 'b'],
    ]);
    expect(seen).not.toContain('c begins');
  });

  test('behind an answer that closes do not run', async () => {
    const large = note('large', 'Content-Length: 17') + 'x'.repeat(17);
    const answer = await exchange(note('a') + large + note('c'));
    expect(statuses(answer)).toEqual([200, 413]);
    expect(seen).toEqual(['a begins', 'a']);
  });

  test('are answered though what follows is no HTTP, which is answered last', async () => {
    expect(statuses(await exchange(`${note('a') + note('b')}nonsense\r\n\r\n`))).toEqual([200, 200, 400]);
    expect(seen).toEqual(['a begins', 'a', 'b begins', 'b']);
    const cut = `${note('d', 'Transfer-Encoding: chunked')}zz\r\n`;
    expect(statuses(await exchange(note('c') + cut))).toEqual([200, 400]);
    expect(seen).not.toContain('d begins');
  });

  test('are all answered, however many', async () => {
    const many = Array.from({ length: 2000 }, (_, index) => `n${index}`);
    const answer = await exchange(many.map((text) => note(text)).join('') + note('last', 'Connection: close'));
    expect(bodies(answer)).toEqual([...many, 'last']);
  });
});
