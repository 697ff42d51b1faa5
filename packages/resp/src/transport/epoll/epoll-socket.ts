import type { BusyAnswers } from '../../session/busy-answers.js';
import { Lane } from '../../session/lane.js';
import { Connection, type ConnectionScheduler, Reading, type Socket } from '../connection.js';
import { Errno, type Libc } from './libc.js';
import { Interest, type Poller } from './poller.js';
import { describeEnd } from './socket-address.js';

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

/** The epoll events of each kind of reading. */
const INTERESTS = [Interest.none, Interest.peerEnded, Interest.peerEnded | Interest.readable] as const;
/** Nothing more will arrive after these, so what a read has left would not be reported. */
const LAST_EVENTS = Interest.peerEnded | Interest.failed | Interest.hungUp;

/**
 * A socket in the loop of its lane: one recv into the lane's input per event, one send for all replies.
 *
 * Its events are edge-triggered. A read that did not take all that there was, or may not have, asks for them again
 * (`reportAgain`); so does every change of what it is watched for.
 */
export class EpollSocket implements Socket {
  readonly fd: number;
  readonly address: string;
  readonly localAddress: string;
  readonly connection: Connection;
  /** The system takes bytes at once, or the connection keeps them. */
  readonly unsentBytes = 0;
  readonly keptBytes = false;

  private readonly libc: Libc;
  private readonly poller: Poller;
  private readonly inputAddress: number;
  private interest: number = INTERESTS[Reading.all];

  /** `inputAddress` is the address of the lane's input in memory. */
  constructor(
    libc: Libc,
    poller: Poller,
    lane: Lane,
    inputAddress: number,
    fd: number,
    scheduler: ConnectionScheduler,
  ) {
    this.libc = libc;
    this.poller = poller;
    this.inputAddress = inputAddress;
    this.fd = fd;
    this.configure(lane.server.config.tcpKeepaliveSeconds);
    this.address = describeEnd(libc, fd, 'peer');
    this.localAddress = describeEnd(libc, fd, 'local');
    this.connection = new Connection(lane, this, scheduler);
  }

  /** False where the system cannot watch one more socket. */
  open(): boolean {
    return this.poller.add(this.fd, this.interest | Interest.edge);
  }

  /** Handles the events that epoll reports. */
  handle(events: number): void {
    const { connection } = this;
    if ((events & Interest.writable) !== 0) connection.flush();
    if (connection.closed) return;
    if ((events & Interest.readable) !== 0) {
      // Few clients send more before they have their replies: only for those a held connection costs a system call.
      if (connection.isHeld) this.change(Interest.none);
      else this.read(events);
    } else if ((events & (Interest.failed | Interest.hungUp)) !== 0) {
      connection.destroy();
    } else if ((events & Interest.peerEnded) !== 0) {
      connection.endDuringWait();
    }
  }

  send(bytes: Uint8Array, start: number, end: number): number {
    const sent = this.libc.send(this.fd, bytes, start, end - start, MSG_NOSIGNAL);
    if (sent >= 0) return sent;
    const errno = this.libc.errno();
    if (errno === Errno.again) return 0;
    if (errno !== Errno.interrupted && errno !== Errno.noBuffers) return -1;
    // The socket may have room already, and then there is no edge.
    this.reportAgain();
    return 0;
  }

  watch(reading: Reading, wantsRoom: boolean): void {
    this.change(INTERESTS[reading] | (wantsRoom ? Interest.writable : Interest.none));
  }

  /** Room to send is of no use meanwhile, and would be reported again and again. */
  holdInput(): void {
    this.change(this.interest & ~Interest.writable);
  }

  endOutput(): boolean {
    return this.libc.shutdown(this.fd, SHUTDOWN_WRITE) === 0;
  }

  /** Closing removes it from the epoll set. */
  close(): void {
    this.libc.close(this.fd);
  }

  /** Events that are still true are reported at the next wait. */
  reportAgain(): void {
    this.poller.change(this.fd, this.interest | Interest.edge);
  }

  private change(interest: number): void {
    if (interest === this.interest) return;
    this.interest = interest;
    this.reportAgain();
  }

  /** At most one read: further bytes have their turn after the events of the other sockets. */
  private read(events: number): void {
    const { connection } = this;
    const staged = connection.stage();
    const count = this.libc.recv(this.fd, this.inputAddress + staged, Lane.READ_BYTES, 0);
    if (count > 0) {
      connection.receiveStaged(staged, count);
      if ((count === Lane.READ_BYTES || (events & LAST_EVENTS) !== 0) && !connection.closed) this.reportAgain();
    } else if (count === 0) {
      connection.endOfInput();
    } else {
      const errno = this.libc.errno();
      if (errno === Errno.interrupted) this.reportAgain();
      else if (errno !== Errno.again) connection.destroy();
    }
  }

  /** Reads into `bytes`, at this address, for answers while a script keeps the lane. All else waits for its end. */
  readWhileBusy(bytes: Uint8Array, address: number, answers: BusyAnswers): void {
    this.reportAgain();
    if (this.connection.isHeld) return;
    const count = this.libc.recv(this.fd, address, bytes.length, 0);
    if (count > 0) this.connection.answerWhileBusy(bytes.subarray(0, count), answers);
  }

  private configure(keepaliveSeconds: number): void {
    const set = (level: number, name: number, value: number): void => {
      this.libc.setsockopt(this.fd, level, name, Int32Array.of(value), 4);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    if (keepaliveSeconds <= 0) return;
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, keepaliveSeconds);
    set(IPPROTO_TCP, TCP_KEEPINTVL, Math.max(1, Math.floor(keepaliveSeconds / KEEPALIVE_PROBES)));
    set(IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
  }
}
