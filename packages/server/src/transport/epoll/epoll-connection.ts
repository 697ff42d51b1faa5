import { errors } from '../../errors.js';
import type { DiskWaiter } from '../../services/lane-disk.js';
import type { Client, Connection } from '../../session/client.js';
import { Lane } from '../../session/lane.js';
import { isOverdue } from '../../session/overdue.js';
import { Session } from '../../session/session.js';
import { OutputWatch } from '../output-watch.js';
import { Errno, type Libc } from './libc.js';
import { PendingOutput } from './pending-output.js';
import { Interest, type Poller } from './poller.js';
import { describeEnd } from './socket-address.js';
import { AWAKE, type Sleeper } from './wake-queue.js';

const MSG_NOSIGNAL = 0x4000;
const SHUTDOWN_WRITE = 1;
const SOL_SOCKET = 1;
const SO_KEEPALIVE = 9;
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const TCP_KEEPIDLE = 4;
const TCP_KEEPINTVL = 5;
const TCP_KEEPCNT = 6;
const KEEPALIVE_PROBES = 3;

/** Told when a connection must be looked at though its socket is silent, and when it is gone. */
export interface ConnectionListener {
  /** Resume it when the others had their turn. */
  onTurn(connection: EpollConnection): void;
  /** Resume it at this time of the monotonic clock. */
  onSleep(connection: EpollConnection, wakeAtMs: number): void;
  onClose(connection: EpollConnection): void;
}

/**
 * One socket and its session, driven by the loop of its lane:
 *
 *   readable → recv into the lane's input → session → one send of all the replies
 *
 * The kernel takes nearly every reply at once. What it does not take is copied aside and sent when there is room; until
 * then reading stops once more waits than the soft limit allows, so nothing piles up on either side.
 */
export class EpollConnection implements Connection, DiskWaiter, Sleeper {
  /** Once our side is closed, the client gets this long to close its own, so that it can read its last replies. */
  static readonly LINGER_MS = 1000;

  readonly fd: number;
  readonly session: Session;
  readonly client: Client;
  wakeAtMs = 0;
  sleepIndex = AWAKE;
  /** It has asked for a turn and not had it yet. */
  hasTurn = false;
  closed = false;

  private readonly libc: Libc;
  private readonly poller: Poller;
  private readonly lane: Lane;
  private readonly inputAddress: number;
  private readonly output: OutputWatch;
  private readonly listener: ConnectionListener;
  private interest: number = Interest.readable;
  private readonly pending = new PendingOutput();
  /** Flushes of the disk that what is pending waits for, and where in it that begins. */
  private holds = 0;
  private heldFrom = 0;
  /** The client will send no more. */
  private inputEnded = false;
  /** We will send no more. */
  private outputEnded = false;

  constructor(libc: Libc, poller: Poller, lane: Lane, inputAddress: number, fd: number, listener: ConnectionListener) {
    const { server } = lane;
    this.libc = libc;
    this.poller = poller;
    this.lane = lane;
    this.inputAddress = inputAddress;
    this.fd = fd;
    this.listener = listener;
    this.configure();
    this.client = server.clients.add({
      address: describeEnd(libc, fd, 'peer'),
      localAddress: describeEnd(libc, fd, 'local'),
      nowMs: server.clock.now(),
      connection: this,
      user: server.access.newcomer(),
    });
    this.session = new Session(lane, this.client);
    this.output = new OutputWatch(server.config);
  }

  get pendingBytes(): number {
    return this.pending.length;
  }

  /** False where the system cannot watch one more socket. */
  open(): boolean {
    return this.poller.add(this.fd, this.interest);
  }

  /** What epoll said of the socket. */
  handle(news: number): void {
    if ((news & Interest.writable) !== 0) this.flush();
    if (this.closed) return;
    if ((news & Interest.readable) !== 0) {
      // Hardly any client sends more before it has its replies: only one that does has to be kept from being told again.
      if (this.holds > 0) this.watch(Interest.none);
      else this.read();
    } else if ((news & (Interest.failed | Interest.hungUp | Interest.peerEnded)) !== 0) {
      this.destroy();
    }
  }

  wake(): void {
    if (!this.closed) this.listener.onTurn(this);
  }

  /** A wait is over, or it is this connection's turn again. */
  resume(): void {
    this.hasTurn = false;
    if (this.closed) return;
    if (this.outputEnded) {
      this.destroy();
      return;
    }
    this.session.resume();
    this.afterTurn();
  }

  destroy(): void {
    if (this.closed) return;
    this.closed = true;
    // Closing takes it out of the epoll set.
    this.libc.close(this.fd);
    this.pending.clear();
    this.lane.server.clients.remove(this.client);
    this.listener.onClose(this);
  }

  /** Answers what has been read, and closes. */
  finish(): void {
    if (this.closed || this.outputEnded) return;
    this.inputEnded = true;
    while (!this.closed && !this.client.closing && (this.session.waitMs >= 0 || this.session.hasMore)) {
      this.session.resume();
      this.sendReplies();
    }
    if (this.closed) return;
    if (this.pendingBytes === 0) this.end();
    else if (this.holds === 0) this.watch(Interest.writable);
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

  private configure(): void {
    const { libc, fd } = this;
    const set = (level: number, name: number, value: number): void => {
      libc.setsockopt(fd, level, name, Int32Array.of(value), 4);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    const { tcpKeepaliveSeconds } = this.lane.server.config;
    if (tcpKeepaliveSeconds <= 0) return;
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, tcpKeepaliveSeconds);
    set(IPPROTO_TCP, TCP_KEEPINTVL, Math.max(1, Math.floor(tcpKeepaliveSeconds / KEEPALIVE_PROBES)));
    set(IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
  }

  /** One read at most; what is left is told again by epoll, after the others had theirs. */
  private read(): void {
    const { session } = this;
    const staged = this.outputEnded ? 0 : session.stage();
    const count = this.libc.recv(this.fd, this.inputAddress + staged, Lane.READ_BYTES, 0);
    if (count > 0) {
      if (this.outputEnded) return;
      session.receiveStaged(staged, count);
      this.afterTurn();
    } else if (count === 0) {
      this.endOfInput();
    } else {
      const errno = this.libc.errno();
      if (errno !== Errno.again && errno !== Errno.interrupted) this.destroy();
    }
  }

  /**
   * The replies at hand tell of changes that are not on disk yet: they stay here, and nothing more is read, until they
   * are.
   */
  private hold(): void {
    if (this.holds === 0) this.heldFrom = this.pendingBytes;
    this.holds++;
    this.lane.server.disk.wait(this);
  }

  durable(isDurable: boolean): void {
    this.holds--;
    if (this.closed) return;
    if (!isDurable) {
      // What the held replies say may not come true. Of those the client waits for, the first gets the reason.
      if (this.heldFrom > 0 || this.client.closing) {
        this.destroy();
        return;
      }
      this.pending.clear();
      this.pending.append(DISK_FAILED);
      this.client.closing = true;
    }
    if (this.holds === 0) this.flush();
  }

  /** Sends what there is and decides what comes next. */
  private afterTurn(): void {
    this.sendReplies();
    if (this.closed || this.outputEnded) return;
    if (this.holds > 0) return;
    const { session } = this;
    let reading: number = Interest.readable;
    if (this.client.closing) {
      if (this.pendingBytes === 0) this.end();
      else this.inputEnded = true;
    } else if (session.waitMs >= 0) {
      reading = this.wait();
    } else if (this.output.isFull(this.pendingBytes)) {
      reading = Interest.none;
    } else if (session.hasMore) {
      reading = Interest.none;
      this.listener.onTurn(this);
    } else if (this.inputEnded && this.pendingBytes === 0) {
      this.end();
    }
    if (this.closed) return;
    if (this.inputEnded && !this.outputEnded) reading = Interest.none;
    this.watch(reading | (this.pendingBytes > 0 ? Interest.writable : Interest.none));
  }

  /**
   * What waits behind a waiting command stays in the socket. A client that asked to wait and goes away must be noticed
   * all the same; one that waits for us, such as for other lanes, gets its answer though it has said goodbye.
   */
  private wait(): number {
    const { session, client } = this;
    if (client.blocked && this.inputEnded) {
      this.destroy();
      return Interest.none;
    }
    const isAwake = this.sleepIndex === AWAKE && !this.hasTurn;
    if (isAwake && session.waitMs !== Number.POSITIVE_INFINITY) {
      this.listener.onSleep(this, this.lane.server.clock.monotonic() + session.waitMs);
    }
    return client.blocked ? Interest.peerEnded : Interest.none;
  }

  private watch(interest: number): void {
    if (interest === this.interest) return;
    this.interest = interest;
    this.poller.change(this.fd, interest);
  }

  private sendReplies(): void {
    const { reply, server } = this.lane;
    const { length } = reply;
    if (length === 0) return;
    const mustHold = this.lane.mustHoldReplies();
    if (!this.closed && !this.outputEnded) {
      if (mustHold) this.hold();
      this.client.outputBytes += length;
      server.statistics.outputBytes += length;
      server.statistics.writesProcessed++;
      let sent = 0;
      if (this.pendingBytes === 0 && this.holds === 0) {
        sent = this.libc.send(this.fd, reply.bytes, length, MSG_NOSIGNAL);
        if (sent < 0) sent = this.sendFailed();
      }
      if (sent < length && !this.closed) this.pending.append(reply.bytes.subarray(sent, length));
    }
    reply.reset();
    if (!this.closed && this.output.isPastHardLimit(this.pendingBytes)) {
      server.statistics.outputLimitDisconnections++;
      this.destroy();
    }
  }

  /** 0 where the kernel merely has no room now; a broken connection is closed. */
  private sendFailed(): number {
    const errno = this.libc.errno();
    if (errno !== Errno.again && errno !== Errno.interrupted && errno !== Errno.noBuffers) this.destroy();
    return 0;
  }

  private flush(): void {
    if (this.pendingBytes > 0 && this.holds === 0) {
      const sent = this.libc.send(this.fd, this.pending.view(), this.pendingBytes, MSG_NOSIGNAL);
      if (sent < 0) this.sendFailed();
      else this.pending.consume(sent);
    }
    if (!this.closed) this.afterTurn();
  }

  private endOfInput(): void {
    this.inputEnded = true;
    if (this.outputEnded) this.destroy();
    else this.afterTurn();
  }

  /**
   * Our side is done. The other side may still be sending: closing with unread bytes in the socket would make the system
   * throw away replies that are on their way, so what still comes is read and dropped for a while.
   */
  private end(): void {
    this.outputEnded = true;
    if (this.libc.shutdown(this.fd, SHUTDOWN_WRITE) !== 0) {
      this.destroy();
      return;
    }
    this.watch(Interest.readable);
    this.listener.onSleep(this, this.lane.server.clock.monotonic() + EpollConnection.LINGER_MS);
  }
}

const DISK_FAILED = Buffer.from(`-${errors.diskFailed}\r\n`);
