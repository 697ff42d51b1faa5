import pg from 'pg';
import { CountError } from '../../domain/count-error.js';
import { SchemaError } from './adopt.js';
import { ANSWER_GRACE_MS, MAX_WAITING_QUERIES, MIGRATION_TIMEOUT_MS, QUERY_CONNECTIONS } from './bounds.js';
import { type ConnectionOptions, clientConfig } from './connection.js';
import { UnreachableError } from './failure.js';
import { migrate } from './migrate.js';

/**
 * Says where PostgreSQL is, before every connection. The embedded one is started by the first call, and after a crash.
 */
export type DatabaseLocator = () => Promise<ConnectionOptions>;

/** The way to PostgreSQL: found and brought up to date on first use, and again whenever that failed. */
export class Database {
  readonly #locate: DatabaseLocator;
  readonly #queryConnections: number;
  readonly #adopts: boolean;
  #obstacle: SchemaError | undefined;
  #migrated: Promise<void> | undefined;
  #pool: pg.Pool | undefined;

  /** `adopts`: a table of counts that another program made is taken over; see adopt.ts. */
  constructor(locate: DatabaseLocator, queryConnections = QUERY_CONNECTIONS, adopts = false) {
    this.#locate = locate;
    this.#queryConnections = queryConnections;
    this.#adopts = adopts;
  }

  /** A connection of the caller's own. */
  async openSession(): Promise<pg.Client> {
    try {
      return await connect(await this.#prepared());
    } catch (error) {
      throw new UnreachableError(error);
    }
  }

  /** Lends a pooled connection to the work. A connection that failed is not used again. */
  async withConnection<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#lend();
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      client.release(!(error instanceof CountError));
      throw error;
    }
  }

  /** Whether the database has been needed so far. Asking does not start it. */
  get isInUse(): boolean {
    return this.#migrated !== undefined;
  }

  /** Why the schema could not be brought up to date when it was last tried; every use of the database tries again. */
  get obstacle(): SchemaError | undefined {
    return this.#obstacle;
  }

  async close(): Promise<void> {
    if (this.#pool !== undefined) await orGiveUp(this.#pool.end());
  }

  async #lend(): Promise<pg.PoolClient> {
    try {
      const options = await this.#prepared();
      this.#pool ??= createPool(options, this.#queryConnections);
      if (this.#pool.waitingCount >= MAX_WAITING_QUERIES) throw new CountError('overloaded');
      return await this.#pool.connect();
    } catch (error) {
      throw error instanceof CountError ? error : new UnreachableError(error);
    }
  }

  async #prepared(): Promise<ConnectionOptions> {
    const options = await this.#locate();
    this.#migrated ??= migrateDatabase(options, this.#adopts).then(
      () => {
        this.#obstacle = undefined;
      },
      (error: unknown) => {
        this.#migrated = undefined;
        this.#obstacle = error instanceof SchemaError ? error : undefined;
        throw error;
      },
    );
    await this.#migrated;
    return options;
  }
}

/** Waits for connections to end in good order, but not for a server that has stopped answering. */
export async function orGiveUp(ending: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const givingUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ANSWER_GRACE_MS);
  });
  await Promise.race([ending.catch(() => undefined), givingUp]);
  clearTimeout(timer);
}

async function migrateDatabase(options: ConnectionOptions, adopts: boolean): Promise<void> {
  const client = await connect(options, { query_timeout: MIGRATION_TIMEOUT_MS });
  try {
    await migrate(client, adopts);
  } finally {
    await orGiveUp(client.end());
  }
}

async function connect(options: ConnectionOptions, overrides: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({ ...clientConfig(options), ...overrides });
  // A connection lost while idle shows at its next use; without a listener it would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    await orGiveUp(client.end());
    throw error;
  }
  return client;
}

function createPool(options: ConnectionOptions, max: number): pg.Pool {
  const pool = new pg.Pool({ ...clientConfig(options), max });
  // The pool listens to its idle connections only; one lost while lent out fails the query that was on it.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  return pool;
}
