import { TcpProxy } from '@quotadb/wire/proxy';
import { vi } from 'vitest';
import { type DialOptions, dial } from '../dial.js';
import { GrpcListener, type ListenerOptions } from '../listener.js';
import type { PeerStream } from '../peer-stream.js';
import { TransportError } from '../transport-error.js';

export interface Refusal {
  readonly reason: TransportError;
  readonly address: string;
}

/** A stream with what happened on it. */
class Recorded {
  readonly stream: PeerStream;
  readonly frames: Uint8Array[] = [];
  drains = 0;
  closed: { readonly error: TransportError | undefined } | undefined = undefined;

  constructor(stream: PeerStream) {
    this.stream = stream;
    stream.onFrame = (frame) => this.frames.push(Uint8Array.from(frame));
    stream.onDrain = () => this.drains++;
    stream.onClose = (error) => {
      if (this.closed !== undefined) throw new Error('a stream is closed once');
      this.closed = { error };
    };
  }

  get receivedBytes(): number {
    return this.frames.reduce((total, frame) => total + frame.length, 0);
  }
}

/** Listeners, dialers and proxies of one test, all closed by `close`. */
export class Transports {
  readonly accepted: Recorded[] = [];
  readonly refused: Refusal[] = [];
  private readonly closing: (() => Promise<void>)[] = [];

  async listen(options: Partial<ListenerOptions> = {}): Promise<{ listener: GrpcListener; port: number }> {
    const listener = new GrpcListener({
      host: '127.0.0.1',
      port: 0,
      onStream: (stream) => this.accepted.push(new Recorded(stream)),
      onRefused: (reason, address) => this.refused.push({ reason, address }),
      ...options,
    });
    const port = await listener.listen();
    this.closing.push(() => listener.close());
    return { listener, port };
  }

  dial(port: number, options: Partial<DialOptions> = {}): Promise<Recorded> {
    return new Promise((resolve, reject) => {
      dial({
        host: '127.0.0.1',
        port,
        timeoutMs: 20_000,
        onStream: (stream) => {
          this.closing.push(async () => stream.close());
          resolve(new Recorded(stream));
        },
        onFailed: reject,
        ...options,
      });
    });
  }

  async failure(port: number, options: Partial<DialOptions> = {}): Promise<TransportError> {
    const outcome = await this.dial(port, options).catch((error: unknown) => error);
    if (outcome instanceof TransportError) return outcome;
    throw new Error('the attempt should have failed', { cause: outcome });
  }

  async proxy(port: number): Promise<TcpProxy> {
    const proxy = await TcpProxy.open(port);
    this.closing.push(() => proxy.close());
    return proxy;
  }

  async close(): Promise<void> {
    for (const close of this.closing.splice(0).reverse()) await close();
  }
}

/** Awaited, never slept for. */
export function until(condition: () => unknown): Promise<unknown> {
  return vi.waitUntil(condition, { timeout: 20_000, interval: 5 });
}
