import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { until } from './until.js';

/** A connection on which a test writes bytes as it likes. */
export class RawConnection {
  readonly socket: Socket;
  received = '';
  closed = false;

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding('utf8').on('data', (text: string) => {
      this.received += text;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed = true;
    });
  }

  /** The statuses and bodies received, once there are this many. Bodies are taken to hold no "HTTP/1.1" themselves. */
  async answers(count: number): Promise<{ status: number; body: string }[]> {
    const parts = () => this.received.split(/(?=HTTP\/1\.1 \d{3})/).filter((part) => isWhole(part));
    await until(() => parts().length >= count || this.closed);
    return parts().map((part) => ({
      status: Number(part.slice(9, 12)),
      body: part.slice(part.indexOf('\r\n\r\n') + 4),
    }));
  }
}

function isWhole(part: string): boolean {
  const headEnd = part.indexOf('\r\n\r\n');
  if (headEnd === -1) return false;
  const length = /content-length: (\d+)/i.exec(part)?.[1];
  return length === undefined || Buffer.byteLength(part.slice(headEnd + 4)) >= Number(length);
}
