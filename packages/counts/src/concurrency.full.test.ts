import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CountsService, createCountsService } from './service.js';
import { RawConnection } from './testing/raw-connection.js';
import { TestDatabase } from './testing/test-database.js';
import { TestServer } from './testing/test-server.js';

/** Two instances of the service on one database. */
let database: TestDatabase;
let services: CountsService[];
let servers: TestServer[];

beforeAll(async () => {
  database = await TestDatabase.start();
  services = [0, 1].map(() => createCountsService({ postgres: database.options }));
  // Both bring the schema up to date at the same moment.
  await Promise.all(services.map((service) => service.ready()));
  servers = await Promise.all(services.map((service) => TestServer.start(service)));
});

afterAll(async () => {
  for (const server of servers) await server.stop();
  for (const service of services) await service.stop();
  await database.stop();
});

const create = (itemId: string, initialValue = 0n) => services[0]!.api.internal.initialize(itemId, initialValue);

/** A number of requests, spread over a number of connections to both instances. */
async function spread(count: number, connections: number, send: (server: TestServer, index: number) => Promise<void>) {
  let next = 0;
  await Promise.all(
    Array.from({ length: connections }, async (_, connection) => {
      while (next < count) await send(servers[connection % 2]!, next++);
    }),
  );
}

test('10,000 increases of one item from 100 connections to two instances add up exactly, each with its own value', async () => {
  await create('hot');
  const values = new Set<number>();
  await spread(10_000, 100, async (server) => {
    const answer = await server.call('POST', '/api/v1/counts/hot/increase');
    expect(answer.status).toBe(200);
    values.add(answer.json.value);
  });
  expect(values.size).toBe(10_000);
  expect(Math.max(...values)).toBe(10_000);
  expect(await database.valueOf('hot')).toBe(10_000n);
});

test('mixed changes of many overlapping items from two instances add up exactly, without a deadlock', async () => {
  const items = Array.from({ length: 50 }, (_, index) => `mixed-${(index * 37) % 50}`);
  await Promise.all(items.map((itemId) => create(itemId)));
  const expected = new Map(items.map((itemId) => [itemId, 0n]));
  const before = await deadlocks();
  await spread(5_000, 100, async (server, index) => {
    const itemId = items[(index * 7919) % items.length]!;
    const action = index % 3 === 0 ? 'decrease' : 'increase';
    const answer = await server.call('POST', `/api/v1/counts/${itemId}/${action}`, { body: { amount: index } });
    expect(answer.status).toBe(200);
    expected.set(itemId, expected.get(itemId)! + BigInt(action === 'increase' ? index : -index));
  });
  for (const [itemId, value] of expected) expect(await database.valueOf(itemId)).toBe(value);
  expect(await deadlocks()).toBe(before);
});

test('a missing id, an overflow and a bad amount are errors of their own callers only', async () => {
  await create('neighbour');
  await create('full', 2n ** 63n - 3n);
  const answers = await Promise.all(
    Array.from({ length: 400 }, (_, index) => {
      const [path, body] = [
        ['neighbour/increase', { amount: 1 }],
        ['nobody/increase', { amount: 1 }],
        ['full/increase', { amount: 2 }],
        ['neighbour/increase', { amount: -1 }],
      ][index % 4] as [string, unknown];
      return servers[index % 2]!.call('POST', `/api/v1/counts/${path}`, { body });
    }),
  );
  const statuses = (kind: number) => answers.filter((_, index) => index % 4 === kind).map(({ status }) => status);
  expect(new Set(statuses(0))).toEqual(new Set([200]));
  expect(new Set(statuses(1))).toEqual(new Set([404]));
  expect(new Set(statuses(3))).toEqual(new Set([400]));
  // The count has room for one of the increases by 2.
  expect(statuses(2).filter((status) => status === 200)).toHaveLength(1);
  expect(statuses(2).filter((status) => status === 409)).toHaveLength(99);
  expect(await database.valueOf('neighbour')).toBe(100n);
  expect(await database.valueOf('full')).toBe(2n ** 63n - 1n);
});

test('increases, decreases and resets of one connection keep their order, sent without waiting for answers', async () => {
  await create('ordered');
  const connection = await RawConnection.open(servers[0]!.port);
  const actions = Array.from(
    { length: 300 },
    (_, index) => ['increase', 'increase', 'decrease', 'reset', 'increase'][index % 5]!,
  );
  connection.socket.write(
    actions.map((action) => `POST /api/v1/counts/ordered/${action} HTTP/1.1\r\nHost: test\r\n\r\n`).join(''),
  );
  const answers = await connection.answers(actions.length);
  connection.socket.destroy();
  let value = 0;
  const expected = actions.map((action) => {
    value = action === 'reset' ? 0 : value + (action === 'increase' ? 1 : -1);
    return value;
  });
  expect(answers.map(({ body }) => JSON.parse(body).value)).toEqual(expected);
});

test('resets among increases: every answer fits one order of all requests', async () => {
  await create('churned');
  const answers: { action: string; value: number }[] = [];
  await spread(2_000, 50, async (server, index) => {
    const action = index % 10 === 0 ? 'reset' : 'increase';
    const { status, json } = await server.call('POST', `/api/v1/counts/churned/${action}`);
    expect(status).toBe(200);
    answers.push({ action, value: json.value });
  });
  expect(answers.filter(({ action }) => action === 'reset').every(({ value }) => value === 0)).toBe(true);
  // Between two resets the increases answer 1, 2, 3, …: each value at most once per reset, and never without its
  // predecessor.
  const times = new Map<number, number>();
  for (const { action, value } of answers) if (action === 'increase') times.set(value, (times.get(value) ?? 0) + 1);
  for (const [value, count] of times) {
    expect(count).toBeLessThanOrEqual(201);
    if (value > 1) expect(times.get(value - 1)!).toBeGreaterThanOrEqual(count);
  }
});

async function deadlocks(): Promise<string> {
  const [row] = await database.query<{ deadlocks: string }>(
    'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
  );
  return row!.deadlocks;
}
