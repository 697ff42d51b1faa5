import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCountsService } from '../../service.js';
import { TestDatabase } from '../../testing/test-database.js';
import { problemOfCount } from '../http/problems.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await TestDatabase.start();
});
afterAll(() => database.stop());

/** As services of the same specification make it, with a count in it. */
const OTHER_TABLE = `
  CREATE TABLE count_values (
    item_id uuid PRIMARY KEY, current_value integer DEFAULT 0, last_updated_at timestamp DEFAULT now(), note text
  );
  INSERT INTO count_values VALUES ('8b8f4b5e-2b0f-4b66-9e0a-0a4d8f1f6c11', 41, '2020-02-02 02:02:02', 'kept')`;
const ITEM = '8b8f4b5e-2b0f-4b66-9e0a-0a4d8f1f6c11';

async function withDatabase(
  name: string,
  script: string,
  work: (options: typeof database.options, session: pg.Client) => Promise<void>,
): Promise<void> {
  await database.query(`CREATE DATABASE ${name}`);
  const options = { ...database.options, database: name };
  const session = new pg.Client(options);
  await session.connect();
  try {
    await session.query(script);
    await work(options, session);
  } finally {
    await session.end();
  }
}

test('a table of another program is left alone, and every answer says what is in the way and what to do', () =>
  withDatabase('in_the_way', OTHER_TABLE, async (postgres, session) => {
    const service = createCountsService({ postgres });
    const { external, internal } = service.api;
    const calls = [
      () => external.increase(ITEM, 1n),
      () => external.increase(ITEM, 1n, 'a-key'),
      () => internal.initialize('new', 0n),
      () => internal.get(ITEM),
    ];
    for (const call of calls) {
      const error = await call().catch((reason) => reason);
      expect(error).toMatchObject({ code: 'schema_unsuitable' });
      const { message, problem } = problemOfCount(error);
      expect(problem.status).toBe(503);
      expect(message).toContain('item_id uuid, current_value integer, last_updated_at timestamp without time zone');
      expect(message).toContain('wanted: item_id text primary key, current_value bigint');
      expect(message).toContain('--counts-adopt');
    }
    const { rows } = await session.query('SELECT current_value, note FROM count_values');
    expect(rows).toEqual([{ current_value: 41, note: 'kept' }]);
    // Once it is out of the way the same server goes on.
    await session.query('ALTER TABLE count_values RENAME TO elsewhere');
    await internal.initialize('new', 5n);
    expect(await external.increase('new', 1n)).toEqual({ itemId: 'new', value: 6n });
    await service.stop();
  }));

test('an adopted table is copied once and kept', () =>
  withDatabase('adopted', OTHER_TABLE, async (postgres, session) => {
    for (const expected of [42n, 43n]) {
      const service = createCountsService({ postgres, adopts: true });
      expect(await service.api.external.increase(ITEM, 1n)).toEqual({ itemId: ITEM, value: expected });
      await service.stop();
    }
    const { rows } = await session.query('SELECT item_id, current_value, note FROM count_values_adopted');
    expect(rows).toEqual([{ item_id: ITEM, current_value: 41, note: 'kept' }]);
  }));

test.each([
  ['fractions', "CREATE TABLE count_values AS SELECT 'a' AS item_id, 1.5 AS current_value", /invalid input syntax/],
  ['twice', "CREATE TABLE count_values AS SELECT 'a' AS item_id, 1 AS current_value FROM generate_series(1, 2)", /dup/],
  ['unrelated', 'CREATE TABLE count_values (name text, total bigint)', /no item_id, no current_value/],
])('a table that cannot be adopted is left as it is: %s', (name, script, reason) =>
  withDatabase(name, script, async (postgres, session) => {
    const before = (await session.query('SELECT * FROM count_values')).rows;
    const service = createCountsService({ postgres, adopts: true });
    const error = await service.api.internal.get('a').catch((caught) => caught);
    expect(error).toMatchObject({ code: 'schema_unsuitable', cause: { message: expect.stringMatching(reason) } });
    expect((await session.query('SELECT * FROM count_values')).rows).toEqual(before);
    await service.stop();
  }),
);
