import { lacksOfClient, type User } from '@quotadb/config';
import type { Transaction } from './transaction.js';

/** What a session asks of whatever carries its bytes: a socket, or a test. */
export interface ClientConnection {
  /** Replies handed over and not yet taken by the network. */
  readonly pendingBytes: number;
  /** Closes at once; what was not sent is lost. */
  destroy(): void;
  /** What the session waits for has come: it is resumed soon. */
  wake(): void;
}

/** CLIENT REPLY: whether this client is answered. SkipNext becomes Skip for exactly one command. */
export const ReplyMode = { On: 0, Off: 1, SkipNext: 2, Skip: 3 } as const;
export type ReplyMode = (typeof ReplyMode)[keyof typeof ReplyMode];

/** What is known of one connection, apart from the bytes it sends: what CLIENT INFO shows and CLIENT … sets. */
export class Client {
  readonly id: number;
  readonly address: string;
  readonly localAddress: string;
  readonly connectedAtMs: number;
  readonly connection: ClientConnection;

  /** False once the connection is over, whoever ended it. */
  isConnected = true;
  lastActiveAtMs: number;
  protocol: 2 | 3 = 2;
  name = '';
  libraryName = '';
  libraryVersion = '';
  /** Undefined until it has said who it is, where it must. */
  user: User | undefined;
  authenticated: boolean;
  /** See Need. */
  lacks: number;
  noEvict = false;
  noTouch = false;
  replyMode: ReplyMode = ReplyMode.On;
  /** Between MULTI and EXEC. */
  transaction: Transaction | undefined = undefined;
  /** Waiting in a command that takes its time, such as WAIT. */
  blocked = false;
  /** To be closed as soon as its replies are sent; nothing more is read from it. */
  closing = false;
  /** The full name of the last command; as Redis, NULL before the first. */
  lastCommand = 'NULL';
  inputBytes = 0;
  outputBytes = 0;
  /** Bytes of a command that has not fully arrived. */
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

  /** RESET: as if it had just connected. */
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
  /** Who it is from the beginning. */
  readonly user: User | undefined;
}
