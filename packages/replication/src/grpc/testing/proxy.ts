import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** One direction of a proxied connection. */
export class Direction {
  /** What has come in so far. */
  received = 0;
  delayMs = 0;
  isHeld = false;
  private readonly waiting: Buffer[] = [];
  private to: Socket | undefined = undefined;

  pipe(from: Socket, to: Socket): void {
    this.to = to;
    from.on('data', (chunk) => {
      this.received += chunk.length;
      setTimeout(() => this.pass(chunk), this.delayMs);
    });
  }

  /** Takes everything and passes on nothing until `release`. */
  hold(): void {
    this.isHeld = true;
  }

  release(): void {
    this.isHeld = false;
    for (const chunk of this.waiting.splice(0)) this.to?.write(chunk);
  }

  private pass(chunk: Buffer): void {
    if (this.isHeld) this.waiting.push(chunk);
    else this.to?.write(chunk);
  }
}

/** A network between two ends of one machine that is as slow, or as broken, as the test likes. */
export class TcpProxy {
  readonly toListener = new Direction();
  readonly toDialer = new Direction();
  port = 0;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private dialerSide: Socket | undefined = undefined;

  private constructor(targetPort: number) {
    this.server = createServer((incoming) => {
      const outgoing = connect(targetPort, '127.0.0.1');
      this.dialerSide = incoming;
      for (const socket of [incoming, outgoing]) {
        this.sockets.add(socket);
        socket.setNoDelay(true);
        socket.on('error', () => {});
      }
      // A direction that is held does not pass on the end either.
      incoming.on('close', () => this.toListener.isHeld || outgoing.destroy());
      outgoing.on('close', () => this.toDialer.isHeld || incoming.destroy());
      this.toListener.pipe(incoming, outgoing);
      this.toDialer.pipe(outgoing, incoming);
    });
  }

  static async open(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    proxy.port = (proxy.server.address() as AddressInfo).port;
    return proxy;
  }

  /** Stops taking bytes from the dialer: its own buffers fill up. */
  stopReading(): void {
    this.dialerSide?.pause();
  }

  resumeReading(): void {
    this.dialerSide?.resume();
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
