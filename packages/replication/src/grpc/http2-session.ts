import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import {
  KEEPALIVE_INTERVAL_MS,
  KEEPALIVE_TIMEOUT_MS,
  LINGER_MS,
  MAXIMUM_STREAMS_PER_CONNECTION,
  SESSION_MEMORY_MIB,
  WINDOW_BYTES,
} from './bounds.js';
import { TransportError } from './transport-error.js';

/** Larger than the 16 KiB of the standard: fewer, longer pieces of a batch. */
const FRAME_BYTES = 128 * 1024;
/** Ours are a few hundred. */
const HEADER_LIST_BYTES = 8 * 1024;

export interface SessionOptions {
  /** Bytes that this side is ready to receive before it has taken them. */
  readonly windowBytes?: number;
  readonly keepalive?: KeepaliveTimes;
}

export interface KeepaliveTimes {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

const DEFAULT_KEEPALIVE: KeepaliveTimes = { intervalMs: KEEPALIVE_INTERVAL_MS, timeoutMs: KEEPALIVE_TIMEOUT_MS };

/** What both sides pass to Node when they begin HTTP/2. */
export function http2Settings({ windowBytes = WINDOW_BYTES }: SessionOptions) {
  return {
    maxSessionMemory: SESSION_MEMORY_MIB,
    settings: {
      initialWindowSize: windowBytes,
      maxFrameSize: FRAME_BYTES,
      maxHeaderListSize: HEADER_LIST_BYTES,
      maxConcurrentStreams: MAXIMUM_STREAMS_PER_CONNECTION,
      enablePush: false,
    },
  };
}

export function openWindow(session: { setLocalWindowSize(bytes: number): void }, options: SessionOptions): void {
  session.setLocalWindowSize(options.windowBytes ?? WINDOW_BYTES);
}

/**
 * Destroys a session whose peer is gone, which TCP alone may not notice for hours: sends a ping once an interval. Any
 * byte that arrives counts as an answer, because pongs may wait behind a long queue. Counts intervals instead of
 * reading a clock: a process that was stopped for a while has not received anything either.
 */
export function keepAlive(
  session: Http2Session,
  socket: Socket,
  { keepalive = DEFAULT_KEEPALIVE }: SessionOptions,
): void {
  const allowed = Math.max(1, Math.ceil(keepalive.timeoutMs / keepalive.intervalMs));
  let silent = 0;
  let bytesRead = socket.bytesRead;
  const timer = setInterval(() => {
    silent = socket.bytesRead === bytesRead ? silent + 1 : 0;
    bytesRead = socket.bytesRead;
    if (silent > allowed) {
      clearInterval(timer);
      const reason = 'the peer has not answered keepalives: it is gone, or the network is';
      session.destroy(new TransportError('silent', reason));
    } else if (!session.destroyed) session.ping(() => {});
  }, keepalive.intervalMs);
  timer.unref();
  session.once('close', () => clearInterval(timer));
}

/** Closes a session in peace, and destroys it where the peer does not close it too. */
export function closeSession(session: Http2Session): void {
  session.close();
  setTimeout(() => session.destroy(), LINGER_MS).unref();
}
