/** What a session asks of whatever carries its bytes: a socket, or a test. */
export interface Connection {
  /** Replies handed over and not yet taken by the network. */
  readonly pendingBytes: number;
  /** Sends the replies that are still on their way, then closes. */
  end(): void;
  /** Closes at once; what was not sent is lost. */
  destroy(): void;
}

/** What is known of one connection, apart from the bytes it sends: what CLIENT INFO shows and CLIENT … sets. */
export class Client {
  readonly id: number;
  readonly address: string;
  readonly localAddress: string;
  readonly connectedAtMs: number;
  readonly connection: Connection;

  lastActiveAtMs: number;
  name = '';
  libraryName = '';
  libraryVersion = '';
  authenticated: boolean;
  noEvict = false;
  noTouch = false;
  /** Commands taken so far, and the full name of the last one. */
  commandCount = 0;
  lastCommand = 'NULL';
  inputBytesTotal = 0;
  outputBytesTotal = 0;
  /** Bytes of a command that has not fully arrived. */
  bufferedInputBytes = 0;

  constructor(options: {
    id: number;
    address: string;
    localAddress: string;
    nowMs: number;
    connection: Connection;
    authenticated: boolean;
  }) {
    this.id = options.id;
    this.address = options.address;
    this.localAddress = options.localAddress;
    this.connectedAtMs = options.nowMs;
    this.lastActiveAtMs = options.nowMs;
    this.connection = options.connection;
    this.authenticated = options.authenticated;
  }
}
