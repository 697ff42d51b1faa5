import type { ConnectionOptions as TlsOptions } from 'node:tls';
import type { Word } from '../resp/encode.js';
import type { ReplyBuilder } from '../resp/reply-reader.js';
import type { Reply } from '../resp/values.js';

export interface ClientOptions {
  readonly host?: string;
  readonly port?: number;
  /** AUTH, on every connection. */
  readonly username?: string;
  readonly password?: string;
  /** True for a server with a certificate that the machine trusts, or the options of node:tls. */
  readonly tls?: boolean | TlsOptions;
  /** After this long without a reply a command fails with a TimeoutError; 5,000 if left out, 0 never. */
  readonly timeoutMs?: number;
  /** How long a connection may take to be made. */
  readonly connectTimeoutMs?: number;
  /** Commands that may wait for a connection or for replies; one more fails at once. */
  readonly maxPending?: number;
  /** The pause before the n-th attempt to connect again, from 1 on; undefined gives up. */
  readonly reconnectAfterMs?: (attempt: number) => number | undefined;
  /** Called when a connection fails or is lost; commands report their failures themselves. */
  readonly onConnectionError?: (error: Error) => void;
}

export interface ResolvedOptions extends ClientOptions {
  /** Commands that each connection begins with, behind AUTH; one that is refused ends it. */
  readonly greetings?: readonly (readonly Word[])[];
  /** What replies are made into; values if left out. An error must become a ReplyError. */
  readonly builder?: ReplyBuilder<Reply>;
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly maxPending: number;
  readonly reconnectAfterMs: (attempt: number) => number | undefined;
  readonly onConnectionError: (error: Error) => void;
}

const DEFAULT_PORT = 6380;
const DEFAULT_TIMEOUT_MS = 5_000;
/** A server that is this far behind only gets slower with more. */
const DEFAULT_MAX_PENDING = 100_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 2_000;

/**
 * From an address `quotadb://user:password@host:port` (`quotadbs:` for TLS; `redis:` and `rediss:` mean the same), or
 * from options.
 */
export function resolveOptions(given: string | ClientOptions = {}): ResolvedOptions {
  const options = typeof given === 'string' ? optionsOfAddress(given) : given;
  return {
    ...options,
    host: options.host ?? '127.0.0.1',
    port: options.port ?? DEFAULT_PORT,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    connectTimeoutMs: options.connectTimeoutMs ?? DEFAULT_TIMEOUT_MS,
    maxPending: options.maxPending ?? DEFAULT_MAX_PENDING,
    reconnectAfterMs: options.reconnectAfterMs ?? growingPause,
    onConnectionError: options.onConnectionError ?? (() => undefined),
  };
}

/** Twice as long each time, times a random factor, so that many clients do not come back at once. */
function growingPause(attempt: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10), LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
}

function optionsOfAddress(address: string): ClientOptions {
  const { protocol, hostname, port, username, password } = new URL(address);
  const secure = protocol === 'quotadbs:' || protocol === 'rediss:';
  if (!secure && protocol !== 'quotadb:' && protocol !== 'redis:') {
    throw new TypeError(`an address begins with quotadb: or quotadbs:, not ${protocol}`);
  }
  return {
    ...(hostname !== '' && { host: hostname.replace(/^\[(.*)\]$/, '$1') }),
    ...(port !== '' && { port: Number(port) }),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(secure && { tls: true }),
  };
}
