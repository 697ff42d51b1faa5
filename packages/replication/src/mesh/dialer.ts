import type { PeerStream } from '../grpc/peer-stream.js';
import { Backoff } from './backoff.js';
import type { DialHandlers, MeshPeer } from './grpc-network.js';

/** After a link that lasted this long the next pause is a short one again. */
const STEADY_MS = 1000;

export interface DialerOptions {
  readonly peer: MeshPeer;
  readonly dial: (peer: MeshPeer, handlers: DialHandlers) => () => void;
  /** Whether there is a link to the region, dialed from either side. */
  readonly isConnected: () => boolean;
  readonly opened: (stream: PeerStream) => void;
  readonly failed: (peer: MeshPeer, error: Error) => void;
  readonly random: () => number;
}

/**
 * Keeps trying to reach one region for as long as there is no link to it.
 *
 *   state    | until
 *   ---------|-------------------------------------------------------------------------
 *   pausing  | the pause is over; then it dials, unless the peer has dialed meanwhile
 *   dialing  | there is a stream, or an error: the next pause
 *   linked   | the stream, or the link that the peer has dialed, has ended: the next pause
 */
export class Dialer {
  readonly peer: MeshPeer;
  /** Why the last attempt failed; empty where it did not. */
  lastError = '';
  private readonly options: DialerOptions;
  private readonly backoff: Backoff;
  private timer: NodeJS.Timeout | undefined = undefined;
  private giveUp: (() => void) | undefined = undefined;
  private stream: PeerStream | undefined = undefined;
  private isStopped = false;

  constructor(options: DialerOptions) {
    this.options = options;
    this.peer = options.peer;
    this.backoff = new Backoff(options.random);
  }

  start(): void {
    this.isStopped = false;
    this.dial();
  }

  /** Called when the link to the region has begun or ended. */
  reconsider(): void {
    if (this.isStopped || this.giveUp !== undefined || this.stream !== undefined || this.timer !== undefined) return;
    if (this.options.isConnected()) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.dial();
    }, this.backoff.takePauseMs());
  }

  /** The link to the region has ended after this time. */
  disconnected(lastedMs: number): void {
    if (lastedMs >= STEADY_MS) this.backoff.reset();
    this.reconsider();
  }

  /** The stream that this dialer had opened has ended. */
  streamEnded(stream: PeerStream): void {
    if (this.stream !== stream) return;
    this.stream = undefined;
    this.reconsider();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.giveUp?.();
    this.giveUp = undefined;
  }

  private dial(): void {
    const { peer, dial, isConnected, opened, failed } = this.options;
    if (this.giveUp !== undefined || isConnected()) return;
    this.giveUp = dial(peer, {
      opened: (stream) => {
        this.giveUp = undefined;
        this.stream = stream;
        this.lastError = '';
        opened(stream);
      },
      failed: (error) => {
        this.giveUp = undefined;
        this.lastError = error.message;
        failed(peer, error);
        this.reconsider();
      },
    });
  }
}
