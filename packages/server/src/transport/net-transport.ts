import { createServer, type Server, type Socket } from 'node:net';
import { errors } from '../errors.js';
import { Tick, TickTimer } from '../lifecycle/tick.js';
import type { Lane } from '../session/lane.js';
import { NetConnection } from './net-connection.js';
import type { Transport } from './transport.js';

/** node:net, one thread: the main one, which does everything else too. */
export class NetTransport implements Transport {
  readonly name = 'net';
  readonly laneCount = 1;

  private readonly lane: Lane;
  private readonly server: Server;
  private readonly connections = new Set<NetConnection>();
  private ticking: TickTimer | undefined = undefined;

  constructor(lane: Lane) {
    this.lane = lane;
    // Half-open, because a client may well say goodbye before it has its last answer.
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.accept(socket));
  }

  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host, port, backlog: BACKLOG }, () => {
        this.server.removeListener('error', reject);
        // Such as EMFILE on accept: that connection is lost, the others must not be.
        this.server.on('error', () => {
          this.lane.server.statistics.connectionsRejected++;
        });
        const { engine, server } = this.lane;
        this.ticking = new TickTimer(new Tick(server, engine, { expires: true, sweep: (nowMs) => this.sweep(nowMs) }));
        const address = this.server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  /** There is one thread, and it is this one. */
  async share(): Promise<void> {}

  async close(withinMs: number): Promise<void> {
    this.server.close();
    const closed = [...this.connections].map((connection) => connection.finish());
    let timer: NodeJS.Timeout | undefined;
    const bound = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([Promise.all(closed), bound]);
    clearTimeout(timer);
    for (const connection of this.connections) connection.destroy();
    this.ticking?.stop();
  }

  private sweep(nowMs: number): void {
    for (const connection of this.connections) connection.sweep(nowMs);
  }

  private accept(socket: Socket): void {
    const { server } = this.lane;
    const { statistics, clients, config } = server;
    statistics.connectionsReceived++;
    if (clients.count >= config.maxClients) {
      statistics.connectionsRejected++;
      refuse(socket);
      return;
    }
    const connection = new NetConnection(this.lane, socket, () => this.connections.delete(connection));
    this.connections.add(connection);
  }
}

/** As long a queue as the system allows by default; a burst of clients must not be turned away while one is served. */
const BACKLOG = 511;

/** What the client already sent is read and dropped, or the error might never reach it. */
function refuse(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.resume();
  socket.end(`-${errors.maximumClients}\r\n`);
  const timer = setTimeout(() => socket.destroy(), NetConnection.LINGER_MS);
  socket.on('close', () => clearTimeout(timer));
}
