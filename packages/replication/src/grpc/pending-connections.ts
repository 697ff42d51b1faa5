import type { Socket } from 'node:net';
import { addressOf } from './addresses.js';
import { TransportError } from './transport-error.js';

export interface PendingOptions {
  readonly maximum: number;
  readonly openingMs: number;
  onRefused(reason: TransportError, address: string): void;
  /** What may be the matter with somebody who leaves without a word. */
  readonly hint: string;
}

/**
 * Connections of which it is not known yet whether a replica is at the other end. They are few, have little time, and of each
 * that comes to nothing one reason is told. Known by their address, which is theirs alone while they live: a TLS socket
 * and the one under it have nothing else in common.
 */
export class PendingConnections {
  private readonly options: PendingOptions;
  private readonly timers = new Map<string, NodeJS.Timeout>();

  constructor(options: PendingOptions) {
    this.options = options;
  }

  /** False where there are too many: the connection is closed. */
  add(socket: Socket): boolean {
    const { maximum, openingMs } = this.options;
    const address = addressOf(socket);
    if (this.timers.size >= maximum) {
      this.options.onRefused(new TransportError('busy', `${maximum} connections are waiting already`), address);
      socket.destroy();
      return false;
    }
    const timer = setTimeout(() => {
      this.refuse(new TransportError('silent', `no stream was opened within ${openingMs} ms`), address);
      socket.destroy();
    }, openingMs);
    timer.unref();
    this.timers.set(address, timer);
    socket.once('close', () => {
      // Whoever knows more, such as HTTP/2 that could not read what came, says so now.
      setImmediate(() => {
        this.refuse(new TransportError('ended', `the other side left without a word: ${this.options.hint}`), address);
      });
    });
    return true;
  }

  /** The first reason is told, the others follow from it. */
  refuse(reason: TransportError, address: string): void {
    if (!this.timers.has(address)) return;
    this.settle(address);
    this.options.onRefused(reason, address);
  }

  /** A stream was opened. */
  settle(address: string): void {
    clearTimeout(this.timers.get(address));
    this.timers.delete(address);
  }
}
