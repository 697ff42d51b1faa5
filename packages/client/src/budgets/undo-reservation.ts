import { ConnectionError } from '../contract/errors.js';
import type { QuotaBackend } from '../quota/quota-options.js';

/** A reservation that may have been made: its request got no answer. */
export interface DoubtfulReservation {
  readonly backend: QuotaBackend;
  readonly quota: string;
  readonly subject: string;
  readonly estimate: number;
  readonly ttlMs: number;
  readonly lapse: 'refund' | 'charge';
  readonly id: string;
}

const CALL_TIMEOUT_MS = 5_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Gives back what an unanswered request may have reserved: asked again under its id, the server names the reservation,
 * which is then settled with nothing. Without it the estimate would be missing from the budget until it lapses.
 */
export async function undoReservation(doubtful: DoubtfulReservation, deadlineMs: number): Promise<void> {
  const { backend, quota, subject, estimate, ttlMs, lapse, id } = doubtful;
  const options = { timeoutMs: CALL_TIMEOUT_MS, waitMs: 0, lapse, id };
  for (let pauseMs = FIRST_PAUSE_MS; performance.now() + pauseMs < deadlineMs; ) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    try {
      const { reservation } = await backend.quotaReserve(quota, subject, estimate, ttlMs, options);
      if (reservation !== undefined) await backend.quotaCommit(reservation, 0, { timeoutMs: CALL_TIMEOUT_MS });
      return;
    } catch (error) {
      // Any other error is the server's answer: there is no such reservation.
      if (!(error instanceof ConnectionError)) return;
    }
  }
}
