import pg from 'pg';
import { CountError } from '../../domain/count-error.js';
import { SchemaError } from './adopt.js';
import { ANSWER_GRACE_MS, MAX_WAITING_QUERIES, MIGRATION_TIMEOUT_MS, QUERY_CONNECTIONS } from './bounds.js';
import { type ConnectionOptions, clientConfig } from './connection.js';
import { classifyFailure, UnreachableError } from './failure.js';
import { migrate } from './migrate.js';

export interface DatabaseLocator {
  /** Where PostgreSQL is, asked before every connection. The embedded one is started by that, also after a crash. */
  locate(): Promise<ConnectionOptions>;
  /** Fails unless this new connection will do. */
  check?(client: pg.ClientBase): Promise<void>;
  /** No connection to this place could be made; there may be another. */
  moveOn?(from: ConnectionOptions): void;
}

/** The way to PostgreSQL: found and brought up to date on first use, and again whenever that failed. */
export class Database {
  readonly #locator: DatabaseLocator;
  readonly #queryConnections: number;
  readonly #adopts: boolean;
  #obstacle: SchemaError | undefined;
  #migrated: Promise<void> | undefined;
  /** All its connections lead to one place; when the primary moves, another pool takes its place. */
  #pool: { readonly place: ConnectionOptions; readonly connections: pg.Pool } | undefined;

  /** `adopts`: a table of counts that another program made is taken over; see adopt.ts. */
  constructor(locator: DatabaseLocator, queryConnections = QUERY_CONNECTIONS, adopts = false) {
    this.#locator = locator;
    this.#queryConnections = queryConnections;
    this.#adopts = adopts;
  }

  /** A connection of the caller's own. */
  async openSession(): Promise<pg.Client> {
    try {
      const place = await this.#prepared();
      return await this.#connect(place);
    } catch (error) {
      throw new UnreachableError(error);
    }
  }

  /**
   * Lends a pooled connection to the work. A connection that failed is not used again; one on which PostgreSQL only
   * said no is sound, and where conflicts are common a new one for each would cost more than the work.
   */
  async withConnection<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#lend();
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      const failure = classifyFailure(error);
      client.release(!(error instanceof CountError || failure === 'conflict' || failure === 'refused'));
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
    if (this.#pool !== undefined) await orGiveUp(this.#pool.connections.end());
  }

  async #lend(): Promise<pg.PoolClient> {
    try {
      const place = await this.#prepared();
      const pool = this.#poolAt(place);
      if (pool.waitingCount >= MAX_WAITING_QUERIES) throw new CountError('overloaded');
      return await pool.connect().catch((error: unknown) => {
        // With connections that are only busy, the place is right.
        if (pool.totalCount === 0) this.#locator.moveOn?.(place);
        throw error;
      });
    } catch (error) {
      throw error instanceof CountError ? error : new UnreachableError(error);
    }
  }

  #poolAt(place: ConnectionOptions): pg.Pool {
    if (this.#pool?.place !== place) {
      void this.#pool?.connections.end().catch(() => undefined);
      this.#pool = { place, connections: this.#createPool(place) };
    }
    return this.#pool.connections;
  }

  async #prepared(): Promise<ConnectionOptions> {
    const place = await this.#locator.locate();
    this.#migrated ??= this.#migrate(place).then(
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
    return place;
  }

  async #migrate(place: ConnectionOptions): Promise<void> {
    const client = await this.#connect(place, { query_timeout: MIGRATION_TIMEOUT_MS });
    try {
      await migrate(client, this.#adopts);
    } finally {
      await orGiveUp(client.end());
    }
  }

  async #connect(place: ConnectionOptions, overrides: pg.ClientConfig = {}): Promise<pg.Client> {
    const client = new pg.Client({ ...clientConfig(place), ...overrides });
    // A connection lost while idle shows at its next use; without a listener it would end the process.
    client.on('error', () => undefined);
    try {
      await client.connect();
      await this.#locator.check?.(client);
    } catch (error) {
      this.#locator.moveOn?.(place);
      await orGiveUp(client.end());
      throw error;
    }
    return client;
  }

  #createPool(place: ConnectionOptions): pg.Pool {
    const onConnect = (client: pg.ClientBase) => this.#locator.check?.(client);
    const pool = new pg.Pool({ ...clientConfig(place), max: this.#queryConnections, onConnect });
    // The pool listens to its idle connections only; one lost while lent out fails the query that was on it.
    pool.on('connect', (client) => client.on('error', () => undefined));
    pool.on('error', () => undefined);
    return pool;
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
