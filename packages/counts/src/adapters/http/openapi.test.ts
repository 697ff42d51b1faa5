import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startMemoryServer } from '../../testing/memory-server.js';
import type { Answer, CallOptions, TestServer } from '../../testing/test-server.js';
import { countsApi } from './counts-api.js';

// biome-ignore lint/suspicious/noExplicitAny: the document is JSON of every form.
type Document = any;

const COUNTS = '/api/v1/internal/counts';
let server: TestServer;
let document: Document;
let ajv: Ajv2020;

beforeAll(async () => {
  server = await startMemoryServer({ fastPath: true });
  document = (await server.call('GET', '/api/v1/counts/openapi.json')).json;
  ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'document', ...document });
});

afterAll(() => server.stop());

/** Fails unless the document describes this answer to this request, status, media type, body and all. */
function expectDescribed(method: string, template: string, answer: Answer): void {
  const response = document.paths[template]?.[method.toLowerCase()]?.responses[answer.status];
  expect(response, `${method} ${template} → ${answer.status} ${answer.text}`).toBeDefined();
  if (response.content === undefined) {
    expect(answer.text).toBe('');
    return;
  }
  const [[mediaType]] = Object.entries(response.content) as [[string, unknown]];
  expect(answer.headers['content-type']).toBe(mediaType);
  const pointer = [
    'paths',
    template,
    method.toLowerCase(),
    'responses',
    String(answer.status),
    'content',
    mediaType,
    'schema',
  ]
    .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
    .join('/');
  const validate = ajv.getSchema(`document#/${pointer}`)!;
  expect(validate(answer.json), JSON.stringify(validate.errors)).toBe(true);
}

test('the document is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate(document);
  expect(result.errors).toBeUndefined();
  expect(result.valid).toBe(true);
  expect(document.openapi).toBe('3.1.0');
});

test('every operation the server has is in the document, and no other', () => {
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const served = countsApi(['external', 'internal']).operations.map(({ method, path }) => `${method} ${path}`);
  expect(described.sort()).toEqual(served.sort());
});

test('the running server answers every operation as the document says, when it succeeds and when it does not', async () => {
  const item = `${COUNTS}/{itemId}`;
  const change = (action: string) => `/api/v1/counts/{itemId}/${action}`;
  const big = '{"itemId":"big","initialValue":9223372036854775807}';
  const calls: [number, string, string, string, CallOptions?][] = [
    [201, 'POST', COUNTS, '', { body: { itemId: 'item', initialValue: 5 } }],
    [201, 'POST', COUNTS, '', { body: big }],
    [409, 'POST', COUNTS, '', { body: { itemId: 'item' } }],
    [400, 'POST', COUNTS, '', { body: { itemId: '' } }],
    [415, 'POST', COUNTS, '', { body: 'x', headers: { 'content-type': 'text/plain' } }],
    [413, 'POST', COUNTS, '', { body: 'x'.repeat(20_000) }],
    [200, 'GET', COUNTS, '?itemIds=item&itemIds=big&itemIds=nobody'],
    [400, 'GET', COUNTS, '?ids=item'],
    [400, 'GET', COUNTS, ''],
    [200, 'POST', `${COUNTS}/query`, '', { body: { itemIds: ['item', 'nobody'] } }],
    [400, 'POST', `${COUNTS}/query`, '', { body: { itemIds: [] } }],
    [200, 'GET', item, 'item'],
    [200, 'GET', item, 'big'],
    [404, 'GET', item, 'nobody'],
    [200, 'PUT', item, 'item', { body: { value: 3 } }],
    [404, 'PUT', item, 'nobody', { body: { value: 3 } }],
    [400, 'PUT', item, 'item', { body: { value: 'x' } }],
    ...['increase', 'decrease'].flatMap((action): typeof calls => [
      [200, 'POST', change(action), 'item', { body: { amount: 2 } }],
      [200, 'POST', change(action), 'item', { headers: { 'Idempotency-Key': action } }],
      [422, 'POST', change(action), 'item', { body: { amount: 2 }, headers: { 'Idempotency-Key': action } }],
      [404, 'POST', change(action), 'nobody'],
      [400, 'POST', change(action), 'item', { body: { amount: -2 } }],
      [400, 'POST', change(action), 'item', { body: '{' }],
      [400, 'POST', change(action), 'item', { headers: { 'Idempotency-Key': 'not valid' } }],
    ]),
    [409, 'POST', change('increase'), 'big'],
    [200, 'POST', change('decrease'), 'big'],
    [200, 'POST', change('reset'), 'item'],
    [404, 'POST', change('reset'), 'nobody'],
    [400, 'POST', change('reset'), 'item', { body: { amount: 1 } }],
    [204, 'DELETE', item, 'item'],
    [404, 'DELETE', item, 'item'],
  ];
  const succeeded = new Set<string>();
  for (const [status, method, template, argument, options] of calls) {
    const path = template.includes('{') ? template.replace('{itemId}', argument) : template + argument;
    const answer = await server.call(method, path, options);
    expect(answer.status, `${method} ${path} → ${answer.text}`).toBe(status);
    expectDescribed(method, template, answer);
    if (status < 300) succeeded.add(`${method} ${template}`);
  }
  expect(succeeded.size).toBe(countsApi(['external', 'internal']).operations.length);
});

test('what the document says of request bodies is what the server checks', async () => {
  await server.call('POST', COUNTS, { body: { itemId: 'checked' } });
  const validate = ajv.getSchema('document#/components/schemas/Amount')!;
  for (const body of [
    {},
    { amount: 1 },
    { amount: '12' },
    { amount: -1 },
    { amount: 1.5 },
    { amount: '-1' },
    { amount: null },
    { x: 1 },
    [],
    7,
  ]) {
    const answer = await server.call('POST', '/api/v1/counts/checked/increase', { body: JSON.stringify(body) });
    expect(answer.status === 200, JSON.stringify(body)).toBe(validate(body));
  }
});

test('the page to browse the document needs nothing from anywhere else', async () => {
  const page = await server.call('GET', '/docs');
  expect(page.status).toBe(200);
  expect(page.headers['content-type']).toMatch(/^text\/html/);
  expect(page.headers['content-security-policy']).toContain("default-src 'none'");
  expect(page.text).toContain('openapi.json');
  expect(page.text).not.toMatch(/(?:src|href)\s*=\s*["']?(?:https?:)?\/\//);
});
