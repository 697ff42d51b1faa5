import { type Configuration, lacksOfClient, Need, type User } from '@quotadb/config';
import { errors } from '../errors/errors.js';
import type { CommandEntry } from './command-index.js';
import type { Feed } from './monitors.js';
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

/** The input that may wait behind a login: the smallest client-query-buffer-limit. */
const UNAUTHENTICATED_INPUT_BYTES = 1024 * 1024;

/** After a SELECT that was refused: a program that did not notice would use the keys of another database. */
export const NO_DATABASE = -1;

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
  /** The bits of `lacks` that do not come from the user. */
  private states = 0;
  private selected = 0;
  noEvict = false;
  noTouch = false;
  replyMode: ReplyMode = ReplyMode.On;
  /** Between MULTI and EXEC. */
  transaction: Transaction | undefined = undefined;
  /** It knows of slots: it is redirected to the owner of a key, and its commands are not carried there. */
  isRedirected = false;
  /** The slot of its last command that named keys of this node, and that command's full name. Only in a cluster. */
  slot = -1;
  slotCommand = '';
  /** A command of it has begun and waits, or waits to begin. */
  isWaiting = false;
  /** It is another node of the cluster, which carries commands of clients here. */
  isNode = false;
  /** Ends a MONITOR. */
  stopMonitoring: (() => void) | undefined = undefined;
  /** Commands of other clients, to be sent to this one. */
  feed: Feed | undefined = undefined;
  /** Its next command waits for the end of a CLIENT PAUSE. */
  isPostponed = false;
  /** CLIENT UNBLOCK … ERROR has ended its wait. */
  unblocked = false;
  /** While it waits for a service that need not serve a client that has gone. */
  gone: (() => void) | undefined = undefined;
  /** Waiting in a blocking command, such as WAIT. */
  blocked = false;
  /** Closed as soon as its replies are sent; no further input is read. */
  closing = false;
  lastEntry: CommandEntry | undefined = undefined;
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

  /** The full name of the last command; as Redis, NULL before the first. */
  get lastCommand(): string {
    return this.lastEntry?.fullName ?? 'NULL';
  }

  become(user: User | undefined): void {
    this.user = user;
    this.authenticated = user !== undefined;
    this.lacks = lacksOfClient(user) | this.states;
  }

  /** The selected database; NO_DATABASE after a SELECT that was refused. */
  get database(): number {
    return this.selected;
  }

  set database(number: number) {
    this.selected = number;
    this.setState(Need.database, number !== 0);
  }

  /** Enters or leaves a state that some commands have to look at; see Need. */
  setState(bit: number, isIn: boolean): void {
    this.states = isIn ? this.states | bit : this.states & ~bit;
    this.lacks = lacksOfClient(this.user) | this.states;
  }

  /** Whether the connection has been silent for too long, or has not logged in in time; checked once a second. */
  isOverdue({ timeoutSeconds, loginTimeoutSeconds }: Configuration, nowMs: number): boolean {
    if (!this.authenticated && loginTimeoutSeconds > 0) {
      if (nowMs - this.connectedAtMs > loginTimeoutSeconds * 1000) return true;
    }
    return timeoutSeconds > 0 && nowMs - this.lastActiveAtMs > timeoutSeconds * 1000 && !this.blocked;
  }

  /** The bytes of unfinished commands that it may send. */
  inputLimitBytes({ queryBufferLimitBytes }: Configuration): number {
    return this.authenticated ? queryBufferLimitBytes : Math.min(queryBufferLimitBytes, UNAUTHENTICATED_INPUT_BYTES);
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
    this.isRedirected = false;
    this.isNode = false;
    this.database = 0;
    this.stopMonitoring?.();
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
