import type { Socket } from 'node:net';
import { type PlainRequest, PlainRequestReader } from './plain-request.js';

/**
 * Answers that may be outstanding on one connection; a client that sends more at once is read no further until then.
 */
const MAX_PIPELINED = 256;

export interface FastConnectionOptions {
  /** Promises the whole response, headers included; undefined: not for the fast path. */
  readonly answer: (request: PlainRequest) => Promise<string> | undefined;
  /** Gives the connection to node:http until it ends. */
  readonly handOver: (socket: Socket) => void;
  readonly firstRequestTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

interface Slot {
  response: string | undefined;
}

/** A connection on which only plain requests have been seen so far. Answers leave in the order of their requests. */
export class FastConnection {
  readonly #socket: Socket;
  readonly #options: FastConnectionOptions;
  readonly #reader = new PlainRequestReader();
  readonly #slots: Slot[] = [];
  /** The bytes that node:http gets once the last answer is out. */
  #rest: Buffer | undefined;
  #ending = false;

  constructor(socket: Socket, options: FastConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.setNoDelay(true);
    socket.setTimeout(options.firstRequestTimeoutMs);
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('drain', this.#onDrain);
    socket.on('timeout', this.#onTimeout);
    socket.on('error', this.#onError);
  }

  /** Ends the connection when it has been answered. */
  close(): void {
    this.#ending = true;
    if (this.#slots.length === 0) this.#socket.destroySoon();
    else this.#socket.pause();
  }

  readonly #onData = (chunk: Buffer): void => {
    // The socket restarts its own timer at every read and write; only the length changes after the first request.
    if (this.#socket.timeout !== this.#options.idleTimeoutMs) this.#socket.setTimeout(this.#options.idleTimeoutMs);
    const text = chunk.toString('latin1');
    for (let start = 0; start < text.length; ) {
      const request = this.#reader.read(text, start);
      const answer = request === undefined ? undefined : this.#options.answer(request);
      if (request === undefined || answer === undefined) {
        this.#leave(chunk.subarray(start));
        return;
      }
      const slot: Slot = { response: undefined };
      this.#slots.push(slot);
      void answer.then((response) => {
        slot.response = response;
        this.#flush();
      });
      start = request.end;
    }
    if (this.#slots.length >= MAX_PIPELINED) this.#socket.pause();
  };

  #flush(): void {
    if (this.#slots[0]?.response === undefined || this.#socket.destroyed) return;
    let output = '';
    while (this.#slots[0]?.response !== undefined) output += this.#slots.shift()!.response;
    const keepsUp = this.#socket.write(output, 'latin1');
    if (this.#slots.length > 0) return;
    if (this.#rest !== undefined) this.#handOver(this.#rest);
    else if (this.#ending) this.#socket.destroySoon();
    else if (keepsUp && this.#socket.isPaused()) this.#socket.resume();
    if (!keepsUp) this.#socket.pause();
  }

  #leave(rest: Buffer): void {
    this.#socket.pause();
    if (this.#slots.length === 0) this.#handOver(rest);
    else this.#rest = rest;
  }

  #handOver(rest: Buffer): void {
    const socket = this.#socket;
    socket.off('data', this.#onData);
    socket.off('end', this.#onEnd);
    socket.off('drain', this.#onDrain);
    socket.off('timeout', this.#onTimeout);
    socket.setTimeout(0);
    socket.unshift(rest);
    this.#options.handOver(socket);
    socket.off('error', this.#onError);
    socket.resume();
  }

  readonly #onEnd = (): void => {
    this.#ending = true;
    if (this.#slots.length === 0) this.#socket.destroySoon();
  };

  readonly #onDrain = (): void => {
    if (this.#slots.length < MAX_PIPELINED && this.#rest === undefined && !this.#ending) this.#socket.resume();
  };

  readonly #onTimeout = (): void => {
    if (this.#slots.length === 0) this.#socket.destroy();
  };

  readonly #onError = (): void => {
    this.#socket.destroy();
  };
}
