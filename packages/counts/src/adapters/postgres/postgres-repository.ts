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
import { alone, type RunStatement } from './statement.js';
import { CREATE_COUNT, FIND_COUNTS, LIST_COUNTS, REMOVE_COUNT } from './statements.js';
import { textArray } from './text-array.js';

type CountRow = readonly [itemId: string, currentValue: string, lastUpdatedAt: Date];

/** No id has a character behind this one, so it bounds the ids that begin alike. */
const LAST_CHARACTER = '\u{10ffff}';

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
    const outcome = await this.#once(request, async (run) => {
      const [row] = await run<[createdAt: Date]>({ text: CREATE_COUNT, values: [itemId, initialValue] });
      if (row === undefined) return { kind: 'exists', value: null, at: null };
      return { kind: 'created', value: initialValue, at: row[0] };
    });
    if (outcome.kind === 'exists') return { kind: 'exists' };
    return { kind: 'created', count: { itemId, currentValue: initialValue, lastUpdatedAt: outcome.at! } };
  }

  async remove(itemId: string, request?: RequestIdentity): Promise<RemoveOutcome> {
    const { kind } = await this.#once(request, async (run) => {
      const removed = await run({ text: REMOVE_COUNT, values: [itemId] });
      return { kind: removed.length === 0 ? 'missing' : 'removed', value: null, at: null };
    });
    return { kind: kind === 'missing' ? 'missing' : 'removed' };
  }

  async find(itemIds: readonly string[]): Promise<CountValue[]> {
    const rows = await attempt('read', () =>
      this.#database.withConnection((client) =>
        alone(client)<CountRow>({ text: FIND_COUNTS, values: [textArray(itemIds)] }),
      ),
    );
    const found = new Map(rows.map((row) => [row[0], row]));
    return itemIds.flatMap((itemId) => {
      const row = found.get(itemId);
      if (row === undefined) return [];
      return [countOf(row)];
    });
  }

  async list(prefix: string, after: string, most: number): Promise<CountValue[]> {
    const values = [after, prefix, prefix + LAST_CHARACTER, most];
    const rows = await attempt('read', () =>
      this.#database.withConnection((client) => alone(client)<CountRow>({ text: LIST_COUNTS, values })),
    );
    return rows.map(countOf);
  }

  /** A creation or deletion alone, or with a key together with the memory of it. Only keyed ones may be repeated. */
  #once(request: RequestIdentity | undefined, work: (run: RunStatement) => Promise<OnceOutcome>): Promise<OnceOutcome> {
    return attempt(request === undefined ? 'plain' : 'keyed', () =>
      this.#database.withConnection((client) =>
        request === undefined ? work(alone(client)) : runOnce(client, request, work),
      ),
    );
  }
}

function countOf([itemId, currentValue, lastUpdatedAt]: CountRow): CountValue {
  return { itemId, currentValue: BigInt(currentValue), lastUpdatedAt };
}
