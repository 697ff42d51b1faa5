import { checkAmount, checkKey, checkWindow } from '../arguments.js';
import type { WindowCounterStore, WindowExpiry } from '../store.js';
import { type Window, windowEndMs } from '../window.js';
import { statementsFor } from './postgres-statements.js';

/** A `pg` Pool or Client, as far as it is needed here. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>;
}

export interface PostgresWindowStoreOptions {
  /** Connected and closed by whoever made it. */
  readonly client: PostgresClient;
  /** The table, made on first use where it is not there; `window_counts` if left out. */
  readonly table?: string;
  /** How long after its end a count is kept: longer than the clocks of PostgreSQL and of its callers differ. */
  readonly keptForMs?: number;
}

const DEFAULT_KEPT_FOR_MS = 5_000;
/** One statement deletes so many rows at most: it is short, and holds few locks. */
const DELETION_BATCH_ROWS = 1_000;
const TABLE_NAME = /^[a-z_][a-z0-9_]{0,50}$/;

/**
 * Counts in PostgreSQL: one statement that inserts the row or adds to it. Rows of windows that are over are not seen
 * any more, and are deleted by `deleteExpired`, a bounded number at a time; whoever runs this store calls it now and
 * then.
 */
export class PostgresWindowStore implements WindowCounterStore {
  readonly #client: PostgresClient;
  readonly #statements: ReturnType<typeof statementsFor>;
  readonly #keptForMs: number;
  #prepared: Promise<void> | undefined;

  constructor({ client, table = 'window_counts', keptForMs = DEFAULT_KEPT_FOR_MS }: PostgresWindowStoreOptions) {
    if (!TABLE_NAME.test(table)) throw new RangeError(`a table is named with a-z, 0-9 and _, not ${table}`);
    this.#client = client;
    this.#statements = statementsFor(table);
    this.#keptForMs = keptForMs;
  }

  async increment(key: string, window: Window, amount: number | bigint = 1): Promise<bigint> {
    const values = [...rowOf(key, window), String(checkAmount(amount)), windowEndMs(window) + this.#keptForMs];
    await this.#prepare();
    const { rows } = await this.#client.query(this.#statements.increment, values);
    return BigInt((rows[0] as { count: string }).count);
  }

  async read(key: string, window: Window): Promise<bigint> {
    const values = rowOf(key, window);
    await this.#prepare();
    const { rows } = await this.#client.query(this.#statements.read, values);
    return rows.length === 0 ? 0n : BigInt((rows[0] as { count: string }).count);
  }

  async expiry(key: string, window: Window): Promise<WindowExpiry | undefined> {
    const values = rowOf(key, window);
    await this.#prepare();
    const { rows } = await this.#client.query(this.#statements.expiry, values);
    if (rows.length === 0) return undefined;
    return { endMs: windowEndMs(window), remainingMs: Number((rows[0] as { remaining_ms: string }).remaining_ms) };
  }

  /** Deletes rows of windows that are over until there are none, or so many are deleted; returns how many that was. */
  async deleteExpired(limit = Number.POSITIVE_INFINITY): Promise<number> {
    await this.#prepare();
    let deleted = 0;
    while (deleted < limit) {
      const batch = Math.min(DELETION_BATCH_ROWS, limit - deleted);
      const { rowCount } = await this.#client.query(this.#statements.deleteExpired, [batch]);
      deleted += rowCount ?? 0;
      if ((rowCount ?? 0) < batch) break;
    }
    return deleted;
  }

  /** Once; after a failure the next caller tries again. */
  #prepare(): Promise<void> {
    this.#prepared ??= this.#client.query(this.#statements.prepare).then(
      () => undefined,
      (error: unknown) => {
        this.#prepared = undefined;
        throw error;
      },
    );
    return this.#prepared;
  }
}

/** The primary key of a count. The key is kept as bytes: text in PostgreSQL cannot hold a zero. */
function rowOf(key: string, window: Window): [Uint8Array, number, number] {
  const { startMs, durationMs } = checkWindow(window);
  return [Buffer.from(checkKey(key)), startMs, durationMs];
}
