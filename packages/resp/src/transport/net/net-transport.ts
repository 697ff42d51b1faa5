import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { errors } from '../../errors/errors.js';
import { answer } from '../../questions/answers.js';
import type { Lane } from '../../session/lane.js';
import type { QuestionName, Questions } from '../../session/questions.js';
import { Connection, type ConnectionScheduler } from '../connection.js';
import { Tick, TickTimer } from '../tick.js';
import type { CertificateSource, Transport } from '../transport.js';
import { AWAKE } from '../wake-queue.js';
import { NetSocket } from './net-socket.js';

export interface NetOptions {
  /** Whether this lane deletes expired keys. */
  readonly expires: boolean;
  /** Connections of other lanes, which count towards --max-clients too. */
  readonly othersCount: () => number;
}

const ALONE: NetOptions = { expires: true, othersCount: () => 0 };

/** node:net and node:tls, on the main thread. */
export class NetTransport implements Transport, ConnectionScheduler {
  readonly name = 'net';
  readonly laneCount = 1;

  private readonly lane: Lane;
  private readonly options: NetOptions;
  private readonly servers: Server[] = [];
  private readonly connections = new Set<Connection>();
  private readonly timers = new Map<Connection, NodeJS.Timeout>();
  private allClosed = (): void => {};
  /** Sockets of TLS, also those still in the handshake. */
  private readonly secured = new Set<Socket>();
  private ticking: TickTimer | undefined = undefined;

  constructor(lane: Lane, options: NetOptions = ALONE) {
    this.lane = lane;
    this.options = options;
  }

  listen(host: string, port: number): Promise<number> {
    // Half-open, because a client may end its half before it has its last reply.
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.accept(socket));
    return this.open(server, host, port);
  }

  listenSecurely(host: string, port: number, certificates: CertificateSource): Promise<number> {
    const options = { ...certificates.options(), allowHalfOpen: true, noDelay: true };
    const server = createTlsServer(options, (socket) => this.accept(socket));
    certificates.keepCurrent(server);
    server.on('connection', (socket: Socket) => this.boundHandshakes(socket));
    // A client without TLS, or without a certificate where one is required: only its connection is closed.
    server.on('tlsClientError', (_error, socket) => {
      this.lane.server.statistics.connectionsRejected++;
      socket.destroy();
    });
    return this.open(server, host, port);
  }

  private open(server: Server, host: string, port: number): Promise<number> {
    this.servers.push(server);
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, backlog: BACKLOG }, () => {
        server.removeListener('error', reject);
        // Such as EMFILE on accept: only that connection is lost.
        server.on('error', () => {
          this.lane.server.statistics.connectionsRejected++;
        });
        this.startTicking();
        const address = server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  // The lane runs on the main thread, whose services have changed its state already.
  async share(): Promise<void> {}
  replacePolicies(): void {}
  diskReleased(): void {}
  peersAcknowledged(): void {}

  private startTicking(): void {
    if (this.ticking !== undefined) return;
    const { engine, server } = this.lane;
    const { expires } = this.options;
    this.ticking = new TickTimer(new Tick(server, engine, { expires, sweep: (nowMs) => this.sweep(nowMs) }));
  }

  async ask<Name extends QuestionName>(
    name: Name,
    question: Questions[Name]['ask'],
  ): Promise<readonly Questions[Name]['answer'][]> {
    return [answer(this.lane.server, name, question)];
  }

  async close(withinMs: number): Promise<void> {
    for (const server of this.servers) server.close();
    for (const connection of [...this.connections]) connection.finish();
    if (this.connections.size > 0) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.allClosed = resolve;
        timer = setTimeout(resolve, withinMs);
      });
      clearTimeout(timer);
    }
    for (const connection of [...this.connections]) connection.destroy();
    for (const socket of this.secured) socket.destroy();
    this.ticking?.stop();
  }

  private sweep(nowMs: number): void {
    // The lane shares the main thread: its load is that of the whole thread.
    this.lane.server.statistics.busyMicroseconds = performance.eventLoopUtilization().active * 1000;
    for (const connection of this.connections) connection.sweep(nowMs);
  }

  /** Handshakes are costly and may never end, so they count towards --max-clients too. */
  private boundHandshakes(socket: Socket): void {
    const { statistics, config } = this.lane.server;
    if (this.secured.size + this.options.othersCount() >= config.maxClients) {
      statistics.connectionsReceived++;
      statistics.connectionsRejected++;
      socket.destroy();
      return;
    }
    this.secured.add(socket);
    socket.once('close', () => this.secured.delete(socket));
  }

  private accept(socket: Socket): void {
    const { server } = this.lane;
    const { statistics, clients, config } = server;
    statistics.connectionsReceived++;
    if (clients.count + this.options.othersCount() >= config.maxClients) {
      statistics.connectionsRejected++;
      refuse(socket);
      return;
    }
    this.connections.add(new NetSocket(this.lane, socket, this).connection);
  }

  /** Node has no rounds: replies are sent at once. */
  takeReplies(): boolean {
    return false;
  }

  onTurn(connection: Connection): void {
    this.stopTimer(connection);
    if (connection.hasTurn) return;
    connection.hasTurn = true;
    setImmediate(() => connection.resume());
  }

  onSleep(connection: Connection, wakeAtMs: number): void {
    this.stopTimer(connection);
    const delayMs = wakeAtMs - this.lane.server.clock.monotonic();
    // Such a long wait counts as one without end.
    if (delayMs > LONGEST_TIMER_MS) return;
    connection.sleepIndex = ASLEEP;
    const timer = setTimeout(() => {
      this.stopTimer(connection);
      connection.resume();
    }, delayMs);
    this.timers.set(connection, timer);
  }

  onClose(connection: Connection): void {
    this.stopTimer(connection);
    this.connections.delete(connection);
    if (this.connections.size === 0) this.allClosed();
  }

  private stopTimer(connection: Connection): void {
    connection.sleepIndex = AWAKE;
    clearTimeout(this.timers.get(connection));
    this.timers.delete(connection);
  }
}

/** The connection has a timer; there is no queue here for the index to point into. */
const ASLEEP = 0;
/** The maximum of setTimeout. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The default limit of the system: a burst of clients must not be refused while one is accepted. */
const BACKLOG = 511;

/** Input that the client has sent already is read and dropped, or the error might never reach the client. */
function refuse(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.resume();
  socket.end(`-${errors.maximumClients}\r\n`);
  const timer = setTimeout(() => socket.destroy(), Connection.LINGER_MS);
  socket.on('close', () => clearTimeout(timer));
}
