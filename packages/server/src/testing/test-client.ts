import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { readFrame } from '../differential/resp-frame.js';
import { encodeCommand } from './test-lane.js';

/** A client on a real socket that shows replies as the bytes they are, in latin1. */
export class TestClient {
  readonly socket: Socket;
  /** Resolves when the connection is over, whoever ended it. */
  readonly closed: Promise<void>;

  private received: Buffer = Buffer.alloc(0);
  /** What came since somebody last looked; put together only then. */
  private chunks: Buffer[] = [];
  private wake: (() => void) | undefined = undefined;
  private over = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.chunks.push(chunk);
      this.wake?.();
    });
    socket.on('error', () => socket.destroy());
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.over = true;
        this.wake?.();
        resolve();
      });
    });
  }

  static async open(port: number, host = '127.0.0.1'): Promise<TestClient> {
    const socket = connect({ port, host, noDelay: true });
    await once(socket, 'connect');
    return new TestClient(socket);
  }

  write(bytes: string): void {
    this.socket.write(bytes, 'latin1');
  }

  async call(...words: (string | number)[]): Promise<string> {
    this.write(encodeCommand(...words));
    return this.reply();
  }

  /** The next reply, whole. */
  async reply(): Promise<string> {
    for (;;) {
      this.gather();
      const frame = this.received.length > 0 ? readFrame(this.received, 0) : undefined;
      if (frame !== undefined) {
        this.received = this.received.subarray(frame.bytes.length);
        return frame.bytes.toString('latin1');
      }
      if (this.over) throw new Error(`the connection is closed; left: ${this.received.toString('latin1')}`);
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  /** Everything up to the end of the connection. */
  async rest(): Promise<string> {
    await this.closed;
    this.gather();
    return this.received.toString('latin1');
  }

  close(): void {
    this.socket.destroy();
  }

  private gather(): void {
    if (this.chunks.length > 0) this.received = Buffer.concat([this.received, ...this.chunks]);
    this.chunks = [];
  }
}
