import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { hostAndPort } from './addresses.js';
import { LINGER_MS, WINDOW_BYTES } from './bounds.js';
import { certifiedPeer } from './certificate-words.js';
import { connectError, sessionError } from './connection-errors.js';
import { DialedStream } from './dialed-stream.js';
import { sessionOptions } from './http2-settings.js';
import { DEFAULT_KEEPALIVE, type KeepaliveTimes, keepAlive, SILENT } from './keepalive.js';
import type { PeerIdentity } from './peer-identity.js';
import type { PeerStream, PeerStreamOptions } from './peer-stream.js';
import { CONTENT_TYPE, EXCHANGE_PATH, isGrpc } from './protocol.js';
import { errorOfStatus } from './status.js';
import type { TlsMaterial } from './tls-material.js';
import { ALPN_PROTOCOLS, tlsContext } from './tls-options.js';
import { TransportError } from './transport-error.js';
import { UnblockedSocket } from './unblocked-socket.js';

export interface DialOptions {
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsMaterial;
  /** Whoever answers with a certificate for another region is not the one. */
  readonly expectedRegion?: string;
  /** From here to an open stream. */
  readonly timeoutMs: number;
  readonly windowBytes?: number;
  readonly keepalive?: KeepaliveTimes;
  /** Once at most; either this or `onFailed` is called, unless the attempt is cancelled. */
  onStream(stream: PeerStream): void;
  onFailed(error: TransportError): void;
}

export interface DialAttempt {
  /** Nothing more is heard of it. A stream that is open already stays. */
  cancel(): void;
}

/** One attempt to open a stream. When to try again is for others to say. */
export function dial(options: DialOptions): DialAttempt {
  const attempt = new Attempt(options);
  attempt.start();
  return attempt;
}

class Attempt implements DialAttempt {
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
            // A replica is known by the region in its certificate, not by its host; `certifiedPeer` looks at both sides alike.
            checkServerIdentity: () => undefined,
            rejectUnauthorized: false,
          });
  }

  start(): void {
    const { socket } = this;
    socket.setNoDelay(true);
    socket.on('error', (error) => this.fail(connectError(error, this.address)));
    socket.once('close', () =>
      this.fail(new TransportError('ended', `${this.address} hung up before it had answered`)),
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
    const { windowBytes = WINDOW_BYTES, keepalive = DEFAULT_KEEPALIVE, tls } = this.options;
    const scheme = tls === undefined ? 'http' : 'https';
    const socket = new UnblockedSocket(this.socket);
    const session = connect(`${scheme}://${this.address}`, {
      ...sessionOptions(windowBytes),
      createConnection: () => socket,
    });
    session.on('error', (error) => this.fail(sessionError(error)));
    session.once('connect', () => session.setLocalWindowSize(windowBytes));
    keepAlive(session, this.socket, keepalive, () => session.destroy(new TransportError('silent', SILENT)));
    const stream = session.request({
      ':method': 'POST',
      ':path': EXCHANGE_PATH,
      ':scheme': scheme,
      'content-type': CONTENT_TYPE,
      te: 'trailers',
    });
    stream.on('error', (error) => this.fail(sessionError(error)));
    stream.once('close', () => leave(session));
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

/** One stream is all that a connection is for. */
function leave(session: ClientHttp2Session): void {
  session.close();
  setTimeout(() => session.destroy(), LINGER_MS).unref();
}
