import { errors } from '../errors/errors.js';
import type { Clock } from '../time/clock.js';
import type { Libc } from '../transport/epoll/libc.js';

const MSG_NOSIGNAL = 0x4000;
const SHUTDOWN_WRITE = 1;

/**
 * Connections beyond --max-clients. Each gets an error and is closed a little later: if it were closed at once, with
 * bytes of the client unread or on their way, the system would reset it and the client might never see the error.
 */
export class Refusals {
  /** Time for the client to read the error. */
  static readonly LINGER_MS = 200;
  /** Beyond this the oldest is closed sooner: refused connections must not use up the descriptors. */
  static readonly MAXIMUM = 64;

  private readonly libc: Libc;
  private readonly clock: Clock;
  private readonly message = Buffer.from(`-${errors.maximumClients}\r\n`);
  /** Oldest first. */
  private readonly refused: { readonly fd: number; readonly closeAtMs: number }[] = [];

  constructor(libc: Libc, clock: Clock) {
    this.libc = libc;
    this.clock = clock;
  }

  add(fd: number): void {
    this.libc.send(fd, this.message, 0, this.message.length, MSG_NOSIGNAL);
    this.libc.shutdown(fd, SHUTDOWN_WRITE);
    if (this.refused.length >= Refusals.MAXIMUM) this.closeFirst();
    this.refused.push({ fd, closeAtMs: this.clock.monotonic() + Refusals.LINGER_MS });
  }

  closeOld(): void {
    const nowMs = this.clock.monotonic();
    while (this.refused.length > 0 && this.refused[0].closeAtMs <= nowMs) this.closeFirst();
  }

  closeAll(): void {
    while (this.refused.length > 0) this.closeFirst();
  }

  private closeFirst(): void {
    const [first] = this.refused.splice(0, 1);
    this.libc.close(first.fd);
  }
}
