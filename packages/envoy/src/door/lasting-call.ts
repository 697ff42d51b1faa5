import { GrpcStatus, MessageReader } from '@quotadb/replication/grpc';
import { Refusal } from '../deciding/refusal.js';
import type { Http2Stream } from '../http2/stream.js';
import { MAXIMUM_MESSAGE_BYTES } from '../messages/bounds.js';
import { MAXIMUM_UNSENT_BYTES } from './bounds.js';
import { OK_TRAILERS, REPLY_HEADERS, refusalHeaders, refusalTrailers } from './call-headers.js';
import type { Caller, Conversation, LastingMethod, Replies } from './method.js';
import type { CallOptions, OpenCall } from './open-call.js';
import { refusalOf, withPrefix } from './unary-call.js';

/** A call in which both sides send messages until one of them ends it. */
export class LastingCall implements Replies, OpenCall {
  /** It may wait for messages as long as it likes, except before its first and inside one. */
  waitsSinceMs: number = performance.now();
  private readonly stream: Http2Stream;
  private readonly options: CallOptions<LastingMethod>;
  private readonly reader: MessageReader;
  private conversation: Conversation | undefined = undefined;
  /** What came before the caller was known. */
  private early: Buffer[] = [];
  private isOver = false;
  /** Of a message that is not whole. */
  private heldBytes = 0;

  constructor(stream: Http2Stream, options: CallOptions<LastingMethod>) {
    this.stream = stream;
    this.options = options;
    this.reader = new MessageReader((message) => this.received(message), MAXIMUM_MESSAGE_BYTES);
  }

  begin(caller: Caller): void {
    const { stream, options } = this;
    if (this.isOver || stream.isClosed) return;
    stream.respond(REPLY_HEADERS);
    this.conversation = options.method.open(this, { caller, timeoutMs: options.timeoutMs });
    for (const chunk of this.early.splice(0)) this.guard(() => this.push(chunk));
    if (stream.hasEnded) this.ended();
  }

  data(chunk: Buffer): void {
    if (this.isOver) return;
    this.guard(() => {
      this.options.held.hold(chunk.length);
      this.heldBytes += chunk.length;
      if (this.conversation === undefined) this.keep(Buffer.from(chunk));
      else this.push(chunk);
    });
  }

  ended(): void {
    if (this.conversation !== undefined && !this.isOver) this.guard(() => this.conversation?.ended());
  }

  send(reply: Buffer): void {
    const { stream } = this;
    if (this.isOver) return;
    stream.send(withPrefix(reply));
    if (stream.unsentBytes <= MAXIMUM_UNSENT_BYTES) return;
    this.isOver = true;
    stream.cutShort(refusalTrailers(new Refusal(GrpcStatus.resourceExhausted, 'the client does not read its replies')));
  }

  end(reason?: Refusal): void {
    if (this.isOver) return;
    if (!this.stream.headersSent) {
      this.refuse(reason ?? new Refusal(GrpcStatus.unavailable, 'the call was ended'));
      return;
    }
    this.isOver = true;
    this.reader.stop();
    this.stream.end(reason === undefined ? OK_TRAILERS : refusalTrailers(reason));
  }

  refuse(refusal: Refusal): void {
    if (this.isOver) return;
    if (this.stream.headersSent) {
      this.end(refusal);
      return;
    }
    this.isOver = true;
    this.stream.respondOnly(refusalHeaders(refusal));
  }

  closed(): void {
    this.isOver = true;
    this.release();
    this.conversation?.closed();
    this.conversation = undefined;
    this.options.onClosed(this);
  }

  /** A message that has begun must end soon, as the first one must come soon. */
  private push(chunk: Buffer): void {
    this.reader.push(chunk);
    if (this.reader.isInsideMessage) this.waitsSinceMs = Math.min(this.waitsSinceMs, performance.now());
  }

  private release(): void {
    this.options.held.release(this.heldBytes);
    this.heldBytes = 0;
  }

  private keep(chunk: Buffer): void {
    this.early.push(chunk);
    const bytes = this.early.reduce((sum, { length }) => sum + length, 0);
    if (bytes > MAXIMUM_MESSAGE_BYTES)
      this.refuse(new Refusal(GrpcStatus.resourceExhausted, 'too much was sent before the caller was known'));
  }

  private received(message: Uint8Array): void {
    this.waitsSinceMs = Number.POSITIVE_INFINITY;
    this.release();
    this.conversation?.message(Buffer.from(message.buffer, message.byteOffset, message.length));
  }

  private guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.end(refusalOf(error as Error, this.options.onError));
    }
  }
}
