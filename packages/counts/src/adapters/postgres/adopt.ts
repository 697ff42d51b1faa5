import type { ClientBase } from 'pg';

/** The schema cannot be brought up to date: the message names the obstacle, and the remedy. */
export class SchemaError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SchemaError';
  }
}

/** Under which a table that was adopted is kept, as it was. */
const ADOPTED_TABLE = 'count_values_adopted';
const WANTED = 'item_id text primary key, current_value bigint, last_updated_at timestamp with time zone';

/**
 * Before the first step: whether a table of that name is there already, which QuotaDB did not make. It may hold the
 * counts of another service of the same specification, or something else: nothing is done to it unless asked for.
 * Returns whether it was moved away, and its rows wait to be copied.
 */
export async function makeWay(client: ClientBase, adopts: boolean): Promise<boolean> {
  const columns = await columnsOf(client, 'count_values');
  if (columns.size === 0) return false;
  const found = [...columns].map(([name, type]) => `${name} ${type}`).join(', ');
  const inTheWay = `the database has a table count_values that QuotaDB did not make (${found}; wanted: ${WANTED})`;
  if (!adopts) {
    throw new SchemaError(
      `${inTheWay}. To take its counts over, start with --counts-adopt: they are copied, and the table is kept as ` +
        `${ADOPTED_TABLE}. To leave it alone, rename it or give another database with --postgres.`,
    );
  }
  const missing = ['item_id', 'current_value'].filter((name) => !columns.has(name));
  if (missing.length > 0) throw new SchemaError(`${inTheWay}, and it cannot be adopted: no ${missing.join(', no ')}.`);
  if ((await columnsOf(client, ADOPTED_TABLE)).size > 0) {
    throw new SchemaError(`${inTheWay}, and it cannot be adopted: there is a table ${ADOPTED_TABLE} already.`);
  }
  await client.query(`ALTER TABLE count_values RENAME TO ${ADOPTED_TABLE}`);
  return true;
}

/** After the last step, in the same transaction: the rows of the table that was moved away. */
export async function copyAdopted(client: ClientBase): Promise<void> {
  const columns = await columnsOf(client, ADOPTED_TABLE);
  const updatedAt = columns.has('last_updated_at') ? 'coalesce(last_updated_at::timestamptz, now())' : 'now()';
  try {
    // By way of text, a fraction is refused instead of rounded.
    await client.query(
      `INSERT INTO count_values (item_id, current_value, last_updated_at)
       SELECT item_id::text, coalesce(current_value, 0)::text::bigint, ${updatedAt} FROM ${ADOPTED_TABLE}`,
    );
  } catch (error) {
    const reason = (error as Error).message;
    throw new SchemaError(`the table count_values cannot be adopted: ${reason}. It was left as it is.`, {
      cause: error,
    });
  }
}

/** The types of its columns by their names; empty where there is no such table. */
async function columnsOf(client: ClientBase, table: string): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [table],
  );
  return new Map(rows.map(({ name, type }) => [name, type]));
}
