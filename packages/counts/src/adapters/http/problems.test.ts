import { problems } from '@quotadb/http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CountError } from '../../domain/count-error.js';
import { startMemoryServer } from '../../testing/memory-server.js';
import type { CallOptions, TestServer } from '../../testing/test-server.js';
import { MemoryRepository } from '../memory/memory-repository.js';
import { countProblems } from './problems.js';

const COUNTS = '/api/v1/internal/counts';
const INCREASE = '/api/v1/counts/item/increase';
const LONG_ID = 'x'.repeat(256);

const kinds = { ...problems, ...countProblems };

type Case = [code: keyof typeof kinds, method: string, path: string, options?: CallOptions];

const cases: Case[] = [
  ['malformed_json', 'POST', INCREASE, { body: '{"amount":' }],
  ['malformed_json', 'POST', INCREASE, { body: 'amount=1' }],
  ['malformed_json', 'POST', INCREASE, { body: '{"amount":1}garbage' }],
  ['invalid_body', 'POST', INCREASE, { body: [1] }],
  ['invalid_body', 'POST', INCREASE, { body: 'null' }],
  ['invalid_body', 'POST', COUNTS],
  ['invalid_body', 'PUT', `${COUNTS}/item`],
  ['unknown_field', 'POST', INCREASE, { body: { amount: 1, by: 2 } }],
  ['unknown_field', 'POST', '/api/v1/counts/item/reset', { body: { amount: 1 } }],
  ['unknown_field', 'POST', COUNTS, { body: { itemId: 'x', value: 1 } }],
  ['invalid_amount', 'POST', INCREASE, { body: { amount: -1 } }],
  ['invalid_amount', 'POST', INCREASE, { body: { amount: 1.5 } }],
  ['invalid_amount', 'POST', INCREASE, { body: { amount: '1.5' } }],
  ['invalid_amount', 'POST', INCREASE, { body: { amount: 'one' } }],
  ['invalid_amount', 'POST', INCREASE, { body: { amount: null } }],
  ['invalid_amount', 'POST', INCREASE, { body: { amount: true } }],
  ['invalid_amount', 'POST', INCREASE, { body: { amount: [1] } }],
  ['invalid_amount', 'POST', INCREASE, { body: '{"amount":9223372036854775808}' }],
  ['invalid_amount', 'POST', INCREASE, { body: '{"amount":0.99999999999999999999}' }],
  ['invalid_amount', 'POST', INCREASE, { body: '{"amount":1e400}' }],
  ['invalid_amount', 'POST', INCREASE, { body: { amount: '9'.repeat(30) } }],
  ['invalid_value', 'PUT', `${COUNTS}/item`, { body: { value: '-9223372036854775809' } }],
  ['invalid_value', 'POST', COUNTS, { body: { itemId: 'x', initialValue: 0.5 } }],
  ['invalid_value', 'PUT', `${COUNTS}/item`, { body: {} }],
  ['invalid_item_id', 'POST', COUNTS, { body: { itemId: '' } }],
  ['invalid_item_id', 'POST', COUNTS, { body: { itemId: 7 } }],
  ['invalid_item_id', 'POST', COUNTS, { body: '{"itemId":12345678901234567890}' }],
  ['invalid_item_id', 'POST', COUNTS, { body: '{"itemId":"\\ud800"}' }],
  ['invalid_item_id', 'POST', COUNTS, { body: { itemId: 'a\u0000b' } }],
  ['invalid_item_id', 'POST', `/api/v1/counts/${LONG_ID}/increase`],
  ['invalid_item_id', 'POST', '/api/v1/counts/%E0%A4%A/increase'],
  ['invalid_item_id', 'POST', '/api/v1/counts/a%00b/increase'],
  ['invalid_item_id', 'POST', '/api/v1/counts/../increase'],
  ['invalid_item_id', 'POST', '/api/v1/counts//increase'],
  ['invalid_item_id', 'GET', `${COUNTS}?itemIds=`],
  ['missing_item_ids', 'GET', COUNTS],
  ['too_many_item_ids', 'GET', `${COUNTS}?${'itemIds=a&'.repeat(1_001)}`],
  ['unknown_parameter', 'GET', `${COUNTS}?ids=a`],
  ['unknown_parameter', 'POST', `${INCREASE}?amount=5`],
  ['invalid_idempotency_key', 'POST', INCREASE, { headers: { 'Idempotency-Key': 'k'.repeat(256) } }],
  ['invalid_idempotency_key', 'POST', INCREASE, { headers: { 'Idempotency-Key': 'with space' } }],
  ['invalid_idempotency_key', 'POST', INCREASE, { headers: { 'Idempotency-Key': '' } }],
  ['route_not_found', 'GET', '/api/v1/counts'],
  ['route_not_found', 'POST', '/api/v1/counts/item/double'],
  ['route_not_found', 'GET', '/api/v1/internal/counts/a/b'],
  ['route_not_found', 'GET', '/api/v1/internal/counts/'.concat('a/')],
  ['count_not_found', 'POST', '/api/v1/counts/nobody/increase'],
  ['count_not_found', 'POST', '/api/v1/counts/nobody/decrease', { body: { amount: 3 } }],
  ['count_not_found', 'POST', '/api/v1/counts/nobody/reset'],
  ['count_not_found', 'GET', `${COUNTS}/nobody`],
  ['count_not_found', 'PUT', `${COUNTS}/nobody`, { body: { value: 1 } }],
  ['count_not_found', 'DELETE', `${COUNTS}/nobody`],
  ['method_not_allowed', 'GET', INCREASE],
  ['method_not_allowed', 'PATCH', `${COUNTS}/item`],
  ['method_not_allowed', 'PUT', COUNTS],
  ['method_not_allowed', 'POST', '/api/v1/counts/openapi.json'],
  ['count_exists', 'POST', COUNTS, { body: { itemId: 'item' } }],
  ['value_out_of_range', 'POST', '/api/v1/counts/full/increase', { body: { amount: 1 } }],
  ['body_too_large', 'POST', INCREASE, { body: `{"amount":1${' '.repeat(17_000)}}` }],
  ['unsupported_media_type', 'POST', INCREASE, { body: 'amount=1', headers: { 'content-type': 'text/plain' } }],
  ['unsupported_media_type', 'POST', INCREASE, { body: { amount: 1 }, headers: { 'content-encoding': 'gzip' } }],
  ['idempotency_key_reused', 'POST', INCREASE, { body: { amount: 2 }, headers: { 'Idempotency-Key': 'used' } }],
];

describe.each([{ fastPath: false }, { fastPath: true }])('problems, with the fast path: $fastPath', ({ fastPath }) => {
  let server: TestServer;
  const unforeseen: unknown[] = [];

  beforeAll(async () => {
    const repository = new MemoryRepository();
    await repository.create('item', 0n);
    await repository.create('full', 2n ** 63n - 1n);
    const fingerprint = 'increase 1 item';
    await repository.change('item', { kind: 'add', amount: 1n }, { key: 'used', fingerprint });
    server = await startMemoryServer({ fastPath, repository, onError: (error) => unforeseen.push(error) });
  });

  afterAll(() => server.stop());

  test.each(cases)('%s: %s %.60s', async (code, method, path, options) => {
    const answer = await server.call(method, path, options);
    expect(answer.json).toMatchObject({ code, type: `urn:quotadb:problem:${code}`, status: answer.status });
    expect(answer.status).toBe(kinds[code].status);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    if (code === 'method_not_allowed') expect(answer.headers.allow).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
    expect(unforeseen).toEqual([]);
  });

  test('a body that is too large without saying so beforehand is refused when it becomes too large', async () => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${INCREASE}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Blob(['{"amount":1', ' '.repeat(40_000), '}']).stream(),
      duplex: 'half',
    } as RequestInit);
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([413, 'body_too_large']);
  });

  test('bytes that are not UTF-8 are refused', async () => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${COUNTS}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from([0x7b, 0x22, 0x69, 0xff, 0x22, 0x7d]),
    });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, 'malformed_json']);
  });

  test('a mistake in a body is answered with its place', async () => {
    const answer = await server.call('POST', INCREASE, { body: { amount: -1 } });
    expect(answer.json.errors).toEqual([{ pointer: '/amount', detail: expect.stringContaining('integer') }]);
  });
});

describe.each([{ fastPath: false }, { fastPath: true }])(
  'trouble below, with the fast path: $fastPath',
  ({ fastPath }) => {
    test.each([
      ['overloaded', 503, '1'],
      ['database_unavailable', 503, '1'],
      ['outcome_unknown', 504, undefined],
    ] as const)('%s is answered with %d', async (code, status, retryAfter) => {
      const repository = new MemoryRepository();
      repository.change = () => Promise.reject(new CountError(code));
      const server = await startMemoryServer({ fastPath, repository });
      const answer = await server.call('POST', INCREASE);
      await server.stop();
      expect([answer.status, answer.json.code, answer.headers['retry-after']]).toEqual([status, code, retryAfter]);
    });

    test('a fault of the service is logged and answered without its details', async () => {
      const logged: unknown[] = [];
      const repository = new MemoryRepository();
      const failure = new Error('secret');
      repository.change = () => Promise.reject(failure);
      const server = await startMemoryServer({ fastPath, repository, onError: (error) => logged.push(error) });
      const answer = await server.call('POST', INCREASE);
      await server.stop();
      expect([answer.status, answer.json.code]).toEqual([500, 'internal_error']);
      expect(answer.text).not.toContain('secret');
      expect(logged).toEqual([failure]);
    });
  },
);
