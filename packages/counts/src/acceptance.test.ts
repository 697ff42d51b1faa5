import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CountsService, createCountsService } from './service.js';
import { TestDatabase } from './testing/test-database.js';
import { TestServer } from './testing/test-server.js';

/** Specification 1, section 6, test by test, on a real PostgreSQL and over real HTTP. */
describe('acceptance', () => {
  let database: TestDatabase;
  let service: CountsService;
  let server: TestServer;

  beforeAll(async () => {
    database = await TestDatabase.start();
    service = createCountsService({ postgres: database.options });
    server = await TestServer.start(service);
  });

  afterAll(async () => {
    await server.stop();
    await service.stop();
    await database.stop();
  });

  const create = (itemId: string, initialValue?: number) =>
    server.call('POST', '/api/v1/internal/counts', { body: { itemId, initialValue } });

  test('POST /api/v1/internal/counts returns 201 and creates record in DB.', async () => {
    const answer = await create('created', 42);
    expect(answer.status).toBe(201);
    expect(answer.json).toEqual({ itemId: 'created', currentValue: 42, lastUpdatedAt: expect.any(String) });
    expect(answer.headers.location).toBe('/api/v1/internal/counts/created');
    expect(await database.valueOf('created')).toBe(42n);
    expect((await create('created-by-default')).json.currentValue).toBe(0);
  });

  test('POST /api/v1/internal/counts returns 409 if itemId already has a value.', async () => {
    await create('twice', 7);
    const answer = await create('twice', 8);
    expect(answer.status).toBe(409);
    expect(answer.json.code).toBe('count_exists');
    expect(await database.valueOf('twice')).toBe(7n);
  });

  test('POST /api/v1/counts/{itemId}/increase returns 200 and correctly incremented value.', async () => {
    await create('increased', 10);
    const byFive = await server.call('POST', '/api/v1/counts/increased/increase', { body: { amount: 5 } });
    expect([byFive.status, byFive.json]).toEqual([200, { itemId: 'increased', value: 15 }]);
    const byDefault = await server.call('POST', '/api/v1/counts/increased/increase');
    expect([byDefault.status, byDefault.json]).toEqual([200, { itemId: 'increased', value: 16 }]);
    expect(await database.valueOf('increased')).toBe(16n);
  });

  test('POST /api/v1/counts/{itemId}/increase returns 404 for non-existent itemId.', async () => {
    const answer = await server.call('POST', '/api/v1/counts/nobody/increase', { body: { amount: 1 } });
    expect(answer.status).toBe(404);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.json.code).toBe('count_not_found');
    expect(await database.valueOf('nobody')).toBeUndefined();
  });

  test('100 concurrent increase requests to same itemId result in exactly +100 in DB.', async () => {
    await create('concurrent', 1_000);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => server.call('POST', '/api/v1/counts/concurrent/increase')),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    // Each caller saw a value of its own, as if the requests had come one after the other.
    expect(new Set(answers.map(({ json }) => json.value)).size).toBe(100);
    expect(await database.valueOf('concurrent')).toBe(1_100n);
  });

  test('POST /api/v1/counts/{itemId}/decrease returns 200 and correctly decremented value.', async () => {
    await create('decreased', 10);
    const answer = await server.call('POST', '/api/v1/counts/decreased/decrease', { body: { amount: 12 } });
    expect([answer.status, answer.json]).toEqual([200, { itemId: 'decreased', value: -2 }]);
    expect(await database.valueOf('decreased')).toBe(-2n);
  });

  test('POST /api/v1/counts/{itemId}/reset returns 200 and value becomes 0.', async () => {
    await create('reset', 10);
    const answer = await server.call('POST', '/api/v1/counts/reset/reset');
    expect([answer.status, answer.json]).toEqual([200, { itemId: 'reset', value: 0 }]);
    expect(await database.valueOf('reset')).toBe(0n);
  });

  test('GET /api/v1/internal/counts?itemIds=A&itemIds=B returns current values for both.', async () => {
    await create('A', 1);
    await create('B', 2);
    const expected = [
      { itemId: 'A', currentValue: 1, lastUpdatedAt: expect.any(String) },
      { itemId: 'B', currentValue: 2, lastUpdatedAt: expect.any(String) },
    ];
    const answer = await server.call('GET', '/api/v1/internal/counts?itemIds=A&itemIds=B');
    expect([answer.status, answer.json]).toEqual([200, expected]);
    const bracketed = await server.call('GET', '/api/v1/internal/counts?itemIds[]=B&itemIds[]=A&itemIds[]=B');
    expect(bracketed.json).toEqual([...expected].reverse());
  });

  test('DELETE /api/v1/internal/counts/{itemId} removes the record from DB.', async () => {
    await create('deleted');
    const answer = await server.call('DELETE', '/api/v1/internal/counts/deleted');
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(await database.valueOf('deleted')).toBeUndefined();
    expect((await server.call('DELETE', '/api/v1/internal/counts/deleted')).status).toBe(404);
  });

  test('reading one count and setting it to a value', async () => {
    await create('single', 5);
    const before = await server.call('GET', '/api/v1/internal/counts/single');
    expect(before.json).toEqual({ itemId: 'single', currentValue: 5, lastUpdatedAt: expect.any(String) });
    const updated = await server.call('PUT', '/api/v1/internal/counts/single', { body: { value: -9 } });
    expect([updated.status, updated.json]).toEqual([200, { itemId: 'single', value: -9 }]);
    const after = await server.call('GET', '/api/v1/internal/counts/single');
    expect(after.json.currentValue).toBe(-9);
    expect(Date.parse(after.json.lastUpdatedAt)).toBeGreaterThanOrEqual(Date.parse(before.json.lastUpdatedAt));
    expect((await server.call('GET', '/api/v1/internal/counts/nobody')).status).toBe(404);
    expect((await server.call('PUT', '/api/v1/internal/counts/nobody', { body: { value: 1 } })).status).toBe(404);
  });

  test('last_updated_at is kept by the database, for changes made by hand too', async () => {
    await create('by-hand', 5);
    await database.query("UPDATE count_values SET last_updated_at = 'epoch' WHERE item_id = 'by-hand'");
    await database.query("UPDATE count_values SET current_value = 6 WHERE item_id = 'by-hand'");
    const answer = await server.call('GET', '/api/v1/internal/counts/by-hand');
    expect(Date.parse(answer.json.lastUpdatedAt)).toBeGreaterThan(Date.parse('2020-01-01'));
  });
});
