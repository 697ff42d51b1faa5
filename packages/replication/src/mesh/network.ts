import type { PeerStream } from '../grpc/peer-stream.js';

/** Where another region listens. */
export interface MeshPeer {
  readonly region: string;
  readonly host: string;
  readonly port: number;
}

/** What carries streams between regions. */
export interface Network {
  /** Resolves to the port. */
  listen(listener: NetworkListener): Promise<number>;
  /** Calls one of the two, later. Returns what gives the attempt up. */
  dial(peer: MeshPeer, handlers: DialHandlers): () => void;
  close(): Promise<void>;
}

export interface NetworkListener {
  stream(stream: PeerStream): void;
  /** Somebody was turned away before a word was said. */
  refused(code: string, message: string, address: string): void;
}

export interface DialHandlers {
  /** Sets the stream's handlers before it returns. */
  opened(stream: PeerStream): void;
  /** The message is for an operator. */
  failed(error: Error): void;
}
