import type { Socket } from 'node:net';
import { ReplyWriter } from '@quotadb/wire';
import { errors } from '../errors.js';
import type { DiskWaiter } from '../services/lane-disk.js';
import type { Client, Connection } from '../session/client.js';
import type { Lane } from '../session/lane.js';
import { isOverdue } from '../session/overdue.js';
import { Session } from '../session/session.js';
import { OutputWatch } from './output-watch.js';

/**
 * One socket and its session.
 *
 *   read → session.receive → one write of all the replies
 *
 * Reading stops while commands are left over from a long turn, and while more replies wait to be sent than the soft limit
 * allows. Then the client's own sending stops too, and nothing piles up on either side. While a command waits, reading
 * goes on, into the session's bounded backlog: it is how we learn that the client is gone.
 */
export class NetConnection implements Connection, DiskWaiter {
  /** Once our side is closed, the client gets this long to close its own, so that it can read its last replies. */
  static readonly LINGER_MS = 1000;
  /** setTimeout takes no longer; a wait past it is as good as one without end. */
  static readonly LONGEST_TIMER_MS = 2 ** 31 - 1;

  private readonly lane: Lane;
  private readonly socket: Socket;
  private readonly client: Client;
  private readonly session: Session;
  private readonly output: OutputWatch;
  private readonly closed: Promise<void>;
  private timer: NodeJS.Timeout | undefined = undefined;
  private turn: NodeJS.Immediate | undefined = undefined;
  /** Replies that wait for so many flushes of the disk. */
  private holds = 0;
  private held: Buffer[] = [];
  private heldBytes = 0;
  /** The client will send no more. */
  private inputEnded = false;
  /** We will send no more. */
  private outputEnded = false;

  constructor(lane: Lane, socket: Socket, onClose: () => void) {
    const { server } = lane;
    this.lane = lane;
    this.socket = socket;
    this.client = server.clients.add({
      address: address(socket.remoteAddress, socket.remotePort),
      localAddress: address(socket.localAddress, socket.localPort),
      nowMs: server.clock.now(),
      connection: this,
      user: server.access.newcomer(),
    });
    this.session = new Session(lane, this.client);
    this.output = new OutputWatch(server.config);
    const { tcpKeepaliveSeconds } = server.config;
    if (tcpKeepaliveSeconds > 0) socket.setKeepAlive(true, tcpKeepaliveSeconds * 1000);
    socket.on('data', (bytes: Buffer) => this.receive(bytes));
    socket.on('drain', () => this.afterTurn());
    socket.on('end', () => this.endOfInput());
    socket.on('error', () => socket.destroy());
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.release();
        onClose();
        resolve();
      });
    });
  }

  get pendingBytes(): number {
    return this.socket.writableLength + this.heldBytes;
  }

  destroy(): void {
    this.socket.destroy();
  }

  wake(): void {
    clearTimeout(this.timer);
    this.turn ??= setImmediate(() => this.resume());
  }

  /** Answers what has been read, and closes. */
  finish(): Promise<void> {
    this.inputEnded = true;
    this.socket.pause();
    while (!this.client.closing && (this.session.waitMs >= 0 || this.session.hasMore)) {
      this.session.resume();
      this.sendReplies();
    }
    if (this.holds === 0) this.end();
    return this.closed;
  }

  sweep(nowMs: number): void {
    const { config, statistics } = this.lane.server;
    if (this.output.exceeded(this.pendingBytes, nowMs)) {
      statistics.outputLimitDisconnections++;
      this.destroy();
      return;
    }
    if (isOverdue(this.client, config, nowMs)) this.destroy();
  }

  private receive(bytes: Buffer): void {
    if (this.outputEnded) return;
    this.session.receive(bytes);
    this.afterTurn();
  }

  private resume(): void {
    this.timer = undefined;
    this.turn = undefined;
    if (this.socket.destroyed || this.outputEnded) return;
    this.session.resume();
    this.afterTurn();
  }

  /** What the held replies tell of is on disk, or will not be. */
  durable(isDurable: boolean): void {
    this.holds--;
    if (this.socket.destroyed) return;
    if (!isDurable) {
      // What the held replies say may not come true. Of those the client waits for, the first gets the reason.
      this.held = [DISK_FAILED];
      this.client.closing = true;
    }
    if (this.holds > 0) return;
    for (const bytes of this.held) this.socket.write(bytes);
    this.held = [];
    this.heldBytes = 0;
    this.afterTurn();
  }

  /** Sends what there is and decides what comes next. */
  private afterTurn(): void {
    this.sendReplies();
    if (this.socket.destroyed || this.outputEnded) return;
    if (this.holds > 0) {
      this.socket.pause();
      return;
    }
    const { session } = this;
    if (this.client.closing) {
      this.end();
    } else if (session.waitMs >= 0) {
      // Nobody is left to wait for.
      if (this.inputEnded) this.destroy();
      else this.wakeAfter(session.waitMs);
    } else if (this.output.isFull(this.pendingBytes)) {
      // 'drain' comes back here.
      this.socket.pause();
    } else if (session.hasMore) {
      this.socket.pause();
      this.turn ??= setImmediate(() => this.resume());
    } else if (this.inputEnded) {
      this.end();
    } else if (this.socket.isPaused()) {
      this.socket.resume();
    }
  }

  private wakeAfter(milliseconds: number): void {
    if (this.timer !== undefined || milliseconds > NetConnection.LONGEST_TIMER_MS) return;
    this.timer = setTimeout(() => this.resume(), milliseconds);
  }

  /**
   * The writer's own buffer is handed to the socket. Nearly always the kernel takes all of it at once, and the buffer
   * can be used again; where it does not, the socket keeps the buffer and the writer gets a new one. What comes behind
   * replies that already wait is copied, so that a few bytes do not hold on to a whole buffer.
   */
  private sendReplies(): void {
    const { reply, server } = this.lane;
    const { length } = reply;
    if (length === 0) return;
    const { socket } = this;
    const mustHold = this.lane.mustHoldReplies();
    if (!socket.destroyed && !this.outputEnded) {
      this.client.outputBytes += length;
      server.statistics.outputBytes += length;
      server.statistics.writesProcessed++;
      if (mustHold) {
        this.holds++;
        server.disk.wait(this);
      }
      if (this.holds > 0) {
        this.held.push(Buffer.from(reply.bytes.subarray(0, length)));
        this.heldBytes += length;
      } else if (socket.writableLength > 0) {
        socket.write(Buffer.from(reply.bytes.subarray(0, length)));
      } else {
        socket.write(Buffer.from(reply.bytes.buffer, reply.bytes.byteOffset, length));
        if (socket.writableLength > 0) reply.bytes = new Uint8Array(ReplyWriter.INITIAL_BYTES);
      }
    }
    reply.reset();
    if (this.output.isPastHardLimit(this.pendingBytes)) {
      server.statistics.outputLimitDisconnections++;
      this.destroy();
    }
  }

  private endOfInput(): void {
    this.inputEnded = true;
    this.afterTurn();
  }

  /**
   * Our side is done. The other side may still be sending: closing with unread bytes in the socket would make the system
   * throw away replies that are on their way, so what still comes is read and dropped for a while.
   */
  private end(): void {
    if (this.outputEnded || this.socket.destroyed) return;
    this.outputEnded = true;
    const { socket } = this;
    socket.end(() => {
      if (socket.readableEnded) socket.destroy();
      else this.timer = setTimeout(() => socket.destroy(), NetConnection.LINGER_MS);
    });
    socket.on('end', () => {
      if (socket.writableFinished) socket.destroy();
    });
    socket.resume();
  }

  private release(): void {
    clearTimeout(this.timer);
    clearImmediate(this.turn);
    this.lane.server.clients.remove(this.client);
  }
}

function address(host: string | undefined, port: number | undefined): string {
  if (host === undefined) return '?:0';
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

const DISK_FAILED = Buffer.from(`-${errors.diskFailed}\r\n`);
