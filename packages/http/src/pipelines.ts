import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that may wait for their turn; a client that sends more is read no further until then. */
const MAXIMUM_WAITING = 256;

interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Pipeline {
  current: Turn | undefined;
  readonly waiting: Turn[];
  /** Called when everything before it is answered. */
  atEnd: (() => void) | undefined;
}

/**
 * The requests of a connection, one after another. node:http starts a request as soon as it is read, though those
 * before it are still at work. Here the next begins when the one before it is answered, so that nothing runs behind a
 * request or an answer that says `Connection: close` (RFC 9112, 9.6), and pipelined changes take effect in their order.
 */
export class Pipelines {
  readonly #handle: RequestListener;
  readonly #pipelines = new WeakMap<Socket, Pipeline>();

  constructor(handle: RequestListener) {
    this.#handle = handle;
  }

  readonly handle: RequestListener = (request, response) => {
    const { socket } = request;
    const pipeline = this.#pipelines.get(socket) ?? { current: undefined, waiting: [], atEnd: undefined };
    this.#pipelines.set(socket, pipeline);
    pipeline.waiting.push({ request, response });
    if (pipeline.current === undefined) this.#next(socket, pipeline);
    else if (pipeline.waiting.length >= MAXIMUM_WAITING) socket.pause();
  };

  /**
   * The rest of a connection is no HTTP: `refuse` is called once the whole requests before it are answered. A request
   * that is cut off by it is not waited for.
   */
  refuseAfter(socket: Socket, refuse: () => void): void {
    const pipeline = this.#pipelines.get(socket);
    if (pipeline === undefined) {
      refuse();
      return;
    }
    if (pipeline.waiting.at(-1)?.request.complete === false) pipeline.waiting.pop();
    if (pipeline.current === undefined || !pipeline.current.request.complete) refuse();
    else pipeline.atEnd ??= refuse;
  }

  #next(socket: Socket, pipeline: Pipeline): void {
    const turn = pipeline.waiting.shift();
    pipeline.current = turn;
    if (turn === undefined) {
      pipeline.atEnd?.();
      return;
    }
    const { request, response } = turn;
    if (socket.isPaused() && pipeline.waiting.length === MAXIMUM_WAITING - 1) socket.resume();
    response.once('close', () => {
      // node:http closes the connection behind this answer; what was read behind the request does not run.
      if (!socket.writableEnded && !socket.destroyed) this.#next(socket, pipeline);
    });
    this.#handle(request, response);
  }
}
