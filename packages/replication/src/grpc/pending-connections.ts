import type { Socket } from 'node:net';
import { addressOf } from './addresses.js';
import { TransportError } from './transport-error.js';

export interface PendingOptions {
  readonly maximum: number;
  readonly openingMs: number;
  onRefused(reason: TransportError, address: string): void;
  /** A possible cause where a connection ends before any request. */
  readonly hint: string;
}

/**
 * Connections that have not opened a stream yet. Their number and their time are bounded, and for each that fails one
 * reason is reported. The key is the remote address, which is unique while the connection is open: a TLS socket and the
 * socket under it have nothing else in common.
 */
export class PendingConnections {
  private readonly options: PendingOptions;
  private readonly timers = new Map<string, NodeJS.Timeout>();

  constructor(options: PendingOptions) {
    this.options = options;
  }

  /** Returns false, and closes the connection, where there are too many. */
  add(socket: Socket): boolean {
    const { maximum, openingMs } = this.options;
    const address = addressOf(socket);
    if (this.timers.size >= maximum) {
      this.options.onRefused(new TransportError('busy', `${maximum} connections are pending already`), address);
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
      // HTTP/2 may know a better reason, such as bytes that it could not read, and reports it first.
      setImmediate(() => {
        this.refuse(
          new TransportError('ended', `the peer closed the connection before any request: ${this.options.hint}`),
          address,
        );
      });
    });
    return true;
  }

  /** Only the first reason is reported: later ones follow from it. */
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
