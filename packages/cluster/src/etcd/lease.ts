/** A part of a lease that is left to clocks that run at different speeds. */
const CLOCK_MARGIN = 0.1;

/** Both of them: one does not run while the machine sleeps, the other can be set back. */
export interface Clocks {
  readonly monotonicMs: () => number;
  readonly wallMs: () => number;
  /** Returns a function that calls it off. */
  readonly after: (delayMs: number, run: () => void) => () => void;
}

export const machineClocks: Clocks = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs).unref();
    return () => clearTimeout(timer);
  },
};

/** A lease of etcd as its holder knows it: alive only while the holder's own clocks say that it must be. */
export class Lease {
  readonly id: string;
  private readonly clocks: Clocks;
  private livesUntil = { monotonicMs: 0, wallMs: 0 };
  private isLost = false;

  constructor(id: string, clocks: Clocks) {
    this.id = id;
    this.clocks = clocks;
  }

  get isAlive(): boolean {
    const { clocks, livesUntil } = this;
    return !this.isLost && clocks.monotonicMs() < livesUntil.monotonicMs && clocks.wallMs() < livesUntil.wallMs;
  }

  /** etcd has said that it lives for so long; counted from before etcd was asked. */
  extend(seconds: number, asked: { readonly monotonicMs: number; readonly wallMs: number }): void {
    const ms = seconds * 1000 * (1 - CLOCK_MARGIN);
    this.livesUntil = { monotonicMs: asked.monotonicMs + ms, wallMs: asked.wallMs + ms };
  }

  /** It never lives again: what hung on it is gone. */
  lose(): void {
    this.isLost = true;
  }
}
