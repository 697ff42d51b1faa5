import { type Change, valueAfter } from '../../domain/change.js';
import { CountError } from '../../domain/count-error.js';
import type { CountValue } from '../../domain/count-value.js';
import type {
  ChangeOutcome,
  CountValueRepository,
  CreateOutcome,
  RemoveOutcome,
} from '../../domain/ports/count-value-repository.js';
import type { RequestIdentity } from '../../domain/request-identity.js';

interface Remembered {
  readonly fingerprint: string;
  readonly outcome: unknown;
}

/** The record in memory, for unit tests of the domain and of the HTTP adapter. Remembers requests for ever. */
export class MemoryRepository implements CountValueRepository {
  readonly #counts = new Map<string, CountValue>();
  readonly #requests = new Map<string, Remembered>();
  readonly #now: () => Date;

  constructor(now: () => Date = () => new Date()) {
    this.#now = now;
  }

  async create(itemId: string, initialValue: bigint, request?: RequestIdentity): Promise<CreateOutcome> {
    return this.#once(request, () => {
      if (this.#counts.has(itemId)) return { kind: 'exists' };
      return { kind: 'created', count: this.#keep(itemId, initialValue) };
    });
  }

  async find(itemIds: readonly string[]): Promise<CountValue[]> {
    return itemIds.map((itemId) => this.#counts.get(itemId)).filter((count) => count !== undefined);
  }

  async list(prefix: string, after: string, most: number): Promise<CountValue[]> {
    return [...this.#counts.values()]
      .filter(({ itemId }) => itemId.startsWith(prefix) && Buffer.compare(Buffer.from(itemId), Buffer.from(after)) > 0)
      .sort((one, other) => Buffer.compare(Buffer.from(one.itemId), Buffer.from(other.itemId)))
      .slice(0, most);
  }

  async change(itemId: string, change: Change, request?: RequestIdentity): Promise<ChangeOutcome> {
    return this.#once(request, () => {
      const count = this.#counts.get(itemId);
      if (count === undefined) return { kind: 'missing' };
      const value = valueAfter(count.currentValue, change);
      if (value === undefined) return { kind: 'overflow' };
      this.#keep(itemId, value);
      return { kind: 'changed', value };
    });
  }

  async remove(itemId: string, request?: RequestIdentity): Promise<RemoveOutcome> {
    return this.#once(request, () => ({ kind: this.#counts.delete(itemId) ? 'removed' : 'missing' }));
  }

  #keep(itemId: string, currentValue: bigint): CountValue {
    const count = { itemId, currentValue, lastUpdatedAt: this.#now() };
    this.#counts.set(itemId, count);
    return count;
  }

  #once<Outcome>(request: RequestIdentity | undefined, work: () => Outcome): Outcome {
    if (request === undefined) return work();
    const remembered = this.#requests.get(request.key);
    if (remembered === undefined) {
      const outcome = work();
      this.#requests.set(request.key, { fingerprint: request.fingerprint, outcome });
      return outcome;
    }
    if (remembered.fingerprint !== request.fingerprint) throw new CountError('idempotency_key_reused');
    return remembered.outcome as Outcome;
  }
}
