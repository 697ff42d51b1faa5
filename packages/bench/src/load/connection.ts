import { connect, type Socket } from 'node:net';
import type { KeySequence } from './key-sequence.js';
import { ReplyCounter } from './reply-counter.js';
import { type Batch, copyBatch, writeKeys } from './request.js';

/** Replies are small; one buffer is enough for all connections, because each read is counted before the next. */
const RECEIVE_BYTES = 64 * 1024;
const receiveBuffer = Buffer.allocUnsafe(RECEIVE_BYTES);

export interface BatchListener {
  /** The last reply of a batch is here. */
  answered(connection: LoadConnection, batch: Batch, startedAtMs: number): void;
  failed(error: Error): void;
}

/**
 * One client connection with at most one batch in flight, which is what lets it write the next keys into the very
 * bytes it sent before.
 */
export class LoadConnection {
  readonly #socket: Socket;
  readonly #batches: readonly Batch[];
  readonly #nextKey: KeySequence;
  readonly #listener: BatchListener;
  readonly #replies = new ReplyCounter();
  #nextBatch = 0;
  #inFlight: Batch | undefined;
  #repliesLeft = 0;
  #startedAtMs = 0;
  #ended = false;

  private constructor(port: number, batches: readonly Batch[], nextKey: KeySequence, listener: BatchListener) {
    this.#batches = batches.map(copyBatch);
    this.#nextKey = nextKey;
    this.#listener = listener;
    this.#socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: { buffer: receiveBuffer, callback: (length) => this.#receive(length) },
    });
  }

  static open(port: number, batches: readonly Batch[], nextKey: KeySequence, listener: BatchListener) {
    return new Promise<LoadConnection>((resolve, reject) => {
      const connection = new LoadConnection(port, batches, nextKey, listener);
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
    const batch = this.#batches[this.#nextBatch]!;
    this.#nextBatch = this.#nextBatch + 1 === this.#batches.length ? 0 : this.#nextBatch + 1;
    writeKeys(batch, this.#nextKey);
    this.#inFlight = batch;
    this.#repliesLeft = batch.replies;
    this.#startedAtMs = startedAtMs;
    this.#socket.write(batch.bytes);
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
    const batch = this.#inFlight;
    if (this.#repliesLeft < 0 || batch === undefined) {
      this.#fail(new Error('the server sent more than it was asked for'));
      return false;
    }
    if (this.#repliesLeft === 0) {
      this.#inFlight = undefined;
      this.#listener.answered(this, batch, this.#startedAtMs);
    }
    return true;
  }

  #fail(error: Error): void {
    if (this.#ended) return;
    this.close();
    this.#listener.failed(error);
  }
}
