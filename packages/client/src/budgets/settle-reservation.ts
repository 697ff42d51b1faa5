import { ConnectionError } from '../contract/errors.js';
import type { QuotaSettlement } from '../contract/quota.js';
import type { QuotaBackend } from '../quota/quota-options.js';

export interface Unsettled {
  readonly backend: QuotaBackend;
  readonly quota: string;
  readonly subject: string;
  readonly reservation: string;
  /** What the server does with a reservation that is never settled. */
  readonly lapse: 'refund' | 'charge';
  readonly estimate: number;
}

const CALL_TIMEOUT_MS = 5_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5_000;
/** The server's words for a reservation that has lapsed, or that it lost with its memory. */
const GONE = /no such reservation/;

/**
 * Charges the actual cost, exactly once: a commit that got no reply is sent again, and the server answers a repeated
 * commit with the first settlement. Undefined where the server could not be reached until the deadline; then the
 * reservation lapses there.
 */
export async function settleReservation(
  unsettled: Unsettled,
  actual: number,
  deadlineMs: number,
): Promise<QuotaSettlement | undefined> {
  let isGone = false;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      if (isGone) return await chargeAnew(unsettled, actual);
      return await unsettled.backend.quotaCommit(unsettled.reservation, actual, { timeoutMs: CALL_TIMEOUT_MS });
    } catch (error) {
      isGone ||= !(error instanceof ConnectionError) && GONE.test((error as Error).message);
      if (isGone && actual === 0) return { charged: 0, uncharged: 0 };
      if (isGone && unsettled.lapse === 'charge') return { charged: unsettled.estimate, uncharged: 0 };
      if (performance.now() + pauseMs >= deadlineMs) return undefined;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Under an id made from the reservation's, so that a repetition is free. */
async function chargeAnew({ backend, quota, subject, reservation }: Unsettled, actual: number) {
  try {
    const id = `settle ${reservation}`;
    const { allowed } = await backend.quotaTake(quota, subject, actual, { id, timeoutMs: CALL_TIMEOUT_MS, waitMs: 0 });
    return allowed ? { charged: actual, uncharged: 0 } : { charged: 0, uncharged: actual };
  } catch (error) {
    // A cost above the limit could never be charged.
    if (error instanceof ConnectionError) throw error;
    return { charged: 0, uncharged: actual };
  }
}
