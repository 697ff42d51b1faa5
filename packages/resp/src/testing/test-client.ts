import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ReplyReader } from '@quotadb/client/resp';
import { type Frame, frameBuilder } from './reply-frame.js';
import { encodeCommand } from './test-lane.js';

/** A client on a real socket that returns replies as the bytes that were sent, in latin1. */
export class TestClient {
  readonly socket: Socket;
  /** Resolves when either side has ended the connection. */
  readonly closed: Promise<void>;

  /** Bytes that no reply has been taken from. */
  private received = '';
  /** Chunks that the reader has not seen: the rest of a connection may hold bytes that are no reply. */
  private chunks: Buffer[] = [];
  private readonly frames: Frame[] = [];
  private readonly reader = new ReplyReader(frameBuilder, (frame) => this.frames.push(frame));
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

  /** Sends all commands at once and returns a reply for each. */
  async send(commands: readonly (readonly string[])[]): Promise<Frame[]> {
    this.write(commands.map((words) => encodeCommand(...words)).join(''));
    const replies: Frame[] = [];
    while (replies.length < commands.length) replies.push(await this.frame());
    return replies;
  }

  /** The bytes of the next reply. */
  async reply(): Promise<string> {
    return (await this.frame()).wire;
  }

  /** Everything up to the end of the connection. */
  async rest(): Promise<string> {
    await this.closed;
    return this.received + Buffer.concat(this.chunks).toString('latin1');
  }

  close(): void {
    this.socket.destroy();
  }

  private async frame(): Promise<Frame> {
    for (;;) {
      for (const chunk of this.chunks.splice(0)) {
        this.received += chunk.toString('latin1');
        this.reader.receive(chunk);
      }
      const frame = this.frames.shift();
      if (frame !== undefined) {
        this.received = this.received.slice(frame.wire.length);
        return frame;
      }
      if (this.over) throw new Error(`the connection is closed; left: ${this.received}`);
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }
}
