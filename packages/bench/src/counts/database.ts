import { EmbeddedPostgres } from '@quotadb/counts';
import pg from 'pg';
import type { Cleanup } from '../machine/cleanup.js';
import { itemName } from './requests.js';

/** The settings of PostgreSQL that decide the figures. */
export interface DatabaseDescription {
  readonly version: string;
  readonly fsync: string;
  readonly synchronousCommit: string;
}

/** Far longer than either service lets a queued request wait while the database answers. */
const SETTLE_POLL_MS = 250;

/** A real PostgreSQL for the run, which waits for its disk as it would in production. */
export class BenchDatabase {
  readonly url: string;
  readonly #client: pg.Client;

  static async start(cleanup: Cleanup): Promise<BenchDatabase> {
    const postgres = new EmbeddedPostgres({});
    // A sudden end is taken care of by the watchdog that the embedded PostgreSQL has.
    cleanup.add({ gently: () => postgres.stop(), atOnce: () => undefined });
    const { host, user, database } = await postgres.start();
    const url = `postgresql://${user}@${encodeURIComponent(host!)}/${database}`;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    cleanup.add({ gently: () => client.end(), atOnce: () => undefined });
    return new BenchDatabase(url, client);
  }

  private constructor(url: string, client: pg.Client) {
    this.url = url;
    this.#client = client;
  }

  async describe(): Promise<DatabaseDescription> {
    const { rows } = await this.#client.query(
      `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
              current_setting('synchronous_commit') AS "synchronousCommit"`,
    );
    return rows[0] as DatabaseDescription;
  }

  /** QuotaDB has made the table by then. */
  async fill(items: number): Promise<void> {
    const names = Array.from({ length: items }, (_, index) => itemName(index));
    await this.#client.query('INSERT INTO count_values (item_id) SELECT * FROM unnest($1::text[])', [names]);
    await this.#client.query('VACUUM ANALYZE count_values');
  }

  /** Nothing of one round may burden the next: dead rows are cleared away and everything is on the disk. */
  async settle(): Promise<void> {
    await this.#client.query('VACUUM count_values');
    await this.#client.query('CHECKPOINT');
  }

  /** The sum of all counts, once the requests that a client left behind have been worked off. */
  async settledTotal(): Promise<number> {
    for (let before = await this.#total(); ; ) {
      await new Promise((resolve) => setTimeout(resolve, SETTLE_POLL_MS));
      const now = await this.#total();
      if (now === before) return now;
      before = now;
    }
  }

  async #total(): Promise<number> {
    const { rows } = await this.#client.query<{ total: string }>(
      'SELECT sum(current_value) AS total FROM count_values',
    );
    return Number(rows[0]!.total);
  }
}
