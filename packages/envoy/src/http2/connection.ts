import type { Socket } from 'node:net';
import {
  ACKNOWLEDGED_BYTES,
  CONTROL_FRAMES_PER_REPLY,
  FIRST_WINDOW_BYTES,
  MAXIMUM_CONTROL_FRAMES,
  MAXIMUM_FRAME_BYTES,
  MAXIMUM_SEND_WINDOW_BYTES,
  MAXIMUM_STREAMS,
} from './bounds.js';
import {
  broken,
  ConnectionError,
  ErrorCode,
  Flag,
  FRAME_BYTES,
  FrameType,
  overflow,
  PING_BYTES,
  PREFACE,
  PRIORITY_BYTES,
  unpadded,
  wrongSize,
} from './frame.js';
import { FrameWriter } from './frame-writer.js';
import { HeaderBlock } from './header-block.js';
import { HeaderDecoder } from './header-decoder.js';
import { Patience } from './patience.js';
import type { RequestHeaders } from './request-headers.js';
import { OUR_SETTINGS, readSettings } from './settings.js';
import { Http2Stream, type StreamHost } from './stream.js';

export interface ConnectionEvents {
  /** A request; sets the stream's receiver. */
  readonly onStream: (stream: Http2Stream, headers: RequestHeaders) => void;
  readonly onClose: () => void;
  /** A fault of our own: it ends this connection and no other. */
  readonly onError: (error: Error) => void;
}

const NOTHING: Buffer = Buffer.alloc(0);

/** The server's side of an HTTP/2 connection on a socket. Frames of one turn are sent together. */
export class Http2Connection implements StreamHost {
  readonly address: string;
  readonly writer: FrameWriter = new FrameWriter();
  /** Whether the client has spoken HTTP/2. */
  hasBegun = false;
  sendWindow: number = FIRST_WINDOW_BYTES;
  private readonly socket: Socket;
  private readonly events: ConnectionEvents;
  private readonly streams = new Map<number, Http2Stream>();
  /** Streams with bytes that their own windows do not let out, and those that only the connection's holds back. */
  private readonly stuck = new Set<Http2Stream>();
  private readonly waiting = new Set<Http2Stream>();
  private readonly decoder = new HeaderDecoder();
  /** A header block whose end has not come: until then no other frame may. */
  private unfinished: HeaderBlock | undefined = undefined;
  /** The part of a frame that has come. */
  private rest: Buffer = NOTHING;
  /** Read, and not acknowledged yet. */
  private unacknowledgedBytes = 0;
  /** For streams to come. */
  private streamSendWindow: number = FIRST_WINDOW_BYTES;
  private latestStream = 0;
  private controlFrames = MAXIMUM_CONTROL_FRAMES;
  private readonly patience = new Patience();
  /** When it began a call, as the sweeps saw it. */
  usedAtMs: number = performance.now();
  private sweptStream = 0;
  private isReading = false;
  private isScheduled = false;
  /** Takes no new streams. */
  private isEnding = false;

  constructor(socket: Socket, events: ConnectionEvents) {
    this.socket = socket;
    this.events = events;
    this.address = socket.remoteAddress ?? '';
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('drain', () => socket.resume());
    socket.on('error', () => {});
    socket.on('close', () => this.closed());
    this.writer.frame(FrameType.settings, 0, 0, OUR_SETTINGS);
    this.flush();
  }

  get waitingBytes(): number {
    return this.socket.writableLength + this.writer.length;
  }

  /** It has no calls, and may begin some. */
  get isIdle(): boolean {
    return this.streams.size === 0 && !this.isEnding;
  }

  /** Lets open streams end, takes no others, and then ends the connection. */
  close(): void {
    if (this.isEnding) return;
    this.goAway(ErrorCode.none);
    this.flush();
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Called from time to time. A connection whose replies have waited for the client since `dueMs` is given up. */
  sweep(nowMs: number, dueMs: number): void {
    this.controlFrames = MAXIMUM_CONTROL_FRAMES;
    if (this.latestStream !== this.sweptStream) this.usedAtMs = nowMs;
    this.sweptStream = this.latestStream;
    if (this.unfinished !== undefined && this.unfinished.sinceMs < dueMs) this.socket.destroy();
    const owes = { bytes: this.socket.writableLength > 0, room: this.waiting.size + this.stuck.size > 0 };
    if (this.patience.isOver(nowMs, dueMs, owes)) this.socket.destroy();
  }

  written(): void {
    if (this.isReading || this.isScheduled) return;
    this.isScheduled = true;
    process.nextTick(() => this.flush());
  }

  waitForWindow(stream: Http2Stream): void {
    if (stream.sendWindow > 0) this.waiting.add(stream);
    else this.stuck.add(stream);
  }

  forget(stream: Http2Stream): void {
    this.streams.delete(stream.id);
    this.waiting.delete(stream);
    this.stuck.delete(stream);
  }

  answered(): void {
    this.controlFrames = Math.min(MAXIMUM_CONTROL_FRAMES, this.controlFrames + CONTROL_FRAMES_PER_REPLY);
  }

  private closed(): void {
    for (const stream of [...this.streams.values()]) stream.abort();
    this.events.onClose();
  }

  /** A client that does not read its replies is not read from. */
  private flush(): void {
    this.isScheduled = false;
    const { socket, writer } = this;
    if (socket.destroyed) return;
    if (writer.length > 0 && !socket.write(writer.take(), this.onTaken)) socket.pause();
    if (this.isEnding && this.streams.size === 0) socket.end();
  }

  private readonly onTaken = (): void => {
    this.patience.hasTaken = true;
  };

  private goAway(code: ErrorCode): void {
    this.isEnding = true;
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(this.latestStream);
    payload.writeUInt32BE(code, 4);
    this.writer.frame(FrameType.goAway, 0, 0, payload);
  }

  private read(chunk: Buffer): void {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    this.isReading = true;
    try {
      this.keepRest(bytes, this.readFrames(bytes));
    } catch (error) {
      if (error instanceof ConnectionError) this.fail(error.code);
      else {
        this.events.onError(error as Error);
        this.socket.destroy();
      }
    } finally {
      this.isReading = false;
    }
    this.flush();
  }

  /** A copy: a few bytes that are kept would keep the whole of the network's buffer. */
  private keepRest(bytes: Buffer, readBytes: number): void {
    const { patience } = this;
    const isWhole = readBytes === bytes.length;
    if (isWhole) patience.frameSinceMs = Number.POSITIVE_INFINITY;
    else if (readBytes > 0 || this.rest.length === 0) patience.frameSinceMs = performance.now();
    this.rest = isWhole ? NOTHING : Buffer.from(bytes.subarray(readBytes));
  }

  /** Makes room for another connection. */
  dismiss(): void {
    this.fail(ErrorCode.none);
  }

  /** Says why, and ends the connection with all its streams. */
  private fail(code: ErrorCode): void {
    this.goAway(code);
    for (const stream of [...this.streams.values()]) stream.abort();
    this.socket.end(this.writer.take(), () => this.socket.destroy());
    this.socket.removeAllListeners('data').resume();
  }

  /** Returns how many bytes were read. */
  private readFrames(bytes: Buffer): number {
    let at = 0;
    if (!this.hasBegun) {
      const length = Math.min(bytes.length, PREFACE.length);
      if (PREFACE.compare(bytes, 0, length, 0, length) !== 0) throw broken('this port speaks gRPC over HTTP/2');
      if (length < PREFACE.length) return 0;
      this.hasBegun = true;
      at = length;
    }
    while (bytes.length - at >= FRAME_BYTES && !this.socket.destroyed) {
      const length = (bytes[at] << 16) | (bytes[at + 1] << 8) | bytes[at + 2];
      if (length > MAXIMUM_FRAME_BYTES) throw wrongSize();
      const from = at + FRAME_BYTES;
      if (bytes.length - from < length) break;
      const stream = bytes.readUInt32BE(at + 5) & 0x7fffffff;
      this.take(bytes[at + 3], bytes[at + 4], stream, bytes.subarray(from, from + length));
      at = from + length;
    }
    return at;
  }

  private take(type: number, flags: number, stream: number, payload: Buffer): void {
    if (this.unfinished !== undefined && type !== FrameType.continuation)
      throw broken('another frame inside a header block');
    if (type === FrameType.data) this.takeData(flags, stream, payload);
    else if (type === FrameType.headers) this.takeHeaders(flags, stream, payload);
    else if (type === FrameType.continuation) this.takeContinuation(flags, stream, payload);
    else this.takeControl(type, flags, stream, payload);
  }

  private takeControl(type: number, flags: number, stream: number, payload: Buffer): void {
    this.spendControlFrame();
    if (type === FrameType.pushPromise) throw broken('a client does not push');
    const isAck = (flags & Flag.ack) !== 0;
    const isOfConnection = type === FrameType.settings || type === FrameType.ping || type === FrameType.goAway;
    if (isOfConnection && stream !== 0) throw broken('a frame of the connection on a stream');
    if (type === FrameType.settings) this.takeSettings(isAck, payload);
    else if (type === FrameType.ping) {
      if (payload.length !== PING_BYTES) throw wrongSize();
      if (!isAck) this.writer.frame(FrameType.ping, Flag.ack, 0, payload);
    } else if (type === FrameType.windowUpdate) this.takeWindowUpdate(stream, payload);
    else if (type === FrameType.reset) {
      if (payload.length !== 4) throw wrongSize();
      this.requireBegun(stream);
      this.streams.get(stream)?.abort();
    } else if (type === FrameType.priority) {
      if (payload.length !== PRIORITY_BYTES) throw wrongSize();
      if (stream === 0) throw broken('a priority of no stream');
    }
    // Of a client's GOAWAY nothing follows: it begins no more streams. Frames of unknown types are ignored.
  }

  private takeSettings(isAck: boolean, payload: Buffer): void {
    if (isAck) {
      if (payload.length > 0) throw wrongSize();
      return;
    }
    const { windowBytes, hasSmallTable } = readSettings(payload);
    if (hasSmallTable) this.writer.shrinkTable();
    if (windowBytes !== undefined) this.resizeWindows(windowBytes);
    this.writer.frame(FrameType.settings, Flag.ack, 0, NOTHING);
  }

  /** Holds for open streams too; their windows may become negative. */
  private resizeWindows(bytes: number): void {
    const difference = bytes - this.streamSendWindow;
    this.streamSendWindow = bytes;
    for (const stream of this.streams.values()) {
      stream.sendWindow += difference;
      if (stream.sendWindow > MAXIMUM_SEND_WINDOW_BYTES) throw overflow();
    }
    for (const stream of [...this.stuck]) this.pumpStuck(stream);
  }

  private takeWindowUpdate(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw wrongSize();
    const increment = payload.readUInt32BE(0) & 0x7fffffff;
    if (increment === 0) throw broken('a window grows by 0');
    this.patience.hasOpened = true;
    if (id === 0) {
      this.sendWindow += increment;
      if (this.sendWindow > MAXIMUM_SEND_WINDOW_BYTES) throw overflow();
      this.pumpWaiting();
      return;
    }
    this.requireBegun(id);
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    stream.sendWindow += increment;
    if (stream.sendWindow > MAXIMUM_SEND_WINDOW_BYTES) throw overflow();
    this.pumpStuck(stream);
  }

  private pumpStuck(stream: Http2Stream): void {
    if (stream.sendWindow > 0 && this.stuck.delete(stream)) stream.pump();
  }

  /** Ends with the window: a client that opens it byte by byte does not have every stream visited each time. */
  private pumpWaiting(): void {
    for (const stream of this.waiting) {
      if (this.sendWindow <= 0) return;
      this.waiting.delete(stream);
      stream.pump();
    }
  }

  private takeData(flags: number, id: number, payload: Buffer): void {
    this.requireBegun(id);
    this.unacknowledgedBytes += payload.length;
    if (this.unacknowledgedBytes >= ACKNOWLEDGED_BYTES) {
      this.writer.number(FrameType.windowUpdate, 0, this.unacknowledgedBytes);
      this.unacknowledgedBytes = 0;
    }
    const stream = this.streams.get(id);
    const isEnd = (flags & Flag.endStream) !== 0;
    const data = (flags & Flag.padded) === 0 ? payload : unpadded(payload);
    // What comes after a stream was cut off is on its way already, or has no end.
    if (stream === undefined || (data.length === 0 && !isEnd)) this.spendControlFrame();
    if (stream === undefined) return;
    if (stream.hasEnded) throw new ConnectionError(ErrorCode.streamClosed, 'data after the end of a request');
    stream.unacknowledgedBytes += payload.length;
    if (!isEnd && stream.unacknowledgedBytes >= ACKNOWLEDGED_BYTES) {
      this.writer.number(FrameType.windowUpdate, id, stream.unacknowledgedBytes);
      stream.unacknowledgedBytes = 0;
    }
    if (data.length > 0) stream.receiver.data(data, isEnd);
    if (isEnd) end(stream);
  }

  private takeHeaders(flags: number, id: number, payload: Buffer): void {
    if (id % 2 === 0) throw broken('a stream of a client has an odd number');
    let fragment = (flags & Flag.padded) === 0 ? payload : unpadded(payload);
    if ((flags & Flag.priority) !== 0) {
      if (fragment.length < PRIORITY_BYTES) throw wrongSize();
      fragment = fragment.subarray(PRIORITY_BYTES);
    }
    const endsStream = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) !== 0) this.takeBlock(id, endsStream, fragment);
    else this.unfinished = new HeaderBlock(id, endsStream, fragment);
  }

  private takeContinuation(flags: number, id: number, payload: Buffer): void {
    const { unfinished } = this;
    if (unfinished === undefined || unfinished.stream !== id) throw broken('a continuation of no header block');
    unfinished.add(payload);
    if ((flags & Flag.endHeaders) === 0) return;
    this.unfinished = undefined;
    this.takeBlock(id, unfinished.endsStream, unfinished.whole());
  }

  /** Every block is decoded, also that of a refused stream: later ones refer to it. */
  private takeBlock(id: number, endsStream: boolean, block: Buffer): void {
    const headers = this.decoder.decode(block, 0, block.length);
    if (id <= this.latestStream) {
      this.takeTrailers(id, endsStream);
      return;
    }
    if (this.isEnding || this.streams.size >= MAXIMUM_STREAMS) {
      this.latestStream = id;
      this.spendControlFrame();
      this.writer.number(FrameType.reset, id, ErrorCode.refusedStream);
      return;
    }
    this.latestStream = id;
    const stream = new Http2Stream(id, this, this.streamSendWindow);
    this.streams.set(id, stream);
    this.events.onStream(stream, headers);
    if (endsStream) end(stream);
  }

  private takeTrailers(id: number, endsStream: boolean): void {
    this.spendControlFrame();
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    if (stream.hasEnded || !endsStream) throw broken('headers in the middle of a request');
    end(stream);
  }

  /** Frames of streams that were never begun are mistakes; those of streams that are over may come late. */
  private requireBegun(id: number): void {
    if (id === 0 || id > this.latestStream) throw broken('a frame of a stream that has not begun');
  }

  private spendControlFrame(): void {
    if (--this.controlFrames < 0)
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'too many frames without a call');
  }
}

function end(stream: Http2Stream): void {
  stream.hasEnded = true;
  if (!stream.isClosed) stream.receiver.ended();
}
