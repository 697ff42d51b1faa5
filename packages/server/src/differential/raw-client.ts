import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Frame, readFrame } from './resp-frame.js';

/** A command's words. Strings are sent as latin1, so that any byte can be written in one. */
export type Words = readonly string[];

function encode(words: Words): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}

/** A client that shows replies as the bytes they are. */
export class RawClient {
  private readonly socket: Socket;
  private received: Buffer = Buffer.alloc(0);
  private waiting: (() => void) | undefined;
  private failure: Error | undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.waiting?.();
    });
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('the server closed the connection')));
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1' });
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  /** Sends all of them at once and gives back a reply for each. */
  async send(commands: readonly Words[]): Promise<Frame[]> {
    this.socket.write(Buffer.from(commands.map(encode).join(''), 'latin1'));
    const replies: Frame[] = [];
    let position = 0;
    while (replies.length < commands.length) {
      const reply = position < this.received.length ? readFrame(this.received, position) : undefined;
      if (reply === undefined) {
        await this.more();
      } else {
        replies.push(reply);
        position += reply.bytes.length;
      }
    }
    this.received = this.received.subarray(position);
    return replies;
  }

  async close(): Promise<void> {
    this.socket.removeAllListeners('close');
    this.socket.destroy();
  }

  private more(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.failure !== undefined) return reject(this.failure);
      this.waiting = () => {
        this.waiting = undefined;
        if (this.failure !== undefined) reject(this.failure);
        else resolve();
      };
    });
  }

  private fail(error: Error): void {
    this.failure ??= error;
    this.waiting?.();
  }
}
