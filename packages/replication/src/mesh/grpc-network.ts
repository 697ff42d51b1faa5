import { dial } from '../grpc/dial.js';
import { GrpcListener } from '../grpc/listener.js';
import { mayUsePlaintext } from '../grpc/plaintext.js';
import type { TlsMaterial } from '../grpc/tls-material.js';
import type { TransportError } from '../grpc/transport-error.js';
import type { DialHandlers, MeshPeer, Network, NetworkListener } from './network.js';

/** From the first packet to an open stream, TLS included. */
const DIAL_TIMEOUT_MS = 10_000;

export interface GrpcNetworkOptions {
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsMaterial | undefined;
  /** Also beyond this machine. */
  readonly allowsPlaintext: boolean;
}

/** gRPC over HTTP/2, with mutual TLS wherever anything leaves the machine, unless somebody has said otherwise. */
export class GrpcNetwork implements Network {
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

  listen({ stream, refused }: NetworkListener): Promise<number> {
    const { host, port, allowsPlaintext } = this.options;
    if (this.tls === undefined && !mayUsePlaintext(host, allowsPlaintext)) return Promise.reject(new Error(NEEDS_TLS));
    this.listener = new GrpcListener({
      host,
      port,
      ...(this.tls && { tls: this.tls }),
      onStream: stream,
      onRefused: (error: TransportError, address) => refused(error.code, error.message, address),
    });
    return this.listener.listen();
  }

  dial({ region, host, port }: MeshPeer, { opened, failed }: DialHandlers): () => void {
    if (this.tls === undefined && !mayUsePlaintext(host, this.options.allowsPlaintext)) {
      const timer = setImmediate(() => failed(new Error(NEEDS_TLS)));
      return () => clearImmediate(timer);
    }
    const attempt = dial({
      host,
      port,
      ...(this.tls && { tls: this.tls }),
      expectedRegion: region,
      timeoutMs: DIAL_TIMEOUT_MS,
      onStream: opened,
      onFailed: failed,
    });
    return () => attempt.cancel();
  }

  /** For connections from now on; those that are open stay. */
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
