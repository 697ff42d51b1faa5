import { MAXIMUM_FRAME_BYTES } from './bounds.js';
import { ErrorCode, Flag, FrameType } from './frame.js';
import type { FrameWriter } from './frame-writer.js';

/** Who a stream's events are for. */
export interface Receiver {
  /** A part of the network's buffer: one that is not the last, and is kept, is copied, or it would keep all of that. */
  data(chunk: Buffer, isLast: boolean): void;
  /** The client sends no more. */
  ended(): void;
  /** Nothing comes and nothing can be sent any more, for whatever reason; called once. */
  closed(): void;
}

/** A connection, as its streams see it. */
export interface StreamHost {
  /** The client's address. */
  readonly address: string;
  readonly writer: FrameWriter;
  /** Bytes that the client lets all streams send together. */
  sendWindow: number;
  /** Bytes that wait for the network. */
  readonly waitingBytes: number;
  /** Frames have been written, and are to be sent. */
  written(): void;
  /** The stream has bytes that the windows do not let out yet. */
  waitForWindow(stream: Http2Stream): void;
  forget(stream: Http2Stream): void;
  /** A response was sent to its end. */
  answered(): void;
}

const NOBODY: Receiver = { data: () => {}, ended: () => {}, closed: () => {} };

/** One request and its response. A closed stream sends nothing. */
export class Http2Stream {
  readonly id: number;
  receiver: Receiver = NOBODY;
  headersSent = false;
  isClosed = false;
  /** The client has sent all of its request. */
  hasEnded = false;
  sendWindow: number;
  /** Of the request: read, and not acknowledged yet. */
  unacknowledgedBytes = 0;
  private readonly host: StreamHost;
  /** Of the response: what the client has not made room for. */
  unsentBytes = 0;
  private unsent: Buffer[] = [];
  private trailers: Buffer | undefined = undefined;

  constructor(id: number, host: StreamHost, sendWindow: number) {
    this.id = id;
    this.host = host;
    this.sendWindow = sendWindow;
  }

  get address(): string {
    return this.host.address;
  }

  /** What its client has not taken: of this stream, and of the connection that it shares. */
  get untakenBytes(): number {
    return this.unsentBytes + this.host.waitingBytes;
  }

  respond(headers: Buffer): void {
    if (this.isClosed) return;
    this.headersSent = true;
    this.host.writer.headers(Flag.endHeaders, this.id, headers);
    this.host.written();
  }

  /** A response without a body. */
  respondOnly(headers: Buffer): void {
    if (this.isClosed) return;
    this.headersSent = true;
    this.finish(headers);
  }

  send(data: Buffer): void {
    if (this.isClosed) return;
    this.unsent.push(data);
    this.unsentBytes += data.length;
    this.pump();
  }

  /** Ends the response, behind all that was sent. */
  end(trailers: Buffer): void {
    if (this.isClosed) return;
    this.trailers = trailers;
    this.pump();
  }

  /** Ends the response at once, without what the client has not made room for. */
  cutShort(trailers: Buffer): void {
    this.forgetUnsent();
    this.end(trailers);
  }

  /** Sends as much as the windows allow. */
  pump(): void {
    const { host, unsent } = this;
    while (unsent.length > 0) {
      const data = unsent[0];
      const count = Math.min(data.length, this.sendWindow, host.sendWindow, MAXIMUM_FRAME_BYTES);
      if (count <= 0 && data.length > 0) {
        host.waitForWindow(this);
        break;
      }
      host.writer.frame(FrameType.data, 0, this.id, count === data.length ? data : data.subarray(0, count));
      this.unsentBytes -= count;
      this.sendWindow -= count;
      host.sendWindow -= count;
      if (count === data.length) unsent.shift();
      else unsent[0] = data.subarray(count);
    }
    if (unsent.length === 0 && this.trailers !== undefined) this.finish(this.trailers);
    else host.written();
  }

  /** The client or the connection has ended the stream. */
  abort(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.forgetUnsent();
    this.host.forget(this);
    this.receiver.closed();
  }

  private forgetUnsent(): void {
    this.unsent = [];
    this.unsentBytes = 0;
  }

  /** A request that is not read to its end is cut off after the response, as the protocol has it. */
  private finish(block: Buffer): void {
    const { host, id } = this;
    host.writer.headers(Flag.endHeaders | Flag.endStream, id, block);
    if (!this.hasEnded) host.writer.number(FrameType.reset, id, ErrorCode.none);
    host.answered();
    host.written();
    this.abort();
  }
}
