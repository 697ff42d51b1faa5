import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { KEEPALIVE_INTERVAL_MS, KEEPALIVE_TIMEOUT_MS } from './bounds.js';

export interface KeepaliveTimes {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

export const DEFAULT_KEEPALIVE: KeepaliveTimes = { intervalMs: KEEPALIVE_INTERVAL_MS, timeoutMs: KEEPALIVE_TIMEOUT_MS };

export const SILENT = 'the other side has not answered for too long: it is gone, or the network is';

/**
 * Finds out that nobody is at the other end any more, which TCP by itself may not notice for hours: asks for an answer once an
 * interval. Anything that arrives is a sign of life, so that a long queue in front of the answer is none of death. Counts
 * intervals instead of looking at a clock: a process that was stopped for a while has not heard anything either.
 */
export function keepAlive(session: Http2Session, socket: Socket, times: KeepaliveTimes, onDead: () => void): void {
  const allowed = Math.max(1, Math.ceil(times.timeoutMs / times.intervalMs));
  let silent = 0;
  let bytesRead = socket.bytesRead;
  const timer = setInterval(() => {
    silent = socket.bytesRead === bytesRead ? silent + 1 : 0;
    bytesRead = socket.bytesRead;
    if (silent > allowed) {
      clearInterval(timer);
      onDead();
    } else if (!session.destroyed) session.ping(() => {});
  }, times.intervalMs);
  timer.unref();
  session.once('close', () => clearInterval(timer));
}
