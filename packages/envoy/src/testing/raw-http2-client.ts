import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import { Flag, FRAME_BYTES, FrameType, PREFACE } from '../http2/frame.js';
import { FrameWriter } from '../http2/frame-writer.js';
import { encodeHeaders } from '../http2/header-encoder.js';

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export const REQUEST_HEADERS: Buffer = encodeHeaders({ ':method': 'POST', ':path': '/p' });
const NOTHING: Buffer = Buffer.alloc(0);

/** HTTP/2 frame by frame. */
export class RawHttp2Client {
  readonly frames: Frame[] = [];
  readonly writer = new FrameWriter();
  readonly socket: Socket;
  isClosed = false;
  private rest = NOTHING;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.isClosed = true;
    });
    this.socket.on('data', (chunk) => this.read(chunk));
    this.socket.write(PREFACE);
  }

  frame(type: number, flags: number, stream: number, payload: Buffer = NOTHING): this {
    this.writer.frame(type, flags, stream, payload);
    return this;
  }

  request(stream: number, body: Buffer = NOTHING): this {
    this.frame(FrameType.headers, Flag.endHeaders, stream, REQUEST_HEADERS);
    return this.frame(FrameType.data, Flag.endStream, stream, body);
  }

  windowUpdate(stream: number, increment: number): this {
    this.writer.number(FrameType.windowUpdate, stream, increment);
    return this;
  }

  send(): void {
    this.socket.write(this.writer.take());
  }

  close(): void {
    this.socket.destroy();
  }

  /** Sent and received behind everything before. */
  async barrier(): Promise<void> {
    const count = this.of(FrameType.ping).length;
    this.frame(FrameType.ping, 0, 0, Buffer.alloc(8)).send();
    await expect.poll(() => this.of(FrameType.ping).length, { timeout: 10_000 }).toBe(count + 1);
  }

  async errorCode(): Promise<number> {
    await expect.poll(() => this.of(FrameType.goAway).length, { timeout: 10_000 }).toBe(1);
    return this.of(FrameType.goAway)[0].payload.readUInt32BE(4);
  }

  of(type: number, stream?: number): Frame[] {
    return this.frames.filter((frame) => frame.type === type && (stream === undefined || frame.stream === stream));
  }

  body(stream: number): Buffer {
    return Buffer.concat(this.of(FrameType.data, stream).map(({ payload }) => payload));
  }

  hasAnswer(stream: number): boolean {
    return this.of(FrameType.headers, stream).some(({ flags }) => (flags & Flag.endStream) !== 0);
  }

  private read(chunk: Buffer): void {
    let bytes = Buffer.concat([this.rest, chunk]);
    while (bytes.length >= FRAME_BYTES && bytes.length >= FRAME_BYTES + bytes.readUIntBE(0, 3)) {
      const end = FRAME_BYTES + bytes.readUIntBE(0, 3);
      const payload = bytes.subarray(FRAME_BYTES, end);
      this.frames.push({ type: bytes[3], flags: bytes[4], stream: bytes.readUInt32BE(5), payload });
      bytes = bytes.subarray(end);
    }
    this.rest = bytes;
  }
}
