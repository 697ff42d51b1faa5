import type { Change } from '../../domain/change.js';
import { CountError } from '../../domain/count-error.js';
import type { ChangeOutcome } from '../../domain/ports/count-value-repository.js';
import type { RequestIdentity } from '../../domain/request-identity.js';
import {
  CLOSE_POLL_MS,
  EXPIRY_INTERVAL_MS,
  MAX_GATHER_MS,
  MIN_PARALLEL_ITEMS,
  QUEUE_DEADLINE_MS,
  WRITER_CONNECTIONS,
} from './bounds.js';
import { ChangeQueue, type GroupedWrite } from './change-queue.js';
import type { Database } from './database.js';
import type { CountsObserver } from './observer.js';
import { failExpired } from './pending-change.js';
import { WriterConnection } from './writer-connection.js';

/**
 * Where single changes become grouped writes: changes that arrive while the connections are busy go out together in the
 * next statement. While nothing is in flight a connection takes the changes of the present turn of the event loop, so a
 * lone request does not wait. Beside a statement in flight another is sent when enough has gathered to be worth its
 * cost, or when the one in flight takes long: small statements side by side would spend the database's time on
 * everything but changes.
 */
export class ChangeWriter {
  readonly #queue = new ChangeQueue();
  readonly #connections: readonly WriterConnection[];
  /** Runs only while something waits. */
  #expiry: NodeJS.Timeout | undefined;
  #wakeUp: NodeJS.Immediate | undefined;
  /** Runs while less than a worthwhile write waits beside a statement in flight. */
  #gathering: NodeJS.Timeout | undefined;
  #lastWriteAtMs = 0;
  #closed = false;

  readonly #observer: CountsObserver | undefined;

  constructor(
    database: Database,
    onTrouble: (error: unknown) => void,
    connections = WRITER_CONNECTIONS,
    observer: CountsObserver | undefined = undefined,
  ) {
    this.#observer = observer;
    const queue = this.#queue;
    const isWorthSending = () => this.#isWorthSending();
    const take = () => this.#take();
    const options = { database, queue, isWorthSending, take, onTrouble, observer };
    this.#connections = Array.from({ length: connections }, () => new WriterConnection(options));
  }

  change(itemId: string, change: Change, request: RequestIdentity | undefined): Promise<ChangeOutcome> {
    if (this.#closed) return Promise.reject(new CountError('database_unavailable'));
    if (this.#queue.isFull) return Promise.reject(new CountError('overloaded'));
    return new Promise((succeed, fail) => {
      const deadlineMs = performance.now() + QUEUE_DEADLINE_MS;
      const caller = this.#observer?.caller();
      this.#queue.push({ itemId, change, request, deadlineMs, outcomeUnknown: false, caller, succeed, fail });
      this.#wakeUp ??= setImmediate(() => this.#wake());
      this.#expiry ??= setInterval(() => this.#expire(performance.now()), EXPIRY_INTERVAL_MS);
    });
  }

  get waiting(): number {
    return this.#queue.size;
  }

  get statementsInFlight(): number {
    return this.#connections.filter((connection) => connection.isSending).length;
  }

  /** Takes no more changes, sends those that wait, and lets the connections go. */
  async close(): Promise<void> {
    this.#closed = true;
    while (!this.#queue.isEmpty) await new Promise((resolve) => setTimeout(resolve, CLOSE_POLL_MS));
    clearInterval(this.#expiry);
    clearTimeout(this.#gathering);
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  #wake(): void {
    this.#wakeUp = undefined;
    for (const connection of this.#connections) {
      if (!connection.isIdle) continue;
      if (!this.#isWorthSending()) return;
      void connection.drain();
    }
  }

  #isWorthSending(): boolean {
    const { readyItems } = this.#queue;
    if (readyItems === 0) return false;
    if (readyItems >= MIN_PARALLEL_ITEMS) return true;
    if (this.#connections.every((connection) => !connection.isSending)) return true;
    const waitMs = this.#lastWriteAtMs + MAX_GATHER_MS - performance.now();
    if (waitMs <= 0) return true;
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      this.#wake();
    }, waitMs);
    return false;
  }

  #take(): GroupedWrite | undefined {
    const write = this.#queue.take();
    if (write === undefined) return undefined;
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#lastWriteAtMs = performance.now();
    return write;
  }

  #expire(nowMs: number): void {
    for (const pending of this.#queue.takeExpired(nowMs)) failExpired(pending);
    // Items that were given back outside a connection's turn (a locked row's pause is over) are found here at the
    // latest.
    this.#wake();
    if (!this.#queue.isEmpty) return;
    clearInterval(this.#expiry);
    this.#expiry = undefined;
  }
}
