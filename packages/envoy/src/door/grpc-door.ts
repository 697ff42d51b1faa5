import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import {
  createServer as createSecureServer,
  type SecureContextOptions,
  Server as SecureServer,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls';
import { GrpcStatus } from '@quotadb/replication/grpc';
import { Refusal } from '../deciding/refusal.js';
import { Http2Connection } from '../http2/connection.js';
import type { RequestHeaders } from '../http2/request-headers.js';
import type { Http2Stream } from '../http2/stream.js';
import {
  CALLS_LOOKED_AT,
  MAXIMUM_CALLS,
  MAXIMUM_CONNECTIONS,
  MAXIMUM_HELD_BYTES,
  MAXIMUM_LASTING_CALLS,
  MAXIMUM_NEWCOMERS,
  MESSAGE_TIMEOUT_MS,
  STOP_MS,
  SWEEP_INTERVAL_MS,
  TCP_KEEPALIVE_MS,
} from './bounds.js';
import { findFault, refusalHeaders, timeoutMsOf } from './call-headers.js';
import { HeldBytes } from './held-bytes.js';
import { LastingCall } from './lasting-call.js';
import type { Caller, Method, Methods } from './method.js';
import type { OpenCall } from './open-call.js';
import { UnaryCall } from './unary-call.js';

/** Undefined: unknown credentials; `busy`: too many logins wait. */
export type Admission = Caller | 'busy' | undefined;

export interface GrpcDoorOptions {
  readonly methods: Methods;
  /** Finds the caller of a call by its `authorization` metadata. */
  readonly admit: (authorization: string | undefined, address: string) => Admission | Promise<Admission>;
  /** Undefined: plaintext. */
  readonly tls: TlsOptions | undefined;
  readonly onError: (error: Error) => void;
  readonly maximumConnections?: number;
  /** Under way in all connections. */
  readonly maximumCalls?: number;
}

/**
 * Serves gRPC over HTTP/2. On an HTTP/2 of our own: a call over node:http2 costs more than all else that is done for it
 * (docs/decisions/0024-envoy-door.md).
 */
export class GrpcDoor {
  private readonly options: GrpcDoorOptions;
  private readonly maximumConnections: number;
  private readonly maximumCalls: number;
  private readonly server: Server;
  private readonly connections = new Set<Http2Connection>();
  /** Connections that have not spoken HTTP/2 yet, and since when. */
  private readonly silent = new Map<Http2Connection, number>();
  private readonly calls = new Set<OpenCall>();
  private readonly held = new HeldBytes(MAXIMUM_HELD_BYTES, 'calls that are not whole');
  private readonly lastingCalls = new Map<Method, number>();
  private sweeping: NodeJS.Timeout | undefined = undefined;

  constructor(options: GrpcDoorOptions) {
    const { tls, maximumConnections = MAXIMUM_CONNECTIONS, maximumCalls = MAXIMUM_CALLS } = options;
    this.options = options;
    this.maximumConnections = maximumConnections;
    this.maximumCalls = maximumCalls;
    if (tls === undefined) this.server = createServer((socket) => this.connected(socket));
    else {
      const secured = { handshakeTimeout: MESSAGE_TIMEOUT_MS, ...tls, ALPNProtocols: ['h2'] };
      this.server = createSecureServer(secured, (socket: TLSSocket) => {
        if (socket.alpnProtocol === 'h2') this.connected(socket);
        else socket.destroy();
      });
      // Node reports a handshake that takes too long, and keeps its connection.
      this.server.on('tlsClientError', (_error: Error, socket: TLSSocket) => socket.destroy());
    }
    this.server.maxConnections = this.maximumConnections + MAXIMUM_NEWCOMERS;
  }

  /** Resolves to the port. */
  listen(host: string, port: number): Promise<number> {
    const { server } = this;
    this.sweeping = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
    this.sweeping.unref();
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        server.on('error', (error) => this.options.onError(error));
        resolve((server.address() as AddressInfo).port);
      });
    });
  }

  /** For new connections. */
  setSecureContext(context: SecureContextOptions): void {
    if (this.server instanceof SecureServer) this.server.setSecureContext(context);
  }

  get connectionCount(): number {
    return this.connections.size;
  }

  /** Takes no new calls, lets open ones end, and ends those that do not. */
  async close(): Promise<void> {
    clearInterval(this.sweeping);
    if (!this.server.listening) return;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const call of this.calls) if (call instanceof LastingCall) call.end(stopping());
    for (const connection of this.connections) connection.close();
    const late = setTimeout(() => {
      for (const connection of this.connections) connection.destroy();
    }, STOP_MS);
    await closed;
    clearTimeout(late);
  }

  private connected(socket: Socket): void {
    socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
    socket.setNoDelay(true);
    const connection: Http2Connection = new Http2Connection(socket, {
      onStream: (stream, headers) => this.called(stream, headers),
      onClose: () => {
        this.connections.delete(connection);
        this.silent.delete(connection);
      },
      onError: this.options.onError,
    });
    this.connections.add(connection);
    this.silent.set(connection, performance.now());
    if (this.connections.size > this.maximumConnections) this.makeRoom();
  }

  /** Connections without calls do not keep proxies out: the one whose last call was begun first is ended. */
  private makeRoom(): void {
    let idlest: Http2Connection | undefined;
    for (const connection of this.connections)
      if (connection.isIdle && (idlest === undefined || connection.usedAtMs < idlest.usedAtMs)) idlest = connection;
    idlest?.dismiss();
  }

  private called(stream: Http2Stream, headers: RequestHeaders): void {
    const fault = findFault(headers) ?? this.findRefusal(headers);
    if (fault !== undefined) {
      stream.respondOnly(refusalHeaders(fault));
      return;
    }
    const method = this.options.methods.get(headers.path) as Method;
    const call = this.open(stream, method, timeoutMsOf(headers.timeout));
    this.admit(stream, headers, method, call);
  }

  private findRefusal({ path }: RequestHeaders): Refusal | undefined {
    const method = this.options.methods.get(path);
    if (method === undefined) return new Refusal(GrpcStatus.unimplemented, `there is no method ${path.slice(0, 200)}`);
    const isFull =
      (this.lastingCalls.get(method) ?? 0) >= MAXIMUM_LASTING_CALLS ||
      (this.calls.size >= this.maximumCalls && !this.endOneThatWaits());
    return isFull ? tooManyCalls() : undefined;
  }

  /** Calls that wait for their clients do not keep whole ones out: the oldest of them is ended. */
  private endOneThatWaits(): boolean {
    let seen = 0;
    for (const call of this.calls) {
      if (++seen > CALLS_LOOKED_AT) return false;
      if (call.waitsSinceMs === Number.POSITIVE_INFINITY) continue;
      call.refuse(tooManyCalls());
      return true;
    }
    return false;
  }

  private open(stream: Http2Stream, method: Method, timeoutMs: number | undefined): OpenCall {
    const { onError } = this.options;
    const { onClosed, held } = this;
    const call =
      method.kind === 'unary'
        ? new UnaryCall(stream, { method, timeoutMs, onError, onClosed, held })
        : new LastingCall(stream, { method, timeoutMs, onError, onClosed, held });
    this.calls.add(call);
    if (call instanceof LastingCall) this.countLasting(method, 1);
    stream.receiver = call;
    return call;
  }

  private readonly onClosed = (call: OpenCall): void => {
    this.calls.delete(call);
    if (call instanceof LastingCall) this.countLasting(call.method, -1);
  };

  private countLasting(method: Method, more: number): void {
    this.lastingCalls.set(method, (this.lastingCalls.get(method) ?? 0) + more);
  }

  private admit({ address }: Http2Stream, { authorization }: RequestHeaders, method: Method, call: OpenCall): void {
    if (method.isOpen) {
      call.begin(NOBODY);
      return;
    }
    const found = this.options.admit(authorization, address);
    if (found instanceof Promise)
      found.then(
        (admission) => enter(call, admission),
        (error: Error) => {
          this.options.onError(error);
          call.refuse(new Refusal(GrpcStatus.internal, 'the credentials could not be checked'));
        },
      );
    else enter(call, found);
  }

  /** Ends calls that wait too long for their client, and connections that never begin or do not read. */
  private sweep(): void {
    const nowMs = performance.now();
    const dueMs = nowMs - MESSAGE_TIMEOUT_MS;
    for (const [connection, sinceMs] of this.silent) {
      if (connection.hasBegun) this.silent.delete(connection);
      else if (sinceMs < dueMs) connection.destroy();
    }
    for (const connection of this.connections) connection.sweep(nowMs, dueMs);
    for (const call of this.calls) {
      if (call instanceof LastingCall) call.countReplies();
      if (call.waitsSinceMs < dueMs)
        call.refuse(
          new Refusal(
            GrpcStatus.deadlineExceeded,
            `no whole message has come, or the reply was not taken, in ${MESSAGE_TIMEOUT_MS} ms`,
          ),
        );
    }
  }
}

const NOBODY: Caller = { mayCount: () => false };

function enter(call: OpenCall, admission: Admission): void {
  if (admission === 'busy')
    call.refuse(new Refusal(GrpcStatus.resourceExhausted, 'too many logins from this address wait: try again'));
  else if (admission === undefined)
    call.refuse(
      new Refusal(GrpcStatus.unauthenticated, 'send a token or a password of a user in the metadata "authorization"'),
    );
  else call.begin(admission);
}

function tooManyCalls(): Refusal {
  return new Refusal(GrpcStatus.resourceExhausted, 'too many calls are under way: try again');
}

function stopping(): Refusal {
  return new Refusal(GrpcStatus.unavailable, 'the server is stopping');
}
