import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { AcceptedStream } from './accepted-stream.js';
import { addressOf } from './addresses.js';
import { LINGER_MS, MAXIMUM_PENDING_CONNECTIONS, MAXIMUM_STREAMS, OPENING_MS, WINDOW_BYTES } from './bounds.js';
import { certifiedPeer } from './certificate-words.js';
import { handshakeError, sessionError } from './connection-errors.js';
import { sessionOptions } from './http2-settings.js';
import { DEFAULT_KEEPALIVE, type KeepaliveTimes, keepAlive, SILENT } from './keepalive.js';
import type { PeerIdentity } from './peer-identity.js';
import type { PeerStream, PeerStreamOptions } from './peer-stream.js';
import { PendingConnections } from './pending-connections.js';
import { type TurnedDown, turnDown, withStatus } from './protocol.js';
import { GrpcStatus } from './status.js';
import type { TlsMaterial } from './tls-material.js';
import { ALPN_PROTOCOLS, tlsContext } from './tls-options.js';
import { TransportError } from './transport-error.js';
import { UnblockedSocket } from './unblocked-socket.js';

export interface ListenerOptions {
  readonly host: string;
  /** 0 = any that is free. */
  readonly port: number;
  /** Without it everything is in plaintext: see mayUsePlaintext. */
  readonly tls?: TlsMaterial;
  readonly windowBytes?: number;
  readonly keepalive?: KeepaliveTimes;
  readonly openingMs?: number;
  readonly maximumStreams?: number;
  readonly maximumPendingConnections?: number;
  onStream(stream: PeerStream): void;
  /** Somebody was turned away, or went away before it was known who it is. */
  onRefused(reason: TransportError, address: string): void;
}

/**
 * Waits for peers. A connection is pending until it has opened a stream and is known to be a replica's:
 *
 *   connection → (TLS, certificate) → HTTP/2 → call of Exchange → stream
 *
 * Whoever has no certificate that counts gets that far, too, and then is told why as gRPC tells it: TLS itself would
 * only hang up. Nothing but the request is read from it.
 */
export class GrpcListener {
  private readonly options: ListenerOptions;
  private readonly server: Server | TlsServer;
  private readonly pending: PendingConnections;
  private readonly connections = new Set<Socket>();
  private readonly streams = new Set<AcceptedStream>();

  constructor(options: ListenerOptions) {
    this.options = options;
    this.pending = new PendingConnections({
      maximum: options.maximumPendingConnections ?? MAXIMUM_PENDING_CONNECTIONS,
      openingMs: options.openingMs ?? OPENING_MS,
      onRefused: (reason, address) => options.onRefused(reason, address),
      hint: options.tls === undefined ? 'does it expect TLS?' : 'does it accept the certificate here?',
    });
    this.server = options.tls === undefined ? createServer() : this.secureServer(options.tls);
    this.server.on('connection', (socket: Socket) => this.connected(socket));
  }

  /** Resolves to the port. */
  listen(): Promise<number> {
    const { host, port } = this.options;
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host, port }, () => {
        this.server.off('error', reject);
        // Out of descriptors, for example. It goes on accepting when it can.
        this.server.on('error', (error) => this.options.onRefused(new TransportError('busy', error.message), host));
        resolve((this.server.address() as AddressInfo).port);
      });
    });
  }

  /** Ends every stream. Resolves when nothing is open any more. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    const ended = [...this.streams].map((stream) => stream.whenOver);
    for (const stream of this.streams) stream.close('this replica is shutting down');
    await Promise.all(ended);
    for (const socket of this.connections) {
      this.pending.settle(addressOf(socket));
      socket.destroy();
    }
    await closed;
  }

  /** For connections from now on; those that are open stay. */
  reloadTls(material: TlsMaterial): void {
    if (!('setSecureContext' in this.server)) throw new Error('a listener without TLS cannot reload certificates');
    this.server.setSecureContext(tlsContext(material));
  }

  private secureServer(material: TlsMaterial): TlsServer {
    const server = createTlsServer({
      ...tlsContext(material),
      ALPNProtocols: ALPN_PROTOCOLS,
      requestCert: true,
      // Checked by `certifiedPeer`, which can say what is wrong.
      rejectUnauthorized: false,
    });
    server.on('secureConnection', (socket) => {
      if (socket.alpnProtocol === ALPN_PROTOCOLS[0]) this.open(socket, () => certifiedPeer(socket));
      else {
        this.pending.refuse(new TransportError('tls', 'the other side speaks TLS, but not HTTP/2'), addressOf(socket));
        socket.destroy();
      }
    });
    server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      this.pending.refuse(handshakeError(error), addressOf(socket));
    });
    return server;
  }

  private connected(socket: Socket): void {
    if (!this.pending.add(socket)) return;
    socket.setNoDelay(true);
    this.connections.add(socket);
    socket.once('close', () => this.connections.delete(socket));
    if (this.options.tls === undefined) this.open(socket, () => undefined);
  }

  private open(socket: Socket, certify: () => PeerIdentity | undefined): void {
    const { windowBytes = WINDOW_BYTES, keepalive = DEFAULT_KEEPALIVE } = this.options;
    const remoteAddress = addressOf(socket);
    const unblocked = new UnblockedSocket(socket);
    const session = performServerHandshake(unblocked, sessionOptions(windowBytes));
    session.setLocalWindowSize(windowBytes);
    session.on('error', (error) => this.pending.refuse(sessionError(error), remoteAddress));
    keepAlive(session, socket, keepalive, () => session.destroy(new TransportError('silent', SILENT)));
    const answer = (stream: ServerHttp2Stream, { error, headers }: TurnedDown) => {
      this.pending.refuse(error, remoteAddress);
      answerAndLeave(session, stream, headers);
    };
    try {
      const certified = certify();
      session.on('stream', (stream, headers) => {
        const turnedDown = this.turnDown(headers);
        if (turnedDown === undefined) this.accept(session, stream, { socket: unblocked, remoteAddress, certified });
        else answer(stream, turnedDown);
      });
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      session.on('stream', (stream) => answer(stream, withStatus(GrpcStatus.unauthenticated, error)));
    }
  }

  private turnDown(headers: IncomingHttpHeaders): TurnedDown | undefined {
    const { maximumStreams = MAXIMUM_STREAMS } = this.options;
    if (this.streams.size < maximumStreams) return turnDown(headers);
    const error = new TransportError('busy', `there are ${maximumStreams} streams already`);
    return withStatus(GrpcStatus.resourceExhausted, error);
  }

  private accept(session: ServerHttp2Session, stream: ServerHttp2Stream, peer: PeerStreamOptions): void {
    this.pending.settle(peer.remoteAddress);
    const accepted = new AcceptedStream(stream, peer);
    this.streams.add(accepted);
    void accepted.whenOver.then(() => {
      this.streams.delete(accepted);
      session.close();
    });
    this.options.onStream(accepted);
  }
}

/** The answer is all there is; whoever stays on nevertheless is sent away. */
function answerAndLeave(
  session: ServerHttp2Session,
  stream: ServerHttp2Stream,
  headers: Readonly<Record<string, string | number>>,
): void {
  stream.on('error', () => {});
  stream.respond(headers, { endStream: true });
  stream.close(constants.NGHTTP2_NO_ERROR);
  session.close();
  setTimeout(() => session.destroy(), LINGER_MS).unref();
}
