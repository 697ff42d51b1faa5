import { EmbeddedPostgres } from '@quotadb/counts';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWindowCounterStore } from '../conformance/index.js';
import { fixedWindowAt, windowFrom } from '../window/window.js';
import { PostgresWindowStore } from './postgres.js';

const KEPT_FOR_MS = 50;
const postgres = new EmbeddedPostgres({});
let options: pg.PoolConfig;
let pool: pg.Pool;

beforeAll(async () => {
  options = (await postgres.start()) as pg.PoolConfig;
  pool = new pg.Pool({ ...options, max: 8 }).on('error', () => undefined);
});
afterAll(async () => {
  await pool?.end();
  await postgres.stop();
});

describeWindowCounterStore('PostgresWindowStore', () => {
  const table = 'conformance';
  const pools: pg.Pool[] = [];
  const another = () => {
    const own = new pg.Pool({ ...options, max: 6 }).on('error', () => undefined);
    pools.push(own);
    return new PostgresWindowStore({ client: own, table, keptForMs: KEPT_FOR_MS });
  };
  const store = another();
  return {
    store,
    another,
    keptForMs: KEPT_FOR_MS,
    held: async () => {
      await store.deleteExpired();
      const { rows } = await pool.query(`SELECT count(*) FROM ${table}`);
      return Number(rows[0].count);
    },
    breakDown: async () => {
      await pool.query(`DROP TABLE ${table}`);
    },
    close: async () => {
      for (const own of pools) await own.end();
    },
  };
});

test('expired rows are deleted, no more of them than was asked for, and no others', async () => {
  const store = new PostgresWindowStore({ client: pool, table: 'deletion', keptForMs: 0 });
  const hour = fixedWindowAt(Date.now() + 60_000, 3_600_000);
  await Promise.all(Array.from({ length: 30 }, (_, key) => store.increment(`old ${key}`, windowFrom(1_000, 1_000))));
  await store.increment('new', hour);
  expect(await store.deleteExpired(10)).toBe(10);
  expect((await pool.query('SELECT count(*) FROM deletion')).rows[0].count).toBe('21');
  expect(await store.deleteExpired()).toBe(20);
  expect(await store.deleteExpired()).toBe(0);
  expect(await store.read('new', hour)).toBe(1n);
});

test('more rows than one statement deletes go in several', async () => {
  const store = new PostgresWindowStore({ client: pool, table: 'batches', keptForMs: 0 });
  await store.read('key', windowFrom(0, 1));
  await pool.query(
    "INSERT INTO batches SELECT convert_to(n::text, 'utf8'), 0, 1, 1, 1 FROM generate_series(1, 2500) AS n",
  );
  expect(await store.deleteExpired()).toBe(2_500);
});

test('many that use a new table for the first time at once all can', async () => {
  const stores = Array.from({ length: 8 }, () => new PostgresWindowStore({ client: pool, table: 'first_use' }));
  const hour = fixedWindowAt(Date.now() + 60_000, 3_600_000);
  const counts = await Promise.all(stores.map((store) => store.increment('key', hour)));
  expect(counts.map(Number).toSorted((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test('a name that is no plain table name is refused', () => {
  expect(() => new PostgresWindowStore({ client: pool, table: 'x; DROP TABLE y' })).toThrow(RangeError);
});
