import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CountsService, createCountsService } from './service.js';
import { describeWithPgBouncer, PgBouncer } from './testing/pgbouncer.js';
import { TestDatabase } from './testing/test-database.js';

const POOL = 3;
const CALLS = 2_000;
const CALLS_AT_ONCE = 100;
const ITEMS = Array.from({ length: 20 }, (_, index) => `item-${index}`);

describeWithPgBouncer('behind PgBouncer that pools transactions', () => {
  let database: TestDatabase;
  let bouncer: PgBouncer;
  let services: CountsService[];

  beforeAll(async () => {
    database = await TestDatabase.start();
    bouncer = await PgBouncer.start(database.options, POOL);
    services = [1, 2].map(() => createCountsService({ postgres: bouncer.options }));
  });

  afterAll(async () => {
    for (const service of services) await service.stop();
    await bouncer.stop();
    await database.stop();
  });

  /** What another program finds on the pool's connections: it holds all of them at once, each in a transaction. */
  async function foundByOthers(): Promise<{ settings: string[]; statements: string[] }[]> {
    const clients = Array.from({ length: POOL }, () => new pg.Client(bouncer.options));
    try {
      return await Promise.all(
        clients.map(async (client) => {
          await client.connect();
          await client.query('BEGIN');
          // The name of the program is PgBouncer's to pass on; the language of functions is loaded on first use.
          const settings = await client.query<{ line: string }>(
            `SELECT name || '=' || setting AS line FROM pg_settings
             WHERE name <> 'application_name' AND name NOT LIKE 'plpgsql.%' ORDER BY name`,
          );
          const statements = await client.query<{ name: string }>('SELECT name FROM pg_prepared_statements');
          await client.query('COMMIT');
          return {
            settings: settings.rows.map(({ line }) => line),
            statements: statements.rows.map(({ name }) => name),
          };
        }),
      );
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  }

  test('every call is answered, counted once, and leaves nothing behind on the pool', async () => {
    const before = await foundByOthers();
    for (const itemId of ITEMS) await services[0]!.api.internal.initialize(itemId, 0n);
    let next = 0;
    const failures: unknown[] = [];
    const caller = async () => {
      while (next < CALLS) {
        const call = next++;
        const { api } = services[call % services.length]!;
        const itemId = ITEMS[call % ITEMS.length]!;
        // Plain ones, keyed ones, reads, and changes that find nothing: every statement takes its turn.
        const key = call % 4 === 1 ? `call-${call}` : undefined;
        try {
          await api.external.increase(itemId, 1n, key);
          if (call % 10 === 0) await api.internal.getMany(ITEMS);
          if (call % 10 === 5) await expect(api.external.increase('nobody', 1n)).rejects.toThrow();
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: CALLS_AT_ONCE }, caller));
    expect(failures).toEqual([]);
    const { total } = (
      await database.query<{ total: string }>('SELECT sum(current_value) AS total FROM count_values')
    )[0]!;
    expect(Number(total)).toBe(CALLS);
    expect(await foundByOthers()).toEqual(before);
    expect(before.flatMap(({ statements }) => statements)).toEqual([]);
  });

  test('components are folded once, and old keys forgotten', async () => {
    await services[0]!.api.internal.initialize('fed', 0n);
    const component = { itemId: 'fed', origin: 'us', generation: 1n, increments: 5n, decrements: 2n };
    const outcomes = await Promise.all(services.map(({ feed }) => feed.fold([component])));
    expect(outcomes.flatMap(({ missing }) => [...missing])).toEqual([]);
    expect(await database.valueOf('fed')).toBe(3n);
  });

  test('a statement that takes too long is given up by PostgreSQL, not applied, and the row is counted on later', async () => {
    await services[0]!.api.internal.initialize('held', 0n);
    const holder = await database.connect();
    await holder.query("BEGIN; SELECT FROM count_values WHERE item_id = 'held' FOR UPDATE");
    const waiting = services[0]!.api.external.increase('held', 1n);
    await expect(services[0]!.api.external.increase('item-0', 1n)).resolves.toBeDefined();
    await holder.query('COMMIT');
    await waiting;
    await holder.end();
    expect(await database.valueOf('held')).toBe(1n);
  });
});
