import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** The two sockets of one connection through the proxy. */
export interface ProxiedConnection {
  readonly dialer: Socket;
  readonly listener: Socket;
}

/** One direction of all connections: how its bytes are passed on. */
class Direction {
  /** Bytes that came in. */
  received = 0;
  delayMs = 0;
  /** Called for each chunk on arrival; a chunk is dropped where it returns false. */
  filter: (chunk: Buffer, connection: ProxiedConnection) => boolean = () => true;
  #isHeld = false;
  /** In the order of arrival, so that a shorter delay overtakes no earlier bytes. */
  readonly #delayed: (() => void)[] = [];
  readonly #held: (() => void)[] = [];

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Takes all bytes and passes on none until `release`. The end of a connection is not passed on either. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    for (const write of this.#held.splice(0)) write();
  }

  pipe(from: Socket, to: Socket, connection: ProxiedConnection, isCut: () => boolean): void {
    const write = (chunk: Buffer) => isCut() || to.destroyed || to.write(chunk);
    from.on('error', () => from.destroy());
    from.on('close', () => this.#isHeld || to.destroy());
    from.on('data', (chunk: Buffer) => {
      this.received += chunk.length;
      if (isCut() || !this.filter(chunk, connection)) return;
      const pass = () => (this.#isHeld ? this.#held.push(() => write(chunk)) : write(chunk));
      if (this.delayMs === 0 && this.#delayed.length === 0) {
        pass();
        return;
      }
      this.#delayed.push(pass);
      setTimeout(() => this.#delayed.shift()?.(), this.delayMs);
    });
  }
}

/**
 * A TCP proxy on loopback that stands for a network: it can be slow, cut, or lose bytes. Its port stays while the
 * target may change. Tests use it, and `quotadb demo` cuts the links between its regions with it.
 */
export class TcpProxy {
  readonly toListener = new Direction();
  readonly toDialer = new Direction();
  /** A port on this machine, or the path of a Unix socket; 0 refuses connections. */
  target: number | string;
  /** Connections that were accepted so far. */
  connections = 0;
  readonly #server: Server;
  readonly #dialers = new Set<Socket>();
  readonly #sockets = new Set<Socket>();
  #port = 0;
  #isCut = false;

  private constructor(target: number | string) {
    this.target = target;
    this.#server = createServer({ noDelay: true }, (dialer) => this.#accept(dialer));
  }

  static async open(target: number | string = 0): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    await proxy.listen();
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  /** How long the bytes of either direction are held. */
  set delayMs(delayMs: number) {
    this.toListener.delayMs = this.toDialer.delayMs = delayMs;
  }

  /** Again, after `close`: on the port it had. */
  async listen(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** From now on all bytes are lost; connections stay open and silent. */
  cut(): void {
    this.#isCut = true;
  }

  /** Connections that were cut have lost bytes and are closed, unless the test wants them to go on. */
  heal({ keepConnections = false } = {}): void {
    this.#isCut = false;
    if (!keepConnections) this.reset();
  }

  /** Closes all connections; new ones are accepted. */
  reset(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Stops taking bytes from dialers, whose own buffers fill up. */
  stopReading(): void {
    for (const dialer of this.#dialers) dialer.pause();
  }

  resumeReading(): void {
    for (const dialer of this.#dialers) dialer.resume();
  }

  async close(): Promise<void> {
    this.reset();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(dialer: Socket): void {
    this.connections++;
    const { target } = this;
    const listener =
      typeof target === 'string' ? connect(target) : connect({ port: target, host: '127.0.0.1', noDelay: true });
    const connection = { dialer, listener };
    this.#dialers.add(dialer);
    for (const socket of [dialer, listener]) {
      this.#sockets.add(socket);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        this.#dialers.delete(dialer);
      });
    }
    const isCut = () => this.#isCut;
    this.toListener.pipe(dialer, listener, connection, isCut);
    this.toDialer.pipe(listener, dialer, connection, isCut);
  }
}
