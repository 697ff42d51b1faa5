import { afterAll, beforeAll, expect, test } from 'vitest';
import { Database } from './adapters/postgres/database.js';
import { forgetOldRequests } from './adapters/postgres/request-cleanup.js';
import { type CountsService, createCountsService } from './service.js';
import { TestDatabase } from './testing/test-database.js';
import { TestServer } from './testing/test-server.js';

let database: TestDatabase;
let services: CountsService[];
let servers: TestServer[];

beforeAll(async () => {
  database = await TestDatabase.start();
  services = [0, 1].map(() => createCountsService({ postgres: database.options }));
  servers = await Promise.all(services.map((service) => TestServer.start(service)));
});

afterAll(async () => {
  for (const server of servers) await server.stop();
  for (const service of services) await service.stop();
  await database.stop();
});

const COUNTS = '/api/v1/internal/counts';
const create = (itemId: string, initialValue = 0n) => services[0]!.api.internal.initialize(itemId, initialValue);
const call = (instance: number, method: string, path: string, key: string, body?: unknown) =>
  servers[instance]!.call(method, path, { body, headers: { 'Idempotency-Key': key } });

test('a repeated change returns the first answer, from any instance, whatever happened in between', async () => {
  await create('repeated');
  const first = await call(0, 'POST', '/api/v1/counts/repeated/increase', 'r-1', { amount: 5 });
  expect(first.json).toEqual({ itemId: 'repeated', value: 5 });
  await services[0]!.api.external.increase('repeated', 100n);
  const again = await call(1, 'POST', '/api/v1/counts/repeated/increase', 'r-1', { amount: 5 });
  expect([again.status, again.text]).toEqual([first.status, first.text]);
  expect(await database.valueOf('repeated')).toBe(105n);
});

test('every operation that changes something can be repeated', async () => {
  const steps: [string, string, unknown, number][] = [
    ['POST', COUNTS, { itemId: 'all', initialValue: 1 }, 201],
    ['POST', '/api/v1/counts/all/increase', { amount: 4 }, 200],
    ['POST', '/api/v1/counts/all/decrease', { amount: 2 }, 200],
    ['PUT', `${COUNTS}/all`, { value: 9 }, 200],
    ['POST', '/api/v1/counts/all/reset', undefined, 200],
    ['DELETE', `${COUNTS}/all`, undefined, 204],
  ];
  for (const [index, [method, path, body, status]] of steps.entries()) {
    const first = await call(0, method, path, `all-${index}`, body);
    const again = await call(1, method, path, `all-${index}`, body);
    expect([first.status, again.status, again.text]).toEqual([status, status, first.text]);
  }
  expect(await database.valueOf('all')).toBeUndefined();
});

test('a refusal is an answer too, and is repeated as it was', async () => {
  const first = await call(0, 'POST', '/api/v1/counts/not-yet/increase', 'early');
  await create('not-yet');
  const again = await call(0, 'POST', '/api/v1/counts/not-yet/increase', 'early');
  expect([first.status, again.status]).toEqual([404, 404]);
  await create('brimful', 2n ** 63n - 1n);
  expect((await call(0, 'POST', '/api/v1/counts/brimful/increase', 'over')).status).toBe(409);
  await services[0]!.api.external.reset('brimful');
  expect((await call(1, 'POST', '/api/v1/counts/brimful/increase', 'over')).status).toBe(409);
  expect(await database.valueOf('brimful')).toBe(0n);
});

test('a key used for another payload, item or operation is refused and changes nothing', async () => {
  await create('strict');
  await create('strict-other');
  await call(0, 'POST', '/api/v1/counts/strict/increase', 's-1', { amount: 5 });
  for (const [method, path, body] of [
    ['POST', '/api/v1/counts/strict/increase', { amount: 6 }],
    ['POST', '/api/v1/counts/strict/decrease', { amount: 5 }],
    ['POST', '/api/v1/counts/strict-other/increase', { amount: 5 }],
    ['POST', COUNTS, { itemId: 'strict-new', initialValue: 5 }],
    ['DELETE', `${COUNTS}/strict`, undefined],
  ] as const) {
    const answer = await call(1, method, path, 's-1', body);
    expect([answer.status, answer.json.code]).toEqual([422, 'idempotency_key_reused']);
  }
  expect(await database.valueOf('strict')).toBe(5n);
  expect(await database.valueOf('strict-other')).toBe(0n);
});

test('one key sent at once for two requests: one of them happens, the other is refused', async () => {
  await create('twin-a');
  await create('twin-b');
  for (let round = 0; round < 20; round++) {
    const answers = await Promise.all([
      call(0, 'POST', '/api/v1/counts/twin-a/increase', `twin-${round}`),
      call(round % 2, 'POST', '/api/v1/counts/twin-b/increase', `twin-${round}`),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
  }
  expect((await database.valueOf('twin-a'))! + (await database.valueOf('twin-b'))!).toBe(20n);
});

test('the default amount and the same amount written out are one payload', async () => {
  await create('default');
  await call(0, 'POST', '/api/v1/counts/default/increase', 'd-1');
  expect((await call(0, 'POST', '/api/v1/counts/default/increase', 'd-1', { amount: 1 })).json.value).toBe(1);
  expect((await call(0, 'POST', '/api/v1/counts/default/increase', 'd-1', { amount: '1' })).json.value).toBe(1);
});

test('1,000 keyed increases, each sent four times at once over two instances, happen once each', async () => {
  await create('racing');
  const sends = Array.from({ length: 4_000 }, (_, index) => index).sort(
    (a, b) => ((a * 7919) % 4_001) - ((b * 7919) % 4_001),
  );
  const answers = new Map<number, Set<string>>();
  let next = 0;
  await Promise.all(
    Array.from({ length: 80 }, async (_, connection) => {
      while (next < sends.length) {
        const request = sends[next++]! % 1_000;
        const answer = await call(connection % 2, 'POST', '/api/v1/counts/racing/increase', `race-${request}`);
        expect(answer.status).toBe(200);
        answers.set(request, (answers.get(request) ?? new Set()).add(answer.text));
      }
    }),
  );
  expect(await database.valueOf('racing')).toBe(1_000n);
  expect([...answers.values()].every((texts) => texts.size === 1)).toBe(true);
  expect(new Set([...answers.values()].map((texts) => [...texts][0])).size).toBe(1_000);
});

test('keyed and plain changes of one item, an overflow among them, all get their own outcome', async () => {
  await create('both', 2n ** 63n - 101n);
  const { external } = services[0]!.api;
  const outcomes = await Promise.allSettled(
    Array.from({ length: 100 }, (_, index) =>
      external.increase('both', 2n, index % 2 === 0 ? `both-${index}` : undefined),
    ),
  );
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(50);
  expect(await database.valueOf('both')).toBe(2n ** 63n - 1n);
});

test('keys are forgotten after their window, and only then', async () => {
  await create('window');
  await call(0, 'POST', '/api/v1/counts/window/increase', 'old');
  await call(0, 'POST', '/api/v1/counts/window/increase', 'new');
  await database.query(
    "UPDATE count_requests SET created_at = now() - interval '2 hours' WHERE idempotency_key = 'old'",
  );
  const own = new Database({ locate: async () => database.options });
  expect(await forgetOldRequests(own, 60 * 60 * 1_000)).toBe(1);
  await own.close();
  expect((await call(0, 'POST', '/api/v1/counts/window/increase', 'new')).json.value).toBe(2);
  expect((await call(0, 'POST', '/api/v1/counts/window/increase', 'old')).json.value).toBe(3);
});
