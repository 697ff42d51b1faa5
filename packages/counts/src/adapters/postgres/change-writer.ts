import type { Change } from '../../domain/change.js';
import { CountError } from '../../domain/count-error.js';
import type { ChangeOutcome } from '../../domain/ports/count-value-repository.js';
import type { RequestIdentity } from '../../domain/request-identity.js';
import { CHANGE_LANES, CLOSE_POLL_MS, EXPIRY_INTERVAL_MS, QUEUE_DEADLINE_MS } from './bounds.js';
import { ChangeLane } from './change-lane.js';
import { ChangeQueue } from './change-queue.js';
import type { Database } from './database.js';
import { failExpired } from './pending-change.js';

/**
 * Where single changes become batches: whatever arrives while the lanes are busy goes out together in the next statement.
 * An idle lane takes what the present turn of the event loop brings, so a lone request waits for nobody.
 */
export class ChangeWriter {
  readonly #queue = new ChangeQueue();
  readonly #lanes: readonly ChangeLane[];
  /** Runs only while something waits. */
  #expiry: NodeJS.Timeout | undefined;
  #wakeUp: NodeJS.Immediate | undefined;
  #closed = false;

  constructor(database: Database, onTrouble: (error: unknown) => void, lanes = CHANGE_LANES) {
    this.#lanes = Array.from({ length: lanes }, () => new ChangeLane(database, this.#queue, onTrouble));
  }

  change(itemId: string, change: Change, request: RequestIdentity | undefined): Promise<ChangeOutcome> {
    if (this.#closed) return Promise.reject(new CountError('database_unavailable'));
    if (this.#queue.isFull) return Promise.reject(new CountError('overloaded'));
    return new Promise((succeed, fail) => {
      const deadlineMs = performance.now() + QUEUE_DEADLINE_MS;
      this.#queue.push({ itemId, change, request, deadlineMs, outcomeUnknown: false, succeed, fail });
      this.#wakeUp ??= setImmediate(() => this.#wake());
      this.#expiry ??= setInterval(() => this.#expire(performance.now()), EXPIRY_INTERVAL_MS);
    });
  }

  /** Takes no more changes, sends those that wait, and lets the connections go. */
  async close(): Promise<void> {
    this.#closed = true;
    while (!this.#queue.isEmpty) await new Promise((resolve) => setTimeout(resolve, CLOSE_POLL_MS));
    clearInterval(this.#expiry);
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }

  #wake(): void {
    this.#wakeUp = undefined;
    for (const lane of this.#lanes) {
      if (!this.#queue.hasReady) return;
      if (lane.isIdle) void lane.drain();
    }
  }

  #expire(nowMs: number): void {
    for (const pending of this.#queue.takeExpired(nowMs)) failExpired(pending);
    // Items that were given back outside a lane's turn (a locked row's pause is over) are found here at the latest.
    this.#wake();
    if (!this.#queue.isEmpty) return;
    clearInterval(this.#expiry);
    this.#expiry = undefined;
  }
}
