import { MAXIMUM_FRAME_BYTES } from '@quotadb/wire';
import { GrpcStatus } from './status.js';
import { TransportError } from './transport-error.js';

/**
 * The messages of a gRPC stream, from chunks that begin and end anywhere.
 *
 *   bytes | what
 *   ------|-------------------------------------------
 *   1     | compressed: 0, nothing else is accepted
 *   4     | length of the message, big-endian
 *   …     | the message
 */
export const PREFIX_BYTES = 5;

const NOTHING: Uint8Array = new Uint8Array(0);

/** The default of the memory that is reserved before a message arrives: its claimed length must not reserve more. */
const FIRST_BYTES = 64 * 1024;

/** The peer has broken a rule of gRPC; `status` is sent to it. */
export class MessageError extends TransportError {
  readonly status: GrpcStatus;

  constructor(status: GrpcStatus, message: string) {
    super('protocol', message);
    this.status = status;
  }
}

export class MessageReader {
  private readonly onMessage: (message: Uint8Array) => void;
  private readonly maximumBytes: number;
  private readonly firstBytes: number;
  private readonly prefix = new Uint8Array(PREFIX_BYTES);
  private prefixLength = 0;
  private messageLength = 0;
  private message = NOTHING;
  private received = 0;
  private isStopped = false;

  constructor(
    onMessage: (message: Uint8Array) => void,
    maximumBytes: number = MAXIMUM_FRAME_BYTES,
    firstBytes: number = FIRST_BYTES,
  ) {
    this.onMessage = onMessage;
    this.maximumBytes = maximumBytes;
    this.firstBytes = firstBytes;
  }

  /** From here on no message is delivered, not even one that has arrived already. */
  stop(): void {
    this.isStopped = true;
  }

  get isInsideMessage(): boolean {
    return this.prefixLength > 0;
  }

  /** Throws MessageError where the peer breaks the rules; nothing can be read after that. */
  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length && !this.isStopped) {
      at = this.prefixLength < PREFIX_BYTES ? this.takePrefix(chunk, at) : this.takeMessage(chunk, at);
    }
  }

  private takePrefix(chunk: Uint8Array, from: number): number {
    let at = from;
    while (at < chunk.length && this.prefixLength < PREFIX_BYTES) this.prefix[this.prefixLength++] = chunk[at++];
    if (this.prefixLength < PREFIX_BYTES) return at;
    const { prefix } = this;
    if (prefix[0] !== 0)
      throw new MessageError(GrpcStatus.internal, 'a compressed message: compression is not supported');
    this.messageLength = ((prefix[1] << 24) | (prefix[2] << 16) | (prefix[3] << 8) | prefix[4]) >>> 0;
    if (this.messageLength > this.maximumBytes) {
      throw new MessageError(
        GrpcStatus.resourceExhausted,
        `a message of ${this.messageLength} bytes: at most ${this.maximumBytes} are accepted`,
      );
    }
    this.received = 0;
    if (this.messageLength === 0) this.deliver(NOTHING);
    return at;
  }

  private takeMessage(chunk: Uint8Array, at: number): number {
    const count = Math.min(chunk.length - at, this.messageLength - this.received);
    const part = chunk.subarray(at, at + count);
    if (count === this.messageLength) {
      this.deliver(part);
      return at + count;
    }
    this.makeRoom(this.received + count);
    this.message.set(part, this.received);
    this.received += count;
    if (this.received === this.messageLength) this.deliver(this.message);
    return at + count;
  }

  /** Grows with the bytes that arrive, and ends up exactly as long as the message. */
  private makeRoom(needed: number): void {
    if (this.received === 0)
      this.message = new Uint8Array(Math.min(this.messageLength, Math.max(needed, this.firstBytes)));
    if (needed <= this.message.length) return;
    const larger = new Uint8Array(Math.min(this.messageLength, Math.max(needed, this.message.length * 2)));
    larger.set(this.message.subarray(0, this.received));
    this.message = larger;
  }

  private deliver(message: Uint8Array): void {
    this.prefixLength = 0;
    this.message = NOTHING;
    this.onMessage(message);
  }
}
