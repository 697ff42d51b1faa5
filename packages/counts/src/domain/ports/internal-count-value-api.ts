import type { CountValue } from '../count-value.js';
import type { ChangedCount } from './external-count-update-api.js';

/** What the systems that manage counts may do. */
export interface InternalCountValueApi {
  initialize(itemId: string, initialValue: bigint, idempotencyKey?: string): Promise<CountValue>;
  get(itemId: string): Promise<CountValue>;
  /** The counts that exist among these ids, each once, in the order asked. */
  getMany(itemIds: readonly string[]): Promise<CountValue[]>;
  /** Counts whose ids begin with `prefix` and come behind `after`, in the order of their bytes, at most `most`. */
  list(prefix: string, after: string, most: number): Promise<CountValue[]>;
  update(itemId: string, value: bigint, idempotencyKey?: string): Promise<ChangedCount>;
  delete(itemId: string, idempotencyKey?: string): Promise<void>;
}
