import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CountsService, createCountsService } from './service.js';
import { LossyProxy } from './testing/lossy-proxy.js';
import { TestDatabase } from './testing/test-database.js';
import { TestServer } from './testing/test-server.js';

/** The hardest moment to lose a connection: after the commit, before the answer. */
let database: TestDatabase;
let proxy: LossyProxy;
let service: CountsService;
let server: TestServer;

beforeAll(async () => {
  database = await TestDatabase.start();
});

afterAll(() => database.stop());

beforeEach(async () => {
  proxy = await LossyProxy.start(database.options);
  service = createCountsService({ postgres: proxy.options });
  server = await TestServer.start(service);
});

afterEach(async () => {
  await server.stop();
  await service.stop();
  await proxy.stop();
});

const COUNTS = '/api/v1/internal/counts';
const create = (itemId: string, initialValue = 0n) => service.api.internal.initialize(itemId, initialValue);
const increase = (itemId: string, key?: string) =>
  server.call('POST', `/api/v1/counts/${itemId}/increase`, {
    headers: key === undefined ? {} : { 'Idempotency-Key': key },
  });

test('a change whose answer is lost is reported as unknown and never sent again by us', async () => {
  await create('plain');
  await increase('plain');
  proxy.loseAnswerTo = 'count_apply_runs';
  const answers = await Promise.all(Array.from({ length: 20 }, () => increase('plain')));
  expect(proxy.lost).toBe(1);
  const applied = answers.filter(({ status }) => status === 200).length;
  const unknown = answers.filter(({ status, json }) => status === 504 && json.code === 'outcome_unknown').length;
  expect(unknown).toBeGreaterThan(0);
  expect(applied + unknown).toBe(20);
  expect(await database.valueOf('plain')).toBe(21n);
  expect((await increase('plain')).json.value).toBe(22);
});

test('a keyed change whose answer is lost is sent again, happens once, and gets its answer', async () => {
  await create('keyed');
  await increase('keyed', 'before');
  proxy.loseAnswerTo = 'COMMIT';
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => increase('keyed', `key-${index}`)));
  expect(proxy.lost).toBe(1);
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  expect(new Set(answers.map(({ json }) => json.value)).size).toBe(20);
  expect(await database.valueOf('keyed')).toBe(21n);
});

test('a keyed change that is interrupted before its commit is sent again and happens once', async () => {
  await create('interrupted');
  await increase('interrupted', 'i-0');
  proxy.loseAnswerTo = 'count_apply_runs';
  expect((await increase('interrupted', 'i-1')).json.value).toBe(2);
  expect(proxy.lost).toBe(1);
  expect(await database.valueOf('interrupted')).toBe(2n);
});

test('a creation and a deletion whose answers are lost are unknown, or with a key made sure of', async () => {
  await create('first');
  proxy.loseAnswerTo = 'INSERT INTO count_values';
  const plain = await server.call('POST', COUNTS, { body: { itemId: 'made' } });
  expect([plain.status, plain.json.code]).toEqual([504, 'outcome_unknown']);
  expect(await database.valueOf('made')).toBe(0n);
  proxy.loseAnswerTo = 'COMMIT';
  const keyed = await server.call('DELETE', `${COUNTS}/made`, { headers: { 'Idempotency-Key': 'd-1' } });
  expect([keyed.status, proxy.lost]).toEqual([204, 2]);
  expect(await database.valueOf('made')).toBeUndefined();
});

test('a read whose answer is lost is simply made again', async () => {
  await create('read', 7n);
  proxy.loseAnswerTo = 'SELECT item_id, current_value, last_updated_at';
  expect((await server.call('GET', `${COUNTS}/read`)).json.currentValue).toBe(7);
  expect(proxy.lost).toBe(1);
});

test('a database that falls silent is given up on, and found again when it speaks', async () => {
  await create('silent');
  await increase('silent');
  proxy.silent = true;
  const answer = await increase('silent');
  expect([answer.status, answer.json.code]).toEqual([504, 'outcome_unknown']);
  proxy.silent = false;
  expect((await increase('silent')).json.value).toBe(2);
});

test('a service can be stopped while its database is silent', async () => {
  const own = createCountsService({ postgres: proxy.options });
  await own.api.internal.initialize('stopped', 0n);
  await own.api.external.increase('stopped', 1n);
  proxy.silent = true;
  await own.stop();
  proxy.silent = false;
});

test('changes that come before there is any connection are refused in time, and applied once there is one', async () => {
  proxy.silent = true;
  const answer = await increase('early');
  expect([answer.status, answer.json.code]).toEqual([503, 'database_unavailable']);
  proxy.silent = false;
  await create('early');
  expect((await increase('early')).json.value).toBe(1);
});
