import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { REQUEST_BODY } from './requests.js';

const HEAD_END = '\r\n\r\n';

/** A connection with one request out at a time, as lean as a load generator needs it. */
export class HttpConnection {
  readonly #socket: Socket;
  #received = '';
  #answer: ((status: number) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;

  static async open(port: number): Promise<HttpConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new HttpConnection(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#take(text));
    socket.on('error', (error) => this.#fail?.(error));
    socket.on('close', () => this.#fail?.(new Error('the service closed a connection')));
  }

  /** The status of the answer. */
  post(path: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#fail = reject;
      this.#socket.write(
        `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
          `Content-Length: ${REQUEST_BODY.length}\r\n\r\n${REQUEST_BODY}`,
      );
    });
  }

  close(): void {
    this.#fail = undefined;
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const length = Number(/content-length: (\d+)/i.exec(this.#received)?.[1] ?? 0);
    if (this.#received.length < headEnd + HEAD_END.length + length) return;
    const status = Number(this.#received.slice(9, 12));
    this.#received = '';
    this.#answer?.(status);
  }
}
