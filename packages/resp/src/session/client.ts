import { type Configuration, lacksOfClient, type User } from '@quotadb/config';
import { errors } from '../errors/errors.js';
import type { Transaction } from './transaction.js';

/** The connection of a session: a socket, or a test. */
export interface ClientConnection {
  /** Bytes of replies that the network has not taken yet. */
  readonly pendingBytes: number;
  /** Closes at once; unsent replies are lost. */
  destroy(): void;
  /** The answer that the session waits for is there: resumes it soon. */
  wake(): void;
}

/** CLIENT REPLY: whether this client gets replies. SkipNext becomes Skip for exactly one command. */
export const ReplyMode = { On: 0, Off: 1, SkipNext: 2, Skip: 3 } as const;
export type ReplyMode = (typeof ReplyMode)[keyof typeof ReplyMode];

/** The state of one connection, without its bytes: shown by CLIENT INFO and changed by CLIENT …. */
export class Client {
  readonly id: number;
  readonly address: string;
  readonly localAddress: string;
  readonly connectedAtMs: number;
  readonly connection: ClientConnection;

  /** False once either side has ended the connection. */
  isConnected = true;
  lastActiveAtMs: number;
  protocol: 2 | 3 = 2;
  name = '';
  libraryName = '';
  libraryVersion = '';
  /** Undefined until it has logged in, where it has to. */
  user: User | undefined;
  authenticated: boolean;
  /** See Need. */
  lacks: number;
  noEvict = false;
  noTouch = false;
  replyMode: ReplyMode = ReplyMode.On;
  /** Between MULTI and EXEC. */
  transaction: Transaction | undefined = undefined;
  /** While it waits for a service that need not serve a client that has gone. */
  gone: (() => void) | undefined = undefined;
  /** Waiting in a blocking command, such as WAIT. */
  blocked = false;
  /** Closed as soon as its replies are sent; no further input is read. */
  closing = false;
  /** The full name of the last command; as Redis, NULL before the first. */
  lastCommand = 'NULL';
  inputBytes = 0;
  outputBytes = 0;
  /** Bytes of a command that is not complete yet. */
  bufferedInputBytes = 0;

  constructor(options: ClientOptions) {
    this.id = options.id;
    this.address = options.address;
    this.localAddress = options.localAddress;
    this.connectedAtMs = options.nowMs;
    this.lastActiveAtMs = options.nowMs;
    this.connection = options.connection;
    this.user = options.user;
    this.authenticated = options.user !== undefined;
    this.lacks = lacksOfClient(options.user);
  }

  become(user: User | undefined): void {
    this.user = user;
    this.authenticated = user !== undefined;
    this.lacks = lacksOfClient(user);
  }

  /** Whether the connection has been silent for too long, or has not logged in in time; checked once a second. */
  isOverdue({ timeoutSeconds, loginTimeoutSeconds }: Configuration, nowMs: number): boolean {
    if (!this.authenticated && loginTimeoutSeconds > 0) {
      if (nowMs - this.connectedAtMs > loginTimeoutSeconds * 1000) return true;
    }
    return timeoutSeconds > 0 && nowMs - this.lastActiveAtMs > timeoutSeconds * 1000 && !this.blocked;
  }

  /** RESET: the state of a new connection. */
  reset(user: User | undefined): void {
    this.protocol = 2;
    this.name = '';
    this.become(user);
    this.noEvict = false;
    this.noTouch = false;
    this.replyMode = ReplyMode.On;
    this.transaction = undefined;
  }
}

export interface ClientOptions {
  readonly id: number;
  /** host:port */
  readonly address: string;
  readonly localAddress: string;
  readonly nowMs: number;
  readonly connection: ClientConnection;
  /** The user of a new connection; undefined where it has to log in. */
  readonly user: User | undefined;
}

const FIRST_PRINTABLE = 0x21;
const LAST_PRINTABLE = 0x7e;

/** Every connection keeps its names, and CLIENT LIST shows those of all. Redis has no bound. */
const MAXIMUM_NAME_BYTES = 256;

/**
 * The error reply to a name of a connection or of its library; undefined where it is valid. Names appear in lines of
 * CLIENT LIST, so they must not contain separators of fields or lines.
 */
export function nameMistake(name: Uint8Array, invalid: string): string | undefined {
  if (name.length > MAXIMUM_NAME_BYTES) return errors.clientNameTooLong(name.length, MAXIMUM_NAME_BYTES);
  return name.every((byte) => byte >= FIRST_PRINTABLE && byte <= LAST_PRINTABLE) ? undefined : invalid;
}
