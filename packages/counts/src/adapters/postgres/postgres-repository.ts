import type { ClientBase } from 'pg';
import type { Change } from '../../domain/change.js';
import type { CountValue } from '../../domain/count-value.js';
import type {
  ChangeOutcome,
  CountValueRepository,
  CreateOutcome,
  RemoveOutcome,
} from '../../domain/ports/count-value-repository.js';
import type { RequestIdentity } from '../../domain/request-identity.js';
import { attempt } from './attempt.js';
import type { ChangeWriter } from './change-writer.js';
import type { Database } from './database.js';
import { type OnceOutcome, runOnce } from './run-once.js';
import { CREATE_COUNT, FIND_COUNTS, REMOVE_COUNT } from './statements.js';
import { textArray } from './text-array.js';

interface CountRow {
  item_id: string;
  current_value: string;
  last_updated_at: Date;
}

/**
 * PostgreSQL as the record. Changes are coalesced by the writer; creations, deletions and reads are statements of their
 * own.
 */
export class PostgresRepository implements CountValueRepository {
  readonly #database: Database;
  readonly #writer: ChangeWriter;

  constructor(database: Database, writer: ChangeWriter) {
    this.#database = database;
    this.#writer = writer;
  }

  change(itemId: string, change: Change, request?: RequestIdentity): Promise<ChangeOutcome> {
    return this.#writer.change(itemId, change, request);
  }

  async create(itemId: string, initialValue: bigint, request?: RequestIdentity): Promise<CreateOutcome> {
    const outcome = await this.#once(request, async (client) => {
      const { rows } = await client.query<CountRow>(CREATE_COUNT, [itemId, initialValue]);
      const [row] = rows;
      if (row === undefined) return { kind: 'exists', value: null, at: null };
      return { kind: 'created', value: initialValue, at: row.last_updated_at };
    });
    if (outcome.kind === 'exists') return { kind: 'exists' };
    return { kind: 'created', count: { itemId, currentValue: initialValue, lastUpdatedAt: outcome.at! } };
  }

  async remove(itemId: string, request?: RequestIdentity): Promise<RemoveOutcome> {
    const { kind } = await this.#once(request, async (client) => {
      const { rowCount } = await client.query(REMOVE_COUNT, [itemId]);
      return { kind: rowCount === 0 ? 'missing' : 'removed', value: null, at: null };
    });
    return { kind: kind === 'missing' ? 'missing' : 'removed' };
  }

  async find(itemIds: readonly string[]): Promise<CountValue[]> {
    const rows = await attempt('read', () =>
      this.#database.withConnection(async (client) => {
        const values = [textArray(itemIds)];
        return (await client.query<CountRow>({ name: 'find-counts', text: FIND_COUNTS, values })).rows;
      }),
    );
    const found = new Map(rows.map((row) => [row.item_id, row]));
    return itemIds.flatMap((itemId) => {
      const row = found.get(itemId);
      if (row === undefined) return [];
      return [{ itemId, currentValue: BigInt(row.current_value), lastUpdatedAt: row.last_updated_at }];
    });
  }

  /** A creation or deletion alone, or with a key together with the memory of it. Only keyed ones may be repeated. */
  #once(
    request: RequestIdentity | undefined,
    work: (client: ClientBase) => Promise<OnceOutcome>,
  ): Promise<OnceOutcome> {
    return attempt(request === undefined ? 'plain' : 'keyed', () =>
      this.#database.withConnection((client) =>
        request === undefined ? work(client) : runOnce(client, request, () => work(client)),
      ),
    );
  }
}
