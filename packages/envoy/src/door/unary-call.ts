import { GrpcStatus, MessageError, MessageReader, PREFIX_BYTES } from '@quotadb/replication/grpc';
import { FrameError } from '@quotadb/wire';
import { Refusal } from '../deciding/refusal.js';
import type { Http2Stream } from '../http2/stream.js';
import { MAXIMUM_MESSAGE_BYTES } from '../messages/bounds.js';
import { FIRST_MESSAGE_BYTES } from './bounds.js';
import { OK_TRAILERS, REPLY_HEADERS, refusalHeaders, refusalTrailers } from './call-headers.js';
import type { Caller, UnaryMethod } from './method.js';
import type { CallOptions, OpenCall } from './open-call.js';

/** One message of a client and the reply. The message is answered when it is whole and the caller is known. */
export class UnaryCall implements OpenCall {
  waitsSinceMs: number = performance.now();
  private readonly stream: Http2Stream;
  private readonly options: CallOptions<UnaryMethod>;
  private caller: Caller | undefined = undefined;
  private message: Buffer | undefined = undefined;
  private reader: MessageReader | undefined = undefined;
  private isOver = false;
  private heldBytes = 0;

  constructor(stream: Http2Stream, options: CallOptions<UnaryMethod>) {
    this.stream = stream;
    this.options = options;
  }

  begin(caller: Caller): void {
    this.caller = caller;
    this.answer();
  }

  refuse(refusal: Refusal): void {
    if (this.stream.headersSent) this.stream.cutShort(refusalTrailers(refusal));
    else if (this.finish()) this.stream.respondOnly(refusalHeaders(refusal));
  }

  data(chunk: Buffer, isLast: boolean): void {
    if (this.isOver) return;
    try {
      if (!isLast) this.hold(chunk.length);
      this.push(chunk, isLast);
    } catch (error) {
      this.refuse(refusalOf(error as Error, this.options.onError));
    }
  }

  ended(): void {
    this.waitsSinceMs = Number.POSITIVE_INFINITY;
    this.answer();
  }

  closed(): void {
    this.isOver = true;
    this.options.held.release(this.heldBytes);
    this.options.onClosed(this);
  }

  /** Nearly always one chunk is one message: only others need a reader. */
  private push(chunk: Buffer, isLast: boolean): void {
    if (this.reader === undefined && this.message === undefined && isWhole(chunk)) {
      const message = chunk.subarray(PREFIX_BYTES);
      this.message = isLast ? message : Buffer.from(message);
      return;
    }
    this.reader ??= new MessageReader((message) => this.received(message), MAXIMUM_MESSAGE_BYTES, FIRST_MESSAGE_BYTES);
    this.reader.push(chunk);
  }

  private received(message: Uint8Array): void {
    if (this.message !== undefined) throw new Refusal(GrpcStatus.invalidArgument, 'the call takes one message');
    this.message = Buffer.from(message);
  }

  private answer(): void {
    const { caller, message, isOver } = this;
    if (caller === undefined || !this.stream.hasEnded || isOver) return;
    try {
      if (message === undefined) throw new Refusal(GrpcStatus.invalidArgument, 'the call has no message');
      const { method, timeoutMs } = this.options;
      this.message = undefined;
      method.answer(message, { caller, timeoutMs }, (reply) => {
        if (reply instanceof Refusal) this.refuse(reply);
        else this.reply(reply);
      });
    } catch (error) {
      this.refuse(refusalOf(error as Error, this.options.onError));
    }
  }

  private reply(message: Buffer): void {
    if (!this.finish()) return;
    const { stream } = this;
    stream.respond(REPLY_HEADERS);
    stream.send(withPrefix(message));
    stream.end(OK_TRAILERS);
    if (stream.isClosed) return;
    this.waitsSinceMs = performance.now();
    try {
      this.hold(message.length);
    } catch (error) {
      this.refuse(error as Refusal);
    }
  }

  private hold(bytes: number): void {
    this.options.held.hold(bytes);
    this.heldBytes += bytes;
  }

  /** False where the call is over already. */
  private finish(): boolean {
    if (this.isOver || this.stream.isClosed) return false;
    this.isOver = true;
    return true;
  }
}

/** Whether a chunk is one message that is not compressed, from its first byte to its last. */
function isWhole(chunk: Buffer): boolean {
  const length = chunk.length - PREFIX_BYTES;
  return length >= 0 && length <= MAXIMUM_MESSAGE_BYTES && chunk[0] === 0 && chunk.readUInt32BE(1) === length;
}

/** Errors of bad bytes are the client's; any other is ours, and its text stays here. */
export function refusalOf(error: Error, onError: (error: Error) => void): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof MessageError) return new Refusal(error.status, error.message);
  if (error instanceof FrameError) return new Refusal(GrpcStatus.invalidArgument, error.message);
  onError(error);
  return new Refusal(GrpcStatus.internal, 'the call failed: see the log of the server');
}

export function withPrefix(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  message.copy(framed, PREFIX_BYTES);
  return framed;
}
