import type { Clock } from '../time/clock.js';
import type { Client } from './client.js';

/** A page that tries again and again must not fill the log. */
const REPEAT_MS = 60_000;

/** Clients that spoke HTTP or TLS to a RESP port: each is closed, one of a minute is logged. */
export class ForeignClients {
  private readonly clock: Clock;
  private readonly warn: (text: string) => void;
  private loggedAtMs = Number.NEGATIVE_INFINITY;
  private suppressed = 0;

  constructor(clock: Clock, warn: (text: string) => void) {
    this.clock = clock;
    this.warn = warn;
  }

  refuse({ address }: Client): void {
    const nowMs = this.clock.monotonic();
    if (nowMs - this.loggedAtMs < REPEAT_MS) {
      this.suppressed++;
      return;
    }
    const others = this.suppressed === 0 ? '' : ` (and ${this.suppressed} more since the last message)`;
    this.loggedAtMs = nowMs;
    this.suppressed = 0;
    this.warn(
      `possible SECURITY ATTACK detected: ${address} sent HTTP or TLS to the RESP port${others}, as a web page can ` +
        'make a browser do; the connection was closed, and nothing behind that line ran',
    );
  }
}
