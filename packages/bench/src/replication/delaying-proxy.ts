import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Cleanup, undoNow } from '../machine/cleanup.js';

/** A TCP proxy to a port on this machine that delays both directions. Returns its own port. */
export async function openDelayingProxy(targetPort: number, delayMs: number, cleanup: Cleanup): Promise<number> {
  const sockets = new Set<Socket>();
  const join = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on('error', () => from.destroy());
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    from.on('data', (chunk) => setTimeout(() => to.destroyed || to.write(chunk), delayMs));
  };
  const server = createServer({ noDelay: true }, (incoming) => {
    const outgoing = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    join(incoming, outgoing);
    join(outgoing, incoming);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  cleanup.add(undoNow(close));
  return (server.address() as AddressInfo).port;
}
