import { type ClientHttp2Stream, connect, constants } from 'node:http2';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { hostAndPort } from './addresses.js';
import { connectError, sessionError } from './connection-errors.js';
import { DialedStream } from './dialed-stream.js';
import { closeSession, http2Settings, keepAlive, openWindow, type SessionOptions } from './http2-session.js';
import { certifiedPeer, type PeerIdentity } from './peer-identity.js';
import type { PeerStream, PeerStreamOptions } from './peer-stream.js';
import { CONTENT_TYPE, EXCHANGE_PATH, isGrpc } from './protocol.js';
import { errorOfStatus } from './status.js';
import { ALPN_PROTOCOLS, type TlsMaterial, tlsContext } from './tls-material.js';
import { TransportError } from './transport-error.js';
import { UnblockedSocket } from './unblocked-socket.js';

export interface DialOptions extends SessionOptions {
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsMaterial;
  /** A peer with a certificate for another region is refused. */
  readonly expectedRegion?: string;
  /** From the call to an open stream. */
  readonly timeoutMs: number;
  /** Once at most; either this or `onFailed` is called, unless the attempt is cancelled. */
  onStream(stream: PeerStream): void;
  onFailed(error: TransportError): void;
}

/**
 * Makes one attempt to open a stream; the mesh decides when to try again. Returns a function that gives the attempt up:
 * then neither handler is called. A stream that is open already stays.
 */
export function dial(options: DialOptions): () => void {
  const attempt = new Attempt(options);
  attempt.start();
  return () => attempt.cancel();
}

class Attempt {
  private readonly options: DialOptions;
  private readonly address: string;
  private readonly socket: Socket | TLSSocket;
  private readonly timer: NodeJS.Timeout;
  private isDecided = false;

  constructor(options: DialOptions) {
    const { host, port, tls } = options;
    this.options = options;
    this.address = hostAndPort(host, port);
    this.timer = setTimeout(() => {
      this.fail(new TransportError('unreachable', `no answer from ${this.address} within ${options.timeoutMs} ms`));
    }, options.timeoutMs);
    this.socket =
      tls === undefined
        ? connectPlain({ host, port })
        : connectTls({
            ...tlsContext(tls),
            host,
            port,
            ALPNProtocols: ALPN_PROTOCOLS,
            // A replica is known by the region in its certificate, not by its host: `certifiedPeer` checks it.
            checkServerIdentity: () => undefined,
            rejectUnauthorized: false,
          });
  }

  start(): void {
    const { socket } = this;
    socket.setNoDelay(true);
    socket.on('error', (error) => this.fail(connectError(error, this.address)));
    socket.once('close', () =>
      this.fail(new TransportError('ended', `${this.address} closed the connection before it answered`)),
    );
    if ('getPeerX509Certificate' in socket) socket.once('secureConnect', () => this.secured(socket));
    else socket.once('connect', () => this.connected(undefined));
  }

  cancel(): void {
    if (this.isDecided) return;
    this.decide();
    this.socket.destroy();
  }

  private decide(): void {
    this.isDecided = true;
    clearTimeout(this.timer);
  }

  private fail(error: TransportError): void {
    if (this.isDecided) return;
    this.decide();
    this.socket.destroy();
    this.options.onFailed(error);
  }

  private secured(socket: TLSSocket): void {
    try {
      const certified = certifiedPeer(socket);
      const { expectedRegion } = this.options;
      if (expectedRegion !== undefined && certified.region !== expectedRegion) {
        const names = `${certified.cluster}/${certified.region}`;
        const message = `the certificate at ${this.address} is that of ${names}, not of region ${expectedRegion}`;
        throw new TransportError('certificate', message);
      }
      this.connected(certified);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      this.fail(error);
    }
  }

  private connected(certified: PeerIdentity | undefined): void {
    const { options } = this;
    const scheme = options.tls === undefined ? 'http' : 'https';
    const socket = new UnblockedSocket(this.socket);
    const session = connect(`${scheme}://${this.address}`, {
      ...http2Settings(options),
      createConnection: () => socket,
    });
    session.on('error', (error) => this.fail(sessionError(error)));
    session.once('connect', () => openWindow(session, options));
    keepAlive(session, this.socket, options);
    const stream = session.request({
      ':method': 'POST',
      ':path': EXCHANGE_PATH,
      ':scheme': scheme,
      'content-type': CONTENT_TYPE,
      te: 'trailers',
    });
    stream.on('error', (error) => this.fail(sessionError(error)));
    // A connection carries one stream.
    stream.once('close', () => closeSession(session));
    stream.once('response', (headers) => {
      const error = this.findFault(headers);
      if (error === undefined) this.opened(stream, { socket, remoteAddress: this.address, certified });
      else this.fail(error);
    });
  }

  private findFault(headers: { readonly [name: string]: unknown }): TransportError | undefined {
    const status = headers[constants.HTTP2_HEADER_STATUS];
    if (status !== 200 || !isGrpc(String(headers['content-type']))) {
      return new TransportError('protocol', `${this.address} is not a replica: it answered with HTTP status ${status}`);
    }
    if (!('grpc-status' in headers)) return undefined;
    const error = errorOfStatus(headers);
    return new TransportError(
      error?.code ?? 'ended',
      `${this.address} turned this replica away: ${error?.message ?? 'it ended the stream at once'}`,
    );
  }

  private opened(stream: ClientHttp2Stream, options: PeerStreamOptions): void {
    if (this.isDecided) return;
    this.decide();
    this.options.onStream(new DialedStream(stream, options));
  }
}
