import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestDatabase } from '../../testing/test-database.js';
import { Database } from './database.js';
import { migrations } from './migrations.js';
import { alone } from './statement.js';
import { APPLY_RUNS } from './statements.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await TestDatabase.start();
});
afterAll(() => database.stop());

async function prepare(): Promise<void> {
  const own = new Database({ locate: async () => database.options });
  try {
    await own.withConnection(async () => undefined);
  } finally {
    await own.close();
  }
}

test('ten instances that start at once bring the schema up to date once', async () => {
  await Promise.all(Array.from({ length: 10 }, prepare));
  const steps = await database.query('SELECT step FROM count_migrations ORDER BY step');
  expect(steps).toEqual(migrations.map((_, index) => ({ step: index + 1 })));
});

test('the table is what the specification asks for', async () => {
  await prepare();
  const columns = await database.query(
    `SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns
     WHERE table_name = 'count_values' ORDER BY ordinal_position`,
  );
  expect(columns).toEqual([
    { column_name: 'item_id', data_type: 'text', is_nullable: 'NO', column_default: null },
    { column_name: 'current_value', data_type: 'bigint', is_nullable: 'NO', column_default: '0' },
    {
      column_name: 'last_updated_at',
      data_type: 'timestamp with time zone',
      is_nullable: 'NO',
      column_default: 'now()',
    },
    // Not of the specification and of no meaning: see migrations.ts.
    { column_name: 'room', data_type: 'text', is_nullable: 'YES', column_default: "repeat(' '::text, 64)" },
  ]);
});

test('a schema of the first version is brought up to date with everything that is in it', async () => {
  await database.query('CREATE DATABASE first_version');
  const options = { ...database.options, database: 'first_version' };
  const session = new pg.Client(options);
  await session.connect();
  await session.query(migrations[0]!);
  await session.query('CREATE TABLE count_migrations (step integer PRIMARY KEY, applied_at timestamptz DEFAULT now())');
  await session.query('INSERT INTO count_migrations VALUES (1)');
  await session.query("INSERT INTO count_values (item_id, current_value) VALUES ('old', 5)");
  await session.query("INSERT INTO count_components VALUES ('old', 'us', 1, 5, 0, 5)");
  const own = new Database({ locate: async () => options });
  const rows = await own.withConnection((client) =>
    alone(client)({ text: APPLY_RUNS, values: ['{old}', '{2}', '{0}', '{2}', '{false}'] }),
  );
  expect(rows).toEqual([['old', '7']]);
  expect((await session.query('SELECT origin FROM count_components')).rows).toEqual([{ origin: 'us' }]);
  await own.close();
  await session.end();
});

test('the database keeps last_updated_at for changes made by hand, also for several of one transaction', async () => {
  await prepare();
  await database.query("INSERT INTO count_values VALUES ('by-hand', 0, '2001-01-01')");
  const session = await database.connect();
  await session.query('BEGIN');
  await session.query("UPDATE count_values SET current_value = 1 WHERE item_id = 'by-hand'");
  await session.query("UPDATE count_values SET current_value = 2 WHERE item_id = 'by-hand'");
  const { rows } = await session.query(
    "SELECT current_value, last_updated_at = now() AS is_now FROM count_values WHERE item_id = 'by-hand'",
  );
  expect(rows).toEqual([{ current_value: '2', is_now: true }]);
  await session.query('COMMIT');
  await session.query("UPDATE count_values SET last_updated_at = '2002-02-02Z' WHERE item_id = 'by-hand'");
  const given = await session.query("SELECT last_updated_at FROM count_values WHERE item_id = 'by-hand'");
  expect(given.rows[0].last_updated_at).toEqual(new Date('2002-02-02T00:00:00Z'));
  await session.end();
});

test('a schema newer than this version is left alone', async () => {
  await prepare();
  await database.query('INSERT INTO count_migrations (step) VALUES (999)');
  await expect(prepare()).rejects.toMatchObject({ cause: { message: expect.stringContaining('schema step') } });
  await database.query('DELETE FROM count_migrations WHERE step = 999');
});

test('statements lock rows in the order of their ids, whatever the statistics say', async () => {
  await prepare();
  const session = await database.connect();
  const { rows } = await session.query<{ prosrc: string; proconfig: string[] }>(
    "SELECT prosrc, proconfig FROM pg_proc WHERE proname = 'count_apply_runs'",
  );
  const { prosrc, proconfig } = rows[0]!;
  for (const setting of proconfig) await session.query(`SET ${setting}`);
  const values = ["ARRAY['b','a']", 'ARRAY[1,2]', 'ARRAY[0,0]', 'ARRAY[9,9]', 'ARRAY[false,false]'];
  const statement = /RETURN QUERY([^;]+);/
    .exec(prosrc)![1]!
    .replace(/\$(\d)/g, (_, index) => values[Number(index) - 1]!);
  const plan = async () => {
    const { rows } = await session.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${statement}`);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  };
  const ordered = /Nested Loop[\s\S]*Sort[\s\S]*Index Scan using count_values_pkey/;
  expect(await plan()).toMatch(ordered);
  await database.query("INSERT INTO count_values (item_id) SELECT 'plan-' || i FROM generate_series(1, 5000) AS i");
  await database.query('ANALYZE count_values');
  expect(await plan()).toMatch(ordered);
  await session.end();
});
