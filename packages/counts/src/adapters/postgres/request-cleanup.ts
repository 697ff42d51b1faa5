import { CLEANUP_CHUNK_ROWS, CLEANUP_INTERVAL_MS, IDEMPOTENCY_WINDOW_MS } from './bounds.js';
import type { Database } from './database.js';
import { alone } from './statement.js';
import { FORGET_OLD_REQUESTS } from './statements.js';

/** Forgets idempotency keys whose window has passed, a bounded number at a time. Returns how many were forgotten. */
export async function forgetOldRequests(database: Database, windowMs = IDEMPOTENCY_WINDOW_MS): Promise<number> {
  return database.withConnection(async (client) => {
    const values = [windowMs / 1_000, CLEANUP_CHUNK_ROWS];
    const [forgotten] = await alone(client)<[count: number]>({ text: FORGET_OLD_REQUESTS, values });
    return forgotten![0];
  });
}

/** Every instance does this; they skip what another is deleting. A failure is left to the next turn. */
export class RequestCleanup {
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> = Promise.resolve();

  constructor(database: Database, windowMs = IDEMPOTENCY_WINDOW_MS) {
    this.#timer = setInterval(() => {
      if (!database.isInUse) return;
      this.#running = forgetAll(database, windowMs).catch(() => undefined);
    }, CLEANUP_INTERVAL_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }
}

async function forgetAll(database: Database, windowMs: number): Promise<void> {
  while ((await forgetOldRequests(database, windowMs)) === CLEANUP_CHUNK_ROWS);
}
