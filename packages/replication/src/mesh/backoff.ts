/** Between two attempts to reach a peer: the first pause, and the longest. Each is twice the one before. */
export const FIRST_PAUSE_MS = 100;
export const LONGEST_PAUSE_MS = 10_000;

/** How long to wait before the next attempt. Each pause is shortened at random, so that peers do not dial in step. */
export class Backoff {
  private readonly random: () => number;
  private nextMs = FIRST_PAUSE_MS;

  /** `random` is in [0, 1). */
  constructor(random: () => number) {
    this.random = random;
  }

  reset(): void {
    this.nextMs = FIRST_PAUSE_MS;
  }

  /** Between half of the pause and all of it. */
  takePauseMs(): number {
    const pauseMs = this.nextMs * (1 - this.random() / 2);
    this.nextMs = Math.min(this.nextMs * 2, LONGEST_PAUSE_MS);
    return pauseMs;
  }
}
