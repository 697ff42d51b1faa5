import type { TestDatabase } from './test-database.js';

/** Where PostgreSQL finds out: while the statement runs, or only when its transaction commits. */
export type Moment = 'in the statement' | 'at the commit';

/**
 * Lets PostgreSQL itself end transactions with an error, as it does when they conflict: whatever they did is undone.
 * The verdict falls by the number of the transaction, so it is the same for all rows of one, and another for the next
 * attempt.
 */
export class InjectedConflicts {
  readonly #database: TestDatabase;

  constructor(database: TestDatabase) {
    this.#database = database;
  }

  /** From now on, one transaction of `oneIn` fails. The schema must be there. */
  async start(code: string, moment: Moment, oneIn: number): Promise<void> {
    const timing = moment === 'at the commit' ? 'DEFERRABLE INITIALLY DEFERRED' : 'NOT DEFERRABLE';
    const triggers = ['count_values', 'count_requests', 'count_components'].map(
      (table) =>
        `CREATE CONSTRAINT TRIGGER conflict AFTER INSERT OR UPDATE OR DELETE ON ${table} ${timing}
         FOR EACH ROW EXECUTE FUNCTION conflict(${oneIn}, '${code}')`,
    );
    // A sequence keeps what it counted when the transaction is undone.
    await this.#database.query(
      `CREATE SEQUENCE conflicts;
       CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF txid_current() % TG_ARGV[0]::int = 0 THEN
           PERFORM nextval('conflicts');
           RAISE EXCEPTION 'injected' USING ERRCODE = TG_ARGV[1];
         END IF;
         RETURN NULL;
       END $$;
       ${triggers.join(';')}`,
    );
  }

  /** How many there were. */
  async stop(): Promise<number> {
    const [row] = await this.#database.query<{ injected: number }>(
      'SELECT CASE WHEN is_called THEN last_value::int ELSE 0 END AS injected FROM conflicts',
    );
    await this.#database.query('DROP FUNCTION conflict() CASCADE; DROP SEQUENCE conflicts');
    return row!.injected;
  }
}
