import { dial } from '../grpc/dial.js';
import { GrpcListener } from '../grpc/listener.js';
import type { PeerStream } from '../grpc/peer-stream.js';
import { mayUsePlaintext } from '../grpc/plaintext.js';
import type { TlsMaterial } from '../grpc/tls-material.js';
import type { TransportError } from '../grpc/transport-error.js';

/** Where another region listens. */
export interface MeshPeer {
  readonly region: string;
  readonly host: string;
  readonly port: number;
}

export interface NetworkListener {
  stream(stream: PeerStream): void;
  /** A connection was refused before it had opened a stream. */
  refused(code: string, message: string, address: string): void;
}

export interface DialHandlers {
  /** Sets the stream's handlers before it returns. */
  opened(stream: PeerStream): void;
  /** The message is for an operator. */
  failed(error: Error): void;
}

/** From the first packet to an open stream, TLS included. */
const DIAL_TIMEOUT_MS = 10_000;

export interface GrpcNetworkOptions {
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsMaterial | undefined;
  /** Whether connections beyond this machine may do without TLS. */
  readonly allowsPlaintext: boolean;
  /** Why nothing may go without TLS at the moment; checked at every connection. */
  readonly refusesPlaintext?: (() => string | undefined) | undefined;
}

/** gRPC over HTTP/2. Connections beyond this machine use mutual TLS, unless --repl-plaintext allows plaintext. */
export class GrpcNetwork {
  private readonly options: GrpcNetworkOptions;
  private tls: TlsMaterial | undefined;
  private listener: GrpcListener | undefined = undefined;

  constructor(options: GrpcNetworkOptions) {
    this.options = options;
    this.tls = options.tls;
  }

  get isEncrypted(): boolean {
    return this.tls !== undefined;
  }

  /** Resolves to the port. */
  listen({ stream, refused }: NetworkListener): Promise<number> {
    const { host, port, allowsPlaintext } = this.options;
    if (this.tls === undefined && !mayUsePlaintext(host, allowsPlaintext)) return Promise.reject(new Error(NEEDS_TLS));
    this.listener = new GrpcListener({
      host,
      port,
      ...(this.tls && { tls: this.tls }),
      onStream: (opened) => {
        const reason = this.plaintextRefusal();
        if (reason === undefined) return stream(opened);
        refused('plaintext', reason, opened.remoteAddress);
        opened.close();
      },
      onRefused: (error: TransportError, address) => refused(error.code, error.message, address),
    });
    return this.listener.listen();
  }

  /** Calls one of the two handlers, later. Returns a function that gives the attempt up. */
  dial({ region, host, port }: MeshPeer, { opened, failed }: DialHandlers): () => void {
    if (this.tls === undefined && !mayUsePlaintext(host, this.options.allowsPlaintext)) {
      const timer = setImmediate(() => failed(new Error(NEEDS_TLS)));
      return () => clearImmediate(timer);
    }
    const reason = this.plaintextRefusal();
    if (reason !== undefined) {
      const timer = setImmediate(() => failed(new Error(reason)));
      return () => clearImmediate(timer);
    }
    return dial({
      host,
      port,
      ...(this.tls && { tls: this.tls }),
      expectedRegion: region,
      timeoutMs: DIAL_TIMEOUT_MS,
      onStream: opened,
      onFailed: failed,
    });
  }

  /** Why connections without TLS are refused now; undefined where they are not, or where there is TLS. */
  plaintextRefusal(): string | undefined {
    return this.tls === undefined ? this.options.refusesPlaintext?.() : undefined;
  }

  /** Holds for new connections; open ones stay as they are. */
  reloadTls(material: TlsMaterial): void {
    this.tls = material;
    this.listener?.reloadTls(material);
  }

  async close(): Promise<void> {
    await this.listener?.close();
  }
}

const NEEDS_TLS =
  'replication beyond this machine needs certificates (--repl-cert, --repl-key, --repl-ca), or --repl-plaintext';
