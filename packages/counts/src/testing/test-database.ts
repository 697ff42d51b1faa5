import pg from 'pg';
import { EmbeddedPostgres } from '../adapters/embedded/embedded-postgres.js';
import type { ConnectionOptions } from '../adapters/postgres/connection.js';

/** A real PostgreSQL for one test file, with a session of the test's own to look behind the service's back. */
export class TestDatabase {
  readonly #postgres: EmbeddedPostgres;
  readonly options: ConnectionOptions;
  #session: pg.Client | undefined;

  static async start(): Promise<TestDatabase> {
    const postgres = new EmbeddedPostgres({});
    return new TestDatabase(postgres, await postgres.start());
  }

  private constructor(postgres: EmbeddedPostgres, options: ConnectionOptions) {
    this.#postgres = postgres;
    this.options = options;
  }

  /** A new connection, for tests that need transactions of their own. The caller ends it. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client(this.options);
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    if (this.#session === undefined) {
      const session = await this.connect();
      session.once('end', () => {
        this.#session = undefined;
      });
      this.#session = session;
    }
    return (await this.#session.query<Row>(text, values)).rows;
  }

  /** What the record says, or undefined if there is no such row. */
  async valueOf(itemId: string): Promise<bigint | undefined> {
    const rows = await this.query<{ current_value: string }>(
      'SELECT current_value FROM count_values WHERE item_id = $1',
      [itemId],
    );
    return rows[0] === undefined ? undefined : BigInt(rows[0].current_value);
  }

  /** Ends the service's sessions as a failing network or an administrator would. */
  async killSessions(): Promise<void> {
    await this.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'quotadb-counts'",
    );
  }

  /** The whole server dies at once, without a word to its clients, as in a power cut. */
  async crash(): Promise<void> {
    const pid = this.#postgres.pid!;
    process.kill(pid, 'SIGQUIT');
    while (this.#postgres.pid !== undefined) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  async restart(): Promise<void> {
    await this.#postgres.start();
  }

  async stop(): Promise<void> {
    await this.#session?.end();
    await this.#postgres.stop();
  }
}
