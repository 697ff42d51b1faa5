import { constants, type Http2Stream } from 'node:http2';
import { LINGER_MS, MAXIMUM_QUEUE_BYTES, QUEUE_BYTES } from './bounds.js';
import { sessionError } from './connection-errors.js';
import { MessageError, MessageReader, PREFIX_BYTES } from './message-reader.js';
import { Outbox } from './outbox.js';
import type { PeerIdentity } from './peer-identity.js';
import { GrpcStatus } from './status.js';
import { TransportError } from './transport-error.js';
import type { UnblockedSocket } from './unblocked-socket.js';

/** One stream of frames to one peer, in both directions. Its first owner sets the three handlers at once. */
export interface PeerStream {
  readonly remoteAddress: string;
  /** This side has opened it. */
  readonly isDialed: boolean;
  /** The replica that the peer's certificate names; undefined without TLS. */
  readonly certified: PeerIdentity | undefined;
  /** False while more than QUEUE_BYTES wait to be sent. */
  readonly isWritable: boolean;
  readonly bytesSent: number;
  readonly bytesReceived: number;
  onFrame: (frame: Uint8Array) => void;
  /** It is writable again. */
  onDrain: () => void;
  /** Called once, and last. Without an error where either side closed the stream normally. */
  onClose: (error?: TransportError) => void;
  /** The frame is copied. */
  send(frame: Uint8Array): void;
  /** Ends the stream after the frames sent so far. From here on nothing is received. The peer gets the reason. */
  close(reason?: string): void;
}

export interface PeerStreamOptions {
  readonly socket: UnblockedSocket;
  readonly remoteAddress: string;
  readonly certified: PeerIdentity | undefined;
}

/** What both sides share; how a stream ends differs. */
export abstract class Http2PeerStream implements PeerStream {
  readonly remoteAddress: string;
  readonly certified: PeerIdentity | undefined;
  abstract readonly isDialed: boolean;
  bytesSent = 0;
  bytesReceived = 0;
  onFrame: (frame: Uint8Array) => void = () => {};
  onDrain: () => void = () => {};
  onClose: (error?: TransportError) => void = () => {};

  /** Resolves after `onClose`. */
  readonly whenOver: Promise<void>;
  protected readonly stream: Http2Stream;
  private readonly socket: UnblockedSocket;
  private readonly reader: MessageReader;
  private readonly outbox = new Outbox();
  /** In the outbox, or written to HTTP/2 and not sent yet. */
  private queuedBytes = 0;
  private isFlushDue = false;
  private isFull = false;
  private isEnding = false;
  private isClosedHere = false;
  private isOver = false;
  private error: TransportError | undefined = undefined;
  private linger: NodeJS.Timeout | undefined = undefined;

  constructor(stream: Http2Stream, options: PeerStreamOptions) {
    this.stream = stream;
    this.socket = options.socket;
    this.remoteAddress = options.remoteAddress;
    this.certified = options.certified;
    this.reader = new MessageReader((frame) => this.onFrame(frame));
    stream.on('data', (chunk: Uint8Array) => this.receive(chunk));
    stream.on('end', () => this.ended());
    stream.on('error', (error: Error) => this.note(sessionError(error)));
    const stop = options.socket.onFlushed(() => this.drain());
    this.whenOver = new Promise((resolve) => {
      stream.on('close', () => {
        stop();
        // An error that came before this says more.
        if (stream.aborted) this.note(new TransportError('ended', 'the peer has closed the connection'));
        this.over();
        resolve();
      });
    });
  }

  get isWritable(): boolean {
    return !this.isEnding && !this.isOver && this.waitingBytes < QUEUE_BYTES;
  }

  /** Bytes that wait for the peer's window, and for the network. */
  private get waitingBytes(): number {
    return this.queuedBytes + this.socket.waitingBytes;
  }

  send(frame: Uint8Array): void {
    if (this.isEnding || this.isOver || this.stream.destroyed) return;
    if (!this.outbox.append(frame)) {
      this.flush();
      this.outbox.append(frame);
    }
    this.queuedBytes += PREFIX_BYTES + frame.length;
    if (this.waitingBytes > MAXIMUM_QUEUE_BYTES) {
      this.abort(new TransportError('busy', `the peer does not read: ${this.waitingBytes} bytes wait for it`));
      return;
    }
    if (this.waitingBytes >= QUEUE_BYTES) this.isFull = true;
    if (this.isFlushDue) return;
    this.isFlushDue = true;
    queueMicrotask(() => {
      this.isFlushDue = false;
      this.flush();
    });
  }

  /** Writes the outbox to HTTP/2. */
  private flush(): void {
    if (this.outbox.length === 0) return;
    const piece = this.outbox.take();
    if (this.isOver || this.stream.destroyed || this.stream.writableEnded) return;
    this.stream.write(piece.bytes, (error) => {
      // After an error a write may still be under way below HTTP/2: then its bytes are not written over.
      if (!error) this.outbox.giveBack(piece);
      this.sent(piece.bytes.length);
    });
  }

  close(reason?: string): void {
    if (this.isEnding || this.isOver) return;
    this.isClosedHere = true;
    this.reader.stop();
    this.end(reason === undefined ? GrpcStatus.ok : GrpcStatus.unavailable, reason ?? '');
  }

  /** Ends the stream at once: frames that wait to be sent are lost. */
  abort(error: TransportError): void {
    this.note(error);
    this.reader.stop();
    this.stream.close(constants.NGHTTP2_CANCEL);
    this.stream.destroy();
  }

  /** Notes why the stream is about to end. The first reason holds; after a normal close none is needed. */
  note(error: TransportError): void {
    if (!this.isClosedHere) this.error ??= error;
  }

  /** Ends this side's half of the stream. */
  protected abstract endHalf(status: GrpcStatus, message: string): void;

  /** The peer has broken a rule of gRPC. */
  protected abstract reject(error: MessageError): void;

  protected end(status: GrpcStatus, message: string): void {
    if (this.isEnding || this.isOver) return;
    this.flush();
    this.isEnding = true;
    this.endHalf(status, message);
    this.linger = setTimeout(() => this.stream.destroy(), LINGER_MS);
    this.linger.unref();
    // Keeps reading, to find the end of the peer's half; the reader delivers nothing any more.
    this.stream.resume();
  }

  private receive(chunk: Uint8Array): void {
    this.bytesReceived += chunk.length;
    try {
      this.reader.push(chunk);
    } catch (error) {
      if (!(error instanceof MessageError)) throw error;
      this.reader.stop();
      this.note(error);
      this.reject(error);
    }
  }

  private ended(): void {
    if (this.reader.isInsideMessage)
      this.note(new TransportError('ended', 'the stream ended in the middle of a message'));
    this.reader.stop();
    this.end(GrpcStatus.ok, '');
  }

  private sent(count: number): void {
    this.queuedBytes -= count;
    this.bytesSent += count;
    this.drain();
  }

  private drain(): void {
    if (!this.isFull || this.waitingBytes > QUEUE_BYTES / 2) return;
    this.isFull = false;
    if (!this.isEnding && !this.isOver) this.onDrain();
  }

  private over(): void {
    this.isOver = true;
    clearTimeout(this.linger);
    this.reader.stop();
    this.beforeOver();
    this.onClose(this.error);
  }

  /** The last chance to note a reason. */
  protected beforeOver(): void {}
}
