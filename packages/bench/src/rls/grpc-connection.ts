import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Flag, FRAME_BYTES, FrameType, frame, opening, setStream } from './grpc-frames.js';

/** One HTTP/2 connection with calls at once, each answered when its stream has ended. */
export class GrpcConnection {
  readonly #socket: Socket;
  /** What to call when a stream has ended, by its number. */
  readonly #waiting = new Map<number, () => void>();
  /** Streams whose reply has come, up to its trailers. */
  readonly #replied = new Set<number>();
  #nextStream = 1;
  #rest: Buffer = Buffer.alloc(0);
  #queued: Buffer[] = [];
  failure: Error | undefined = undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
    socket.write(opening());
  }

  static async open(port: number): Promise<GrpcConnection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new GrpcConnection(socket);
  }

  /** Sends a call made by `callBytes`, together with all others of this turn. */
  call(bytes: Buffer, ended: () => void): void {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    setStream(bytes, stream);
    this.#waiting.set(stream, ended);
    if (this.#queued.length === 0) setImmediate(() => this.#flush());
    this.#queued.push(Buffer.from(bytes));
  }

  close(): void {
    this.#waiting.clear();
    this.#socket.destroy();
  }

  #flush(): void {
    const bytes = Buffer.concat(this.#queued);
    this.#queued = [];
    this.#socket.write(bytes);
  }

  #fail(error: Error): void {
    this.failure ??= error;
    for (const ended of [...this.#waiting.values()]) ended();
    this.#waiting.clear();
  }

  #read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= FRAME_BYTES) {
      const length = bytes.readUIntBE(at, 3);
      if (bytes.length - at < FRAME_BYTES + length) break;
      this.#take(bytes[at + 3]!, bytes[at + 4]!, bytes.readUInt32BE(at + 5), bytes, at + FRAME_BYTES, length);
      at += FRAME_BYTES + length;
    }
    this.#rest = bytes.subarray(at);
  }

  #take(type: number, flags: number, stream: number, bytes: Buffer, from: number, length: number): void {
    const isAck = (flags & Flag.ack) !== 0;
    if (type === FrameType.settings && !isAck)
      this.#socket.write(frame(FrameType.settings, Flag.ack, 0, Buffer.alloc(0)));
    else if (type === FrameType.ping && !isAck)
      this.#socket.write(frame(FrameType.ping, Flag.ack, 0, bytes.subarray(from, from + length)));
    else if (type === FrameType.goAway) this.#fail(new Error('the server sends no more replies'));
    else if (type === FrameType.data) this.#replied.add(stream);
    else if (type === FrameType.reset || (type === FrameType.headers && (flags & Flag.endStream) !== 0)) {
      const ended = this.#waiting.get(stream);
      this.#waiting.delete(stream);
      if (!this.#replied.delete(stream)) this.#fail(new Error('the server has refused a call'));
      ended?.();
    }
  }
}
