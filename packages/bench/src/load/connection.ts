import { connect, type Socket } from 'node:net';
import type { KeySequence } from './key-sequence.js';
import { ReplyCounter } from './reply-counter.js';
import { type Burst, copyBurst, writeKeys } from './request.js';

/** Replies are small; one buffer is enough for all connections, because each read is counted before the next. */
const RECEIVE_BYTES = 64 * 1024;
const receiveBuffer = Buffer.allocUnsafe(RECEIVE_BYTES);

export interface BurstListener {
  /** The last reply of a burst is here. */
  answered(connection: LoadConnection, burst: Burst, startedAtMs: number): void;
  failed(error: Error): void;
}

/**
 * One client connection with at most one burst in flight, which is what lets it write the next keys into the very
 * bytes it sent before.
 */
export class LoadConnection {
  readonly #socket: Socket;
  readonly #bursts: readonly Burst[];
  readonly #nextKey: KeySequence;
  readonly #listener: BurstListener;
  readonly #replies = new ReplyCounter();
  #nextBurst = 0;
  #inFlight: Burst | undefined;
  #repliesLeft = 0;
  #startedAtMs = 0;
  #ended = false;

  private constructor(port: number, bursts: readonly Burst[], nextKey: KeySequence, listener: BurstListener) {
    this.#bursts = bursts.map(copyBurst);
    this.#nextKey = nextKey;
    this.#listener = listener;
    this.#socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: { buffer: receiveBuffer, callback: (length) => this.#receive(length) },
    });
  }

  static open(port: number, bursts: readonly Burst[], nextKey: KeySequence, listener: BurstListener) {
    return new Promise<LoadConnection>((resolve, reject) => {
      const connection = new LoadConnection(port, bursts, nextKey, listener);
      const socket = connection.#socket;
      socket.once('connect', () => {
        socket.off('error', reject);
        socket.on('error', (error) => connection.#fail(error));
        socket.on('close', () => connection.#fail(new Error('the server closed a connection')));
        resolve(connection);
      });
      socket.once('error', reject);
    });
  }

  /** `startedAtMs` is what the latency counts from: the moment of sending, or when it was due. */
  send(startedAtMs: number): void {
    const burst = this.#bursts[this.#nextBurst]!;
    this.#nextBurst = this.#nextBurst + 1 === this.#bursts.length ? 0 : this.#nextBurst + 1;
    writeKeys(burst, this.#nextKey);
    this.#inFlight = burst;
    this.#repliesLeft = burst.replies;
    this.#startedAtMs = startedAtMs;
    this.#socket.write(burst.bytes);
  }

  close(): void {
    this.#ended = true;
    this.#socket.destroy();
  }

  #receive(length: number): boolean {
    try {
      this.#repliesLeft -= this.#replies.count(receiveBuffer, length);
    } catch (error) {
      this.#fail(error as Error);
      return false;
    }
    if (this.#replies.errors > 0) {
      this.#fail(new Error(`the server answered with an error: ${this.#replies.firstError}`));
      return false;
    }
    const burst = this.#inFlight;
    if (this.#repliesLeft < 0 || burst === undefined) {
      this.#fail(new Error('the server sent more replies than it got commands'));
      return false;
    }
    if (this.#repliesLeft === 0) {
      this.#inFlight = undefined;
      this.#listener.answered(this, burst, this.#startedAtMs);
    }
    return true;
  }

  #fail(error: Error): void {
    if (this.#ended) return;
    this.close();
    this.#listener.failed(error);
  }
}
