import { GrpcStatus, MessageReader } from '@quotadb/replication/grpc';
import { Refusal } from '../deciding/refusal.js';
import type { Http2Stream } from '../http2/stream.js';
import { MAXIMUM_MESSAGE_BYTES } from '../messages/bounds.js';
import { FIRST_MESSAGE_BYTES, MAXIMUM_EARLY_MESSAGES, MAXIMUM_UNSENT_BYTES } from './bounds.js';
import { OK_TRAILERS, REPLY_HEADERS, refusalHeaders, refusalTrailers } from './call-headers.js';
import type { Caller, Conversation, LastingMethod, Replies } from './method.js';
import type { CallOptions, OpenCall } from './open-call.js';
import { refusalOf, withPrefix } from './unary-call.js';

/** A call in which both sides send messages until one of them ends it. */
export class LastingCall implements Replies, OpenCall {
  private readonly stream: Http2Stream;
  private readonly options: CallOptions<LastingMethod>;
  private readonly reader: MessageReader;
  private conversation: Conversation | undefined = undefined;
  /** Messages that came before the caller was known. */
  private early: Buffer[] = [];
  private isOver = false;
  /** It may wait for messages as long as it likes, except for its first and inside one. */
  private messageSinceMs = performance.now();
  /** Since when there have been replies that the client makes no room for. */
  private repliesSinceMs = Number.POSITIVE_INFINITY;
  /** Of messages that are not delivered, and of replies that are not sent. */
  private heldBytes = 0;
  private heldReplyBytes = 0;

  constructor(stream: Http2Stream, options: CallOptions<LastingMethod>) {
    this.stream = stream;
    this.options = options;
    this.reader = new MessageReader((message) => this.received(message), MAXIMUM_MESSAGE_BYTES, FIRST_MESSAGE_BYTES);
  }

  get method(): LastingMethod {
    return this.options.method;
  }

  get waitsSinceMs(): number {
    return Math.min(this.messageSinceMs, this.repliesSinceMs);
  }

  begin(caller: Caller): void {
    const { stream, options } = this;
    if (this.isOver || stream.isClosed) return;
    stream.respond(REPLY_HEADERS);
    this.conversation = options.method.open(this, { caller, timeoutMs: options.timeoutMs });
    for (const message of this.early.splice(0)) this.guard(() => this.deliver(message));
    if (stream.hasEnded) this.ended();
  }

  data(chunk: Buffer): void {
    if (this.isOver) return;
    this.guard(() => {
      this.options.held.hold(chunk.length);
      this.heldBytes += chunk.length;
      this.reader.push(chunk);
      // A message that has begun must end soon, as the first one must come soon.
      if (this.reader.isInsideMessage) this.messageSinceMs = Math.min(this.messageSinceMs, performance.now());
    });
  }

  ended(): void {
    if (this.conversation !== undefined && !this.isOver) this.guard(() => this.conversation?.ended());
  }

  send(reply: Buffer): void {
    const { stream } = this;
    if (this.isOver) return;
    stream.send(withPrefix(reply));
    if (stream.untakenBytes > MAXIMUM_UNSENT_BYTES)
      this.refuse(new Refusal(GrpcStatus.resourceExhausted, 'the client does not read its replies'));
    else this.countReplies();
  }

  /** Replies that the client makes no room for are held. Called also from time to time: it may have made some. */
  countReplies(): void {
    const { unsentBytes } = this.stream;
    if (unsentBytes === 0) this.repliesSinceMs = Number.POSITIVE_INFINITY;
    else if (this.heldReplyBytes === 0) this.repliesSinceMs = performance.now();
    try {
      this.options.held.hold(unsentBytes - this.heldReplyBytes);
      this.heldReplyBytes = unsentBytes;
    } catch (error) {
      this.refuse(error as Refusal);
    }
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

  /** Ends the call at once, without the replies that its client has not made room for. */
  refuse(refusal: Refusal): void {
    const { stream } = this;
    this.isOver = true;
    this.reader.stop();
    if (stream.headersSent) stream.cutShort(refusalTrailers(refusal));
    else stream.respondOnly(refusalHeaders(refusal));
  }

  closed(): void {
    this.isOver = true;
    this.release();
    this.options.held.release(this.heldReplyBytes);
    this.heldReplyBytes = 0;
    this.conversation?.closed();
    this.conversation = undefined;
    this.options.onClosed(this);
  }

  private release(): void {
    this.options.held.release(this.heldBytes);
    this.heldBytes = 0;
  }

  private received(message: Uint8Array): void {
    this.messageSinceMs = Number.POSITIVE_INFINITY;
    if (this.conversation !== undefined) this.deliver(Buffer.from(message.buffer, message.byteOffset, message.length));
    else if (this.early.length < MAXIMUM_EARLY_MESSAGES) this.early.push(Buffer.from(message));
    else throw new Refusal(GrpcStatus.resourceExhausted, 'too much was sent before the caller was known');
  }

  private deliver(message: Buffer): void {
    this.release();
    this.conversation?.message(message);
  }

  private guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.end(refusalOf(error as Error, this.options.onError));
    }
  }
}
