import { afterEach, describe, expect, test } from 'vitest';
import { startMemoryServer } from '../../testing/memory-server.js';
import type { TestServer } from '../../testing/test-server.js';
import { MemoryRepository } from '../memory/memory-repository.js';
import { countsApi } from './counts-api.js';
import { CountsTokens } from './counts-tokens.js';

const tokens = { external: ['counting-token', 'second-token'], internal: ['managing-token'] };
const INCREASE = '/api/v1/counts/item/increase';
const READ = '/api/v1/internal/counts/item';

const servers: TestServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function start(options: Partial<Parameters<typeof startMemoryServer>[0]>): Promise<TestServer> {
  const repository = new MemoryRepository();
  await repository.create('item', 0n);
  const server = await startMemoryServer({ fastPath: true, repository, ...options });
  servers.push(server);
  return server;
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

test.each([{ fastPath: false }, { fastPath: true }])(
  'each role reaches its own part only ($fastPath)',
  async ({ fastPath }) => {
    const server = await start({ tokens, fastPath });
    expect((await server.call('POST', INCREASE, bearer('counting-token'))).status).toBe(200);
    expect((await server.call('POST', INCREASE, bearer('second-token'))).status).toBe(200);
    expect((await server.call('GET', READ, bearer('managing-token'))).status).toBe(200);
    const internal = await server.call('GET', READ, bearer('counting-token'));
    expect([internal.status, internal.json.code]).toEqual([403, 'wrong_role']);
    const external = await server.call('POST', INCREASE, bearer('managing-token'));
    expect([external.status, external.json.code]).toEqual([403, 'wrong_role']);
  },
);

test.each([{ fastPath: false }, { fastPath: true }])(
  'without a known token nothing is reached ($fastPath)',
  async ({ fastPath }) => {
    const server = await start({ tokens, fastPath });
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: 'Basic counting-token' }]) {
      for (const [method, path] of [
        ['POST', INCREASE],
        ['GET', READ],
      ] as const) {
        const answer = await server.call(method, path, { headers: headers as Record<string, string> });
        expect([answer.status, answer.json.code]).toEqual([401, 'unauthenticated']);
        expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
      }
    }
  },
);

test('a role without a token is closed', async () => {
  const server = await start({ tokens: { external: ['counting-token'], internal: [] } });
  expect((await server.call('GET', READ)).status).toBe(401);
  expect((await server.call('GET', READ, bearer('counting-token'))).status).toBe(403);
  const closed = await start({ tokens: { external: [], internal: [] } });
  expect((await closed.call('POST', INCREASE)).status).toBe(401);
});

test('a port for one part does not have the other, in its document neither', async () => {
  const external = await start({ audiences: ['external'] });
  const internal = await start({ audiences: ['internal'] });
  expect((await external.call('GET', READ)).json.code).toBe('route_not_found');
  expect((await external.call('POST', INCREASE)).status).toBe(200);
  expect((await internal.call('GET', READ)).status).toBe(200);
  expect((await internal.call('POST', INCREASE)).json.code).toBe('route_not_found');
  const document = await external.call('GET', '/api/v1/counts/openapi.json');
  expect(Object.keys(document.json.paths).some((path) => path.includes('internal'))).toBe(false);
});

test('one token cannot have both roles', () => {
  expect(() => new CountsTokens({ external: ['same'], internal: ['same'] })).toThrow('both');
});

describe.each([{ fastPath: false }, { fastPath: true }])('a user with key prefixes ($fastPath)', ({ fastPath }) => {
  const covered = { userOf: () => ({ covers: (itemId: string) => itemId.startsWith('cart:') }) };
  const user = { tokens: { external: [], internal: [] }, fastPath, ...covered };

  test.each(countsApi(['external', 'internal']).operations.map((operation) => [operation.id, operation] as const))(
    'is refused item ids that none of them begins: %s',
    async (_, { method, path, query, body }) => {
      const repository = new MemoryRepository();
      await repository.create('item', 7n);
      const server = await start({ ...user, repository });
      const named = path.replace('{itemId}', 'item');
      // Every operation names its counts by one of these; the covered one beside it does not help.
      const listed = query !== undefined && 'itemIds' in query.shape ? '?itemIds=cart:1&itemIds=item' : '';
      const fields = { itemId: 'item', itemIds: ['cart:1', 'item'], value: 1, amount: 1 };
      const shape = (body?.schema as { shape?: object } | undefined)?.shape ?? {};
      const given = Object.fromEntries(Object.entries(fields).filter(([name]) => name in shape));
      const answer = await server.call(method, named + listed, {
        ...bearer('users-token'),
        ...(body !== undefined && { body: given }),
      });
      expect([answer.status, answer.json.code]).toEqual([403, 'key_forbidden']);
      expect(await repository.find(['item'])).toMatchObject([{ currentValue: 7n }]);
    },
  );

  test('has those that one of them begins', async () => {
    const repository = new MemoryRepository();
    await repository.create('cart:1', 1n);
    const server = await start({ ...user, repository });
    const increased = await server.call('POST', '/api/v1/counts/cart:1/increase', bearer('users-token'));
    expect([increased.status, increased.json.value]).toEqual([200, 2]);
    const read = await server.call('GET', '/api/v1/internal/counts?itemIds=cart:1', bearer('users-token'));
    expect(read.status).toBe(200);
  });
});
