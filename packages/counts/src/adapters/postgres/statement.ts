import pg from 'pg';
import { LOCK_TIMEOUT_MS, STATEMENT_TIMEOUT_MS } from './bounds.js';

/** Rows come as arrays, in the order of the statement's columns. */
export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * Runs a statement and gives its rows. The only two ways to one are `alone` and `inTransaction`. Neither leaves
 * anything behind on the connection, no prepared statement and no setting, because the next transaction on it may be of
 * another program: a pooler such as PgBouncer gives a connection to the next caller.
 */
export type RunStatement = <Row extends readonly unknown[]>(statement: Statement) => Promise<Row[]>;

/** PostgreSQL gives up a statement on its own clock: then nothing was applied, without a doubt. */
export const TRANSACTION_SETTINGS: readonly (readonly [name: string, valueMs: number])[] = [
  ['statement_timeout', STATEMENT_TIMEOUT_MS],
  ['lock_timeout', LOCK_TIMEOUT_MS],
  ['idle_in_transaction_session_timeout', STATEMENT_TIMEOUT_MS],
];

/** Each statement is a transaction of its own. */
export function alone(client: pg.ClientBase): RunStatement {
  return <Row extends readonly unknown[]>({ text, values }: Statement) =>
    new Promise<Row[]>((resolve, reject) => {
      const callback = (error: Error | null, result?: { rows: Row[] }) => {
        if (error) reject(error);
        else resolve(result!.rows);
      };
      client.query(new LoneStatement({ text, values, rowMode: 'array', queryMode: 'extended', callback }));
    });
}

/** The driver's own query, with what its types leave out. */
interface DriverQuery extends pg.Submittable {
  prepare(connection: DriverConnection): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: DriverConnection): void;
}

interface DriverConnection {
  parse(statement: { readonly text: string }): void;
  bind(values: object): void;
  execute(portal: object): void;
}

const DriverQuery = pg.Query as unknown as new (options: object) => DriverQuery;

const localSettings = TRANSACTION_SETTINGS.map(([name, value]) => `set_config('${name}', '${value}', true)`);
const SET_ALL = `SELECT ${localSettings.join(', ')}`;

/**
 * The settings and the statement go out together, with one Sync behind both: PostgreSQL makes them one transaction, and
 * the settings end with it. That is one round trip, as for the statement without them.
 */
class LoneStatement extends DriverQuery {
  #isSet = false;

  override prepare(connection: DriverConnection): void {
    connection.parse({ text: SET_ALL });
    connection.bind({});
    connection.execute({});
    super.prepare(connection);
  }

  override handleDataRow(message: unknown): void {
    if (this.#isSet) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: DriverConnection): void {
    if (this.#isSet) super.handleCommandComplete(message, connection);
    this.#isSet = true;
  }
}
