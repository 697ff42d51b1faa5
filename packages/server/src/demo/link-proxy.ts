import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * The way from one region to another: a TCP proxy on a port that stays, to a server whose port changes when it starts
 * again. It can be cut, as a network is cut: nothing passes, and nobody is told.
 */
export class LinkProxy {
  port = 0;
  targetPort = 0;
  delayMs = 0;
  private isCut = false;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  private constructor() {
    this.server = createServer({ noDelay: true }, (incoming) => this.accept(incoming));
  }

  static async open(): Promise<LinkProxy> {
    const proxy = new LinkProxy();
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    proxy.port = (proxy.server.address() as AddressInfo).port;
    return proxy;
  }

  /** What is on its way is lost, and so is all that follows; connections stay open and silent. */
  cut(): void {
    this.isCut = true;
  }

  /** Connections that were cut have lost bytes and are of no use any more. */
  heal(): void {
    this.isCut = false;
    this.reset();
  }

  reset(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.reset();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private accept(incoming: Socket): void {
    const outgoing = connect({ port: this.targetPort, host: '127.0.0.1', noDelay: true });
    this.join(incoming, outgoing);
    this.join(outgoing, incoming);
  }

  private join(from: Socket, to: Socket): void {
    this.sockets.add(from);
    from.on('error', () => from.destroy());
    from.on('close', () => {
      this.sockets.delete(from);
      to.destroy();
    });
    from.on('data', (chunk) => {
      if (this.isCut) return;
      if (this.delayMs === 0) to.write(chunk);
      else setTimeout(() => this.isCut || to.destroyed || to.write(chunk), this.delayMs);
    });
  }
}
