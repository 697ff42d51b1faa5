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
import { MAXIMUM_PENDING_CONNECTIONS, MAXIMUM_STREAMS, OPENING_MS } from './bounds.js';
import { handshakeError, sessionError } from './connection-errors.js';
import { closeSession, http2Settings, keepAlive, openWindow, type SessionOptions } from './http2-session.js';
import { certifiedPeer, type PeerIdentity } from './peer-identity.js';
import type { PeerStream, PeerStreamOptions } from './peer-stream.js';
import { PendingConnections } from './pending-connections.js';
import { findRejection, type Rejection, withStatus } from './protocol.js';
import { GrpcStatus } from './status.js';
import { ALPN_PROTOCOLS, type TlsMaterial, tlsContext } from './tls-material.js';
import { TransportError } from './transport-error.js';
import { UnblockedSocket } from './unblocked-socket.js';

export interface ListenerOptions extends SessionOptions {
  readonly host: string;
  /** 0 = any that is free. */
  readonly port: number;
  /** Without it everything is in plaintext: see mayUsePlaintext. */
  readonly tls?: TlsMaterial;
  readonly openingMs?: number;
  readonly maximumStreams?: number;
  readonly maximumPendingConnections?: number;
  onStream(stream: PeerStream): void;
  /** A connection was refused, or ended before it had opened a stream. */
  onRefused(reason: TransportError, address: string): void;
}

/**
 * Accepts connections of peers. A connection is pending until it has opened a stream and is known to be a replica's:
 *
 *   connection → (TLS, certificate) → HTTP/2 → call of Exchange → stream
 *
 * A peer without an accepted certificate gets as far as its call, and the reason as the status of that call: TLS alone
 * would only close the connection. Nothing but the request is read from it.
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
        // Out of descriptors, for example. The listener goes on.
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

  /** Holds for new connections; open ones stay as they are. */
  reloadTls(material: TlsMaterial): void {
    if (!('setSecureContext' in this.server)) throw new Error('a listener without TLS cannot reload certificates');
    this.server.setSecureContext(tlsContext(material));
  }

  private secureServer(material: TlsMaterial): TlsServer {
    const server = createTlsServer({
      ...tlsContext(material),
      ALPNProtocols: ALPN_PROTOCOLS,
      requestCert: true,
      // Checked by `certifiedPeer`, whose error names the reason.
      rejectUnauthorized: false,
    });
    server.on('secureConnection', (socket) => {
      if (socket.alpnProtocol === ALPN_PROTOCOLS[0]) this.open(socket, () => certifiedPeer(socket));
      else {
        this.pending.refuse(new TransportError('tls', 'the peer speaks TLS, but not HTTP/2'), addressOf(socket));
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
    const remoteAddress = addressOf(socket);
    const unblocked = new UnblockedSocket(socket);
    const session = performServerHandshake(unblocked, http2Settings(this.options));
    openWindow(session, this.options);
    session.on('error', (error) => this.pending.refuse(sessionError(error), remoteAddress));
    keepAlive(session, socket, this.options);
    const answer = (stream: ServerHttp2Stream, { error, headers }: Rejection) => {
      this.pending.refuse(error, remoteAddress);
      answerAndLeave(session, stream, headers);
    };
    try {
      const certified = certify();
      session.on('stream', (stream, headers) => {
        const rejection = this.rejectionOf(headers);
        if (rejection === undefined) this.accept(session, stream, { socket: unblocked, remoteAddress, certified });
        else answer(stream, rejection);
      });
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      session.on('stream', (stream) => answer(stream, withStatus(GrpcStatus.unauthenticated, error)));
    }
  }

  private rejectionOf(headers: IncomingHttpHeaders): Rejection | undefined {
    const { maximumStreams = MAXIMUM_STREAMS } = this.options;
    if (this.streams.size < maximumStreams) return findRejection(headers);
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

/** The response is all that the peer gets; then the connection is closed. */
function answerAndLeave(
  session: ServerHttp2Session,
  stream: ServerHttp2Stream,
  headers: Readonly<Record<string, string | number>>,
): void {
  stream.on('error', () => {});
  stream.respond(headers, { endStream: true });
  stream.close(constants.NGHTTP2_NO_ERROR);
  closeSession(session);
}
