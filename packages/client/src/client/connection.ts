import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { ConnectionError, TimeoutError } from '../contract/errors.js';
import { encodeCommand, type Word } from '../resp/encode.js';
import { ReplyReader, ReplyType } from '../resp/reply-reader.js';
import { type Reply, valueBuilder } from '../resp/values.js';
import type { ResolvedOptions } from './options.js';
import { type Pending, PendingQueue, settle, watchSignal } from './pending-queue.js';

/**
 * One connection that is made again when it is lost.
 *
 *   state       | commands
 *   ------------|--------------------------------------------------------------------------------------
 *   connecting  | wait, at most `maxPending`, at most until their timeout
 *   ready       | those of one turn of the event loop are sent together; replies come back in order
 *   (lost)      | sent commands fail, because the server may have run them; the others go on waiting
 *   closed      | fail
 */
type State = 'connecting' | 'ready' | 'closed';

/** After this many timeouts without an answer the client gives the connection up and makes another. */
const DEAD_AFTER_TIMEOUTS = 3;
const SHORTEST_CHECK_MS = 5;

export class Connection {
  readonly #options: ResolvedOptions;
  #state: State = 'connecting';
  #socket: Socket | undefined;
  #waiting = new PendingQueue();
  #sent = new PendingQueue();
  #flushScheduled = false;
  #attempt = 0;
  #reconnectTimer: NodeJS.Timeout | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  #checkPauseMs = 0;
  #lastFailure: Error | undefined;
  #drained: (() => void) | undefined;

  constructor(options: ResolvedOptions) {
    this.#options = options;
    this.#connect();
  }

  get isReady(): boolean {
    return this.#state === 'ready';
  }

  /** The client has tried to connect, or was connected, and is not connected now. */
  get isAway(): boolean {
    return this.#state !== 'ready' && this.#attempt > 0;
  }

  send(words: readonly Word[], signal?: AbortSignal, timeoutMs: number = this.#options.timeoutMs): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (this.#state === 'closed') return reject(new ConnectionError('the client is closed', false));
      if (this.#waiting.length + this.#sent.length >= this.#options.maxPending) {
        return reject(new ConnectionError(`${this.#options.maxPending} commands are waiting already`, false));
      }
      const deadlineMs = timeoutMs > 0 ? performance.now() + timeoutMs : Number.POSITIVE_INFINITY;
      const pending: Pending = { encoded: encodeCommand(words), deadlineMs, isSettled: false, resolve, reject };
      if (signal !== undefined) watchSignal(pending, signal);
      this.#waiting.push(pending);
      if (timeoutMs > 0) this.#scheduleCheck(timeoutMs);
      if (this.#state === 'ready') this.#scheduleFlush();
    });
  }

  /** Waits for the replies to all sent commands; then, or at once if `now`, ends the connection. */
  async close(now = false): Promise<void> {
    if (this.#state === 'closed') return;
    if (!now && this.#state === 'ready') {
      this.#flush();
      if (this.#sent.length > 0) {
        await new Promise<void>((resolve) => {
          this.#drained = resolve;
        });
      }
    }
    this.#state = 'closed';
    clearTimeout(this.#reconnectTimer);
    clearTimeout(this.#checkTimer);
    this.#failSent(new ConnectionError('the client is closed', true));
    for (const pending of this.#waiting.takeAll()) settle(pending, new ConnectionError('the client is closed', false));
    this.#socket?.destroy();
  }

  #connect(): void {
    const { host, port, tls, connectTimeoutMs, builder = valueBuilder } = this.#options;
    const secure = typeof tls === 'object' ? tls : {};
    const socket = tls
      ? connectSecure({ host, port, ...(isIP(host) === 0 && { servername: host }), ...secure })
      : connectPlain({ host, port });
    this.#socket = socket;
    const reader = new ReplyReader(builder, (reply, type) => {
      if (type !== ReplyType.Push) this.#receive(reply);
    });
    socket.setNoDelay(true);
    socket.setTimeout(connectTimeoutMs, () => socket.destroy(new Error(`no connection in ${connectTimeoutMs} ms`)));
    socket.once(tls ? 'secureConnect' : 'connect', () => {
      socket.setTimeout(0);
      this.#greet();
    });
    socket.on('data', (chunk: Buffer) => {
      try {
        reader.receive(chunk);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    let failure: Error | undefined;
    socket.on('error', (error) => {
      failure = error;
    });
    socket.on('close', () => this.#lose(failure ?? new Error('the server closed the connection')));
  }

  /** Commands are sent after AUTH and the greetings have succeeded. */
  #greet(): void {
    const { username, password, greetings = [] } = this.#options;
    const login = username === undefined ? ['AUTH', password!] : ['AUTH', username, password!];
    const commands = password === undefined ? greetings : [login, ...greetings];
    if (commands.length === 0) {
      this.#becomeReady();
      return;
    }
    const socket = this.#socket!;
    for (const [index, words] of commands.entries()) {
      this.#sent.push({
        encoded: '',
        deadlineMs: performance.now() + this.#options.connectTimeoutMs,
        isSettled: false,
        resolve: () => index === commands.length - 1 && this.#becomeReady(),
        reject: (error) => socket.destroy(error),
      });
      socket.write(encodeCommand(words) as string);
    }
    this.#scheduleCheck(this.#options.connectTimeoutMs);
  }

  #becomeReady(): void {
    this.#state = 'ready';
    this.#attempt = 0;
    this.#flush();
  }

  /** At the end of this turn of the event loop, so that its commands are sent in one write. */
  #scheduleFlush(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    process.nextTick(() => {
      this.#flushScheduled = false;
      if (this.#state === 'ready') this.#flush();
    });
  }

  #flush(): void {
    const socket = this.#socket!;
    if (this.#waiting.length === 0) return;
    let text = '';
    socket.cork();
    for (let pending = this.#waiting.shift(); pending !== undefined; pending = this.#waiting.shift()) {
      if (pending.isSettled) continue;
      this.#sent.push(pending);
      if (typeof pending.encoded === 'string') {
        text += pending.encoded;
        continue;
      }
      for (const piece of pending.encoded) {
        if (typeof piece === 'string') {
          text += piece;
        } else {
          socket.write(text);
          text = '';
          socket.write(piece);
        }
      }
    }
    if (text !== '') socket.write(text);
    socket.uncork();
  }

  #receive(reply: Reply): void {
    const pending = this.#sent.shift();
    if (pending === undefined) {
      this.#socket?.destroy(new Error('the server sent a reply without a command'));
      return;
    }
    settle(pending, reply);
    if (this.#sent.length === 0) this.#drained?.();
  }

  #lose(failure: Error): void {
    if (this.#state === 'closed') return;
    this.#state = 'connecting';
    this.#lastFailure = failure;
    this.#failSent(new ConnectionError(`the connection was lost: ${failure.message}`, true, { cause: failure }));
    this.#drained?.();
    this.#options.onConnectionError(failure);
    const pauseMs = this.#options.reconnectAfterMs(++this.#attempt);
    if (pauseMs === undefined) {
      void this.close(true);
      return;
    }
    this.#reconnectTimer = setTimeout(() => this.#connect(), pauseMs);
    // A client without waiting commands does not keep its program alive.
    if (this.#waiting.length === 0) this.#reconnectTimer.unref();
  }

  #failSent(error: Error): void {
    for (const pending of this.#sent.takeAll()) settle(pending, error);
  }

  /** One timer for all commands: a timeout is noticed up to a quarter of it late. */
  #scheduleCheck(timeoutMs: number): void {
    const pauseMs = Math.max(timeoutMs / 4, SHORTEST_CHECK_MS);
    if (this.#checkTimer !== undefined && pauseMs >= this.#checkPauseMs) return;
    clearTimeout(this.#checkTimer);
    this.#checkPauseMs = pauseMs;
    // Replies that have arrived are read first: a busy program must not mistake itself for a slow server.
    this.#checkTimer = setTimeout(() => setImmediate(() => this.#checkAgain(timeoutMs)), pauseMs);
  }

  #checkAgain(timeoutMs: number): void {
    this.#checkTimer = undefined;
    if (this.#state === 'closed') return;
    this.#check();
    if (this.#waiting.length + this.#sent.length > 0) this.#scheduleCheck(timeoutMs);
  }

  #check(): void {
    const nowMs = performance.now();
    for (const pending of this.#sent) {
      if (pending.deadlineMs <= nowMs) settle(pending, new TimeoutError('no reply in time', true));
    }
    const reason = this.#lastFailure === undefined ? '' : `: ${this.#lastFailure.message}`;
    for (const pending of this.#waiting) {
      if (pending.deadlineMs <= nowMs) settle(pending, new TimeoutError(`no connection in time${reason}`, false));
    }
    if (this.#state !== 'ready') this.#dropSettled();
    const first = this.#sent.first;
    const patienceMs = this.#options.timeoutMs * (DEAD_AFTER_TIMEOUTS - 1);
    if (first !== undefined && nowMs > first.deadlineMs + patienceMs) {
      this.#socket?.destroy(new Error('the server does not answer'));
    }
  }

  /** Without a connection, no other code takes settled commands out of the queue. */
  #dropSettled(): void {
    const waiting = this.#waiting.takeAll();
    for (const pending of waiting) if (!pending.isSettled) this.#waiting.push(pending);
  }
}
