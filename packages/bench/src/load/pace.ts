import type { LoadConnection } from './connection.js';

/** A timer is a millisecond late or more; closer than this to the next send, the event loop is kept turning instead. */
const TIMER_SLACK_MS = 3;
const TIMER_MS = 1;

/**
 * Begins bursts at an even pace that answers do not change, for latency at a given load. A burst that finds every
 * connection busy waits, and its latency still counts from when it was due: otherwise a server that stalls would be
 * asked less while it stalls, and look better for it ("coordinated omission").
 */
export class Pace {
  readonly #intervalMs: number;
  readonly #send: (connection: LoadConnection, dueAtMs: number) => void;
  /** Idle connections, longest idle first, so that all are used evenly. */
  readonly #idle: LoadConnection[];
  readonly #sleeps: boolean;
  #dueAtMs: number;
  #stopped = false;

  constructor(
    connections: readonly LoadConnection[],
    { intervalMs, sleeps }: { readonly intervalMs: number; readonly sleeps: boolean },
    nowMs: number,
    send: (connection: LoadConnection, dueAtMs: number) => void,
  ) {
    this.#idle = [...connections];
    this.#intervalMs = intervalMs;
    this.#sleeps = sleeps;
    this.#dueAtMs = nowMs;
    this.#send = send;
    this.#turn();
  }

  idle(connection: LoadConnection): void {
    this.#idle.push(connection);
    this.#sendDue();
  }

  /** Drops overdue bursts and goes on from now: the backlog of a cold start is not the server's. */
  restart(nowMs: number): void {
    this.#dueAtMs = nowMs;
  }

  stop(): void {
    this.#stopped = true;
  }

  readonly #turn = (): void => {
    if (this.#stopped) return;
    this.#sendDue();
    if (this.#sleeps || this.#dueAtMs - performance.now() > TIMER_SLACK_MS) setTimeout(this.#turn, TIMER_MS);
    else setImmediate(this.#turn);
  };

  #sendDue(): void {
    const nowMs = performance.now();
    while (!this.#stopped && this.#dueAtMs <= nowMs && this.#idle.length > 0) {
      this.#send(this.#idle.shift()!, this.#dueAtMs);
      this.#dueAtMs += this.#intervalMs;
    }
  }
}
