import type { Socket as NodeSocket } from 'node:net';
import type { Lane } from '../../session/lane.js';
import { Connection, type ConnectionScheduler, Reading, type Socket } from '../connection.js';

/** A socket of node:net or node:tls. Node buffers the bytes that the system does not take at once. */
export class NetSocket implements Socket {
  readonly address: string;
  readonly localAddress: string;
  readonly connection: Connection;
  keptBytes = false;

  private readonly socket: NodeSocket;
  private wantsRoom = false;

  constructor(lane: Lane, socket: NodeSocket, scheduler: ConnectionScheduler) {
    this.socket = socket;
    this.address = describe(socket.remoteAddress, socket.remotePort);
    this.localAddress = describe(socket.localAddress, socket.localPort);
    const { tcpKeepaliveSeconds } = lane.server.config;
    if (tcpKeepaliveSeconds > 0) socket.setKeepAlive(true, tcpKeepaliveSeconds * 1000);
    const connection = new Connection(lane, this, scheduler);
    this.connection = connection;
    socket.on('data', (bytes: Buffer) => connection.receive(bytes));
    socket.on('end', () => connection.endOfInput());
    socket.on('error', () => connection.destroy());
    socket.on('close', () => connection.destroy());
  }

  get unsentBytes(): number {
    return this.socket.writableLength;
  }

  /**
   * The system nearly always takes all bytes at once, and the array can be reused; where it does not, Node keeps the
   * array. Bytes behind others that wait already are copied, so that a few bytes do not keep a whole array alive.
   */
  send(bytes: Uint8Array, start: number, end: number): number {
    const { socket } = this;
    this.keptBytes = false;
    if (socket.destroyed) return -1;
    if (socket.writableLength > 0) {
      socket.write(Buffer.from(bytes.subarray(start, end)), this.sent);
    } else {
      socket.write(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start), this.sent);
      this.keptBytes = socket.writableLength > 0;
    }
    return end - start;
  }

  /** Node reports the end of the client only while the socket is read: the session bounds the input meanwhile. */
  watch(reading: Reading, wantsRoom: boolean): void {
    this.wantsRoom = wantsRoom;
    if (reading === Reading.none) this.socket.pause();
    else if (this.socket.isPaused()) this.socket.resume();
  }

  holdInput(): void {
    this.socket.pause();
  }

  endOutput(): boolean {
    this.socket.end();
    return !this.socket.destroyed;
  }

  close(): void {
    this.socket.destroy();
  }

  private readonly sent = (): void => {
    if (this.wantsRoom && this.socket.writableLength === 0) this.connection.flush();
  };
}

function describe(host: string | undefined, port: number | undefined): string {
  if (host === undefined) return '?:0';
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
