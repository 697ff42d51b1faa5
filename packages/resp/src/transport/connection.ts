import { ReplyWriter } from '@quotadb/wire';
import { errors } from '../errors/errors.js';
import { type ReplicaWaiter, unreplicated } from '../services/held-replies.js';
import type { DiskWaiter } from '../services/lane-disk.js';
import type { BusyAnswers } from '../session/busy-answers.js';
import type { Client, ClientConnection } from '../session/client.js';
import type { Lane } from '../session/lane.js';
import { Session } from '../session/session.js';
import { OutputWatch } from './output-watch.js';
import { PendingOutput } from './pending-output.js';
import { AWAKE, type Sleeper } from './wake-queue.js';

/** The purpose of reading a socket. `end`: only to notice that the client has closed the connection. */
export const Reading = { none: 0, end: 1, all: 2 } as const;
export type Reading = (typeof Reading)[keyof typeof Reading];

/** One client's socket, as its connection uses it. Epoll, node:net and TLS each have one. */
export interface Socket {
  /** host:port of both ends. */
  readonly address: string;
  readonly localAddress: string;
  /** Bytes that the transport has buffered and the system has not taken. */
  readonly unsentBytes: number;
  /** After a send: the transport still uses the array, which must not be reused. */
  readonly keptBytes: boolean;
  /** Sends bytes[start..end). Returns the number taken; -1 where the connection is broken. */
  send(bytes: Uint8Array, start: number, end: number): number;
  /** Sets the reading from now on, and whether to call `flush` when there is room to send. */
  watch(reading: Reading, wantsRoom: boolean): void;
  /** A wait that is short as a rule: stops reading until the next `watch`, where that costs no system call. */
  holdInput(): void;
  /** Ends the server's half of the connection. False where it is broken. */
  endOutput(): boolean;
  /** Closes at once; unsent bytes are lost. */
  close(): void;
}

/** Runs connections without socket events, and is notified when one has closed. */
export interface ConnectionScheduler {
  /**
   * The replies of its turn are at the end of the lane's reply. True where the scheduler will have them sent
   * (`sendReplies`), before its next turn and before the lane waits; false where the connection sends them now.
   */
  takeReplies(connection: Connection): boolean;
  /** Resume it after the turns of the other connections; cancels its sleep. */
  onTurn(connection: Connection): void;
  /** Resume it at this time of the monotonic clock. */
  onSleep(connection: Connection, wakeAtMs: number): void;
  onClose(connection: Connection): void;
}

/**
 * One client's connection: the state machine between a socket and a session, the same under every transport.
 *
 *   input → session → one send of all the replies → the next state (`proceed`)
 *
 * The system takes nearly every reply at once. The rest is copied into a buffer and sent when there is room; reading
 * stops once more bytes wait than the soft limit allows, which bounds the memory on both sides.
 *
 *   state                  | reading | ends by
 *   -----------------------|---------|-----------------------------------------------------------
 *   serving                | all     | a command that waits, a long turn, full output, end of input
 *   a command waits        | end     | its answer, its time; the end of the client, where the wait is a long one
 *   waiting for a service  | held    | its answer; a half-closed client gets it (in a login `end`: `client.gone`)
 *   held                   | held    | the flush of the disk; the acknowledgements of other servers
 *   closing                | none    | everything is sent
 *   lingering              | all     | the client ends its half, or LINGER_MS
 */
export class Connection implements ClientConnection, DiskWaiter, ReplicaWaiter, Sleeper {
  /** Once the server's half has ended, the client gets this long to read its last replies and end its own. */
  static readonly LINGER_MS = 1000;
  /**
   * A client that has ended its half in a blocking command (WAIT) may still read, or be gone: nothing but sending tells
   * the two apart. A wait of up to this time is waited for, and a longer one dropped.
   */
  static readonly HALF_CLOSED_WAIT_MS = 60_000;

  readonly client: Client;
  readonly socket: Socket;
  wakeAtMs = 0;
  sleepIndex = AWAKE;
  /** A turn is scheduled for it. */
  hasTurn = false;
  closed = false;

  private readonly lane: Lane;
  private readonly scheduler: ConnectionScheduler;
  private readonly session: Session;
  private readonly output: OutputWatch;
  private readonly pending = new PendingOutput();
  /** Flushes and acknowledgements that pending replies wait for, and the position of the first such reply. */
  private holds = 0;
  private heldFrom = 0;
  /** The client will send no more. */
  private inputEnded = false;
  /** The server will send no more. */
  private outputEnded = false;

  constructor(lane: Lane, socket: Socket, scheduler: ConnectionScheduler) {
    const { server } = lane;
    this.lane = lane;
    this.socket = socket;
    this.scheduler = scheduler;
    this.client = server.clients.add({
      address: socket.address,
      localAddress: socket.localAddress,
      nowMs: server.clock.now(),
      connection: this,
      user: server.access.newcomer(),
    });
    this.session = new Session(lane, this.client);
    this.output = new OutputWatch(server.config);
  }

  get pendingBytes(): number {
    return this.pending.length + this.socket.unsentBytes;
  }

  /** Replies wait for the disk or for other servers, or a command for a service: nothing is read until then. */
  get isHeld(): boolean {
    return this.holds > 0 || this.awaitsService;
  }

  private get awaitsService(): boolean {
    return this.session.waitMs >= 0 && !this.client.blocked && this.client.gone === undefined;
  }

  receive(bytes: Uint8Array): void {
    if (this.closed || this.outputEnded) return;
    this.lane.beginTurn();
    this.session.receive(bytes);
    this.afterTurn();
  }

  /** While a script of another connection keeps the lane. */
  answerWhileBusy(bytes: Uint8Array, answers: BusyAnswers): void {
    if (this.closed || this.outputEnded) return;
    this.session.answerWhileBusy(bytes, answers);
    if (answers.reply.length > 0) this.send(answers.reply, 0);
  }

  /** The position of the next bytes in the lane's input; see Session.stage. */
  stage(): number {
    return this.outputEnded ? 0 : this.session.stage();
  }

  receiveStaged(staged: number, length: number): void {
    if (this.outputEnded) return;
    this.lane.beginTurn();
    this.session.receiveStaged(staged, length);
    this.afterTurn();
  }

  /** The client has ended its half. */
  endOfInput(): void {
    if (this.closed) return;
    this.inputEnded = true;
    this.client.gone?.();
    if (this.outputEnded) this.destroy();
    else this.proceed();
  }

  /**
   * The client has ended its half while a command of it waits; bytes of it may be unread. In a long blocking command it
   * is taken for gone; otherwise it gets its reply, though a login is dropped if its password is not checked yet.
   */
  endDuringWait(): void {
    if (this.isEndOfWait()) {
      this.destroy();
      return;
    }
    const { gone } = this.client;
    this.client.gone = undefined;
    gone?.();
    this.socket.watch(Reading.none, this.pendingBytes > 0);
  }

  /** There may be room to send. */
  flush(): void {
    if (this.closed) return;
    if (this.pending.length > 0 && this.holds === 0) {
      const sent = this.socket.send(this.pending.view(), 0, this.pending.length);
      if (sent < 0) this.destroy();
      else if (this.socket.keptBytes) this.pending.abandon();
      else this.pending.consume(sent);
    }
    if (!this.closed) this.proceed();
  }

  wake(): void {
    if (!this.closed) this.scheduler.onTurn(this);
  }

  /** A wait is over, or this connection has its next turn. */
  resume(): void {
    this.hasTurn = false;
    if (this.closed) return;
    if (this.outputEnded) {
      this.destroy();
      return;
    }
    this.lane.beginTurn();
    this.session.resume();
    this.afterTurn();
  }

  destroy(): void {
    if (this.closed) return;
    this.closed = true;
    this.socket.close();
    this.pending.clear();
    this.lane.server.clients.remove(this.client);
    this.client.gone?.();
    this.scheduler.onClose(this);
  }

  /** Runs the commands that have been read, sends the replies, and closes. */
  finish(): void {
    if (this.closed || this.outputEnded) return;
    this.inputEnded = true;
    while (!this.closed && !this.client.closing && (this.session.waitMs >= 0 || this.session.hasMore)) {
      this.lane.beginTurn();
      this.session.resume();
      this.handOverReplies(false);
    }
    if (this.closed) return;
    if (this.pendingBytes === 0) this.end();
    else this.socket.watch(Reading.none, this.holds === 0);
  }

  sweep(nowMs: number): void {
    const { config, statistics } = this.lane.server;
    if (this.output.exceeded(this.pendingBytes, nowMs)) {
      statistics.outputLimitDisconnections++;
      this.destroy();
      return;
    }
    if (this.client.isOverdue(config, nowMs)) this.destroy();
  }

  /** The changes that the held replies acknowledge are on disk, or could not be written. */
  durable(isDurable: boolean): void {
    this.release(isDurable ? undefined : errors.diskFailed);
  }

  /** Enough other servers hold those changes, or did not in time. */
  replicated(isReplicated: boolean): void {
    const { replicateBeforeReply, replicateTimeoutMs } = this.lane.server.config;
    const { error } = unreplicated(replicateBeforeReply, replicateTimeoutMs);
    this.release(isReplicated ? undefined : errors.notReplicated(error));
  }

  /** One hold is over. Held replies acknowledge what did not happen: an error replaces them, the connection closes. */
  private release(error: string | undefined): void {
    this.holds--;
    if (this.closed) return;
    if (error !== undefined) {
      if (this.heldFrom > 0) {
        this.destroy();
        return;
      }
      this.pending.clear();
      this.pending.append(Buffer.from(`-${error}\r\n`));
      this.client.closing = true;
    }
    if (this.holds === 0) this.flush();
  }

  /** Sends the replies that the scheduler took: bytes[start..end) of the lane's reply. */
  sendReplies(start: number, end: number): void {
    if (this.closed) return;
    this.sendBytes(this.lane.reply, start, end);
    this.proceed();
  }

  /** Sends the replies and chooses the next state, now or when the scheduler has sent them. */
  private afterTurn(): void {
    if (!this.handOverReplies(true)) this.proceed();
  }

  private proceed(): void {
    if (this.closed || this.outputEnded) return;
    if (this.holds > 0) {
      this.socket.holdInput();
      return;
    }
    const { session, pendingBytes } = this;
    let reading: Reading = Reading.all;
    if (this.client.closing) {
      if (pendingBytes === 0) this.end();
      else this.inputEnded = true;
    } else if (session.waitMs >= 0) {
      reading = this.wait();
    } else if (this.output.isFull(pendingBytes)) {
      reading = Reading.none;
    } else if (session.hasMore) {
      reading = Reading.none;
      this.scheduler.onTurn(this);
    } else if (this.inputEnded && pendingBytes === 0) {
      this.end();
    }
    if (this.closed || this.outputEnded) return;
    if (this.inputEnded) reading = Reading.none;
    else if (pendingBytes === 0 && !this.client.closing && this.awaitsService) {
      this.socket.holdInput();
      return;
    }
    this.socket.watch(reading, pendingBytes > 0);
  }

  /** Whether the end of the client ends the wait of its command, too. */
  private isEndOfWait(): boolean {
    return this.client.blocked && this.session.waitMs > Connection.HALF_CLOSED_WAIT_MS;
  }

  /**
   * Bytes behind a waiting command stay in the socket. The end of a client in a long blocking command (WAIT) must be
   * noticed, and that of one in a login, whose attempt may then be dropped; a client that waits for another service of
   * the server gets its reply though it has ended its half.
   */
  private wait(): Reading {
    const { session, client } = this;
    if (this.inputEnded && this.isEndOfWait()) {
      this.destroy();
      return Reading.none;
    }
    const isAwake = this.sleepIndex === AWAKE && !this.hasTurn;
    if (isAwake && session.waitMs !== Number.POSITIVE_INFINITY) {
      this.scheduler.onSleep(this, this.lane.server.clock.monotonic() + session.waitMs);
    }
    return client.blocked || client.gone !== undefined ? Reading.end : Reading.none;
  }

  /** True where the scheduler has taken the replies of this turn, and sends them soon. */
  private handOverReplies(mayWait: boolean): boolean {
    const { reply, repliesFrom } = this.lane;
    if (reply.length === repliesFrom) return false;
    if (this.lane.mustHoldReplies()) {
      if (!this.closed && !this.outputEnded) this.hold();
    } else if (mayWait && this.holds === 0 && this.pending.length === 0 && this.scheduler.takeReplies(this)) {
      return true;
    }
    this.send(reply, repliesFrom);
    return false;
  }

  private send(reply: ReplyWriter, start: number): void {
    this.sendBytes(reply, start, reply.length);
    if (start === 0) reply.reset();
    else reply.truncate(start);
  }

  private sendBytes(reply: ReplyWriter, start: number, end: number): void {
    if (this.closed || this.outputEnded) return;
    const { server } = this.lane;
    this.client.outputBytes += end - start;
    server.statistics.outputBytes += end - start;
    server.statistics.writesProcessed++;
    let sent = 0;
    if (this.pending.length === 0 && this.holds === 0) {
      sent = this.socket.send(reply.bytes, start, end);
      if (sent < 0) this.destroy();
      else if (this.socket.keptBytes) reply.bytes = new Uint8Array(ReplyWriter.INITIAL_BYTES);
    }
    if (start + sent < end && !this.closed) this.pending.append(reply.bytes.subarray(start + sent, end));
    if (!this.closed && this.output.isPastHardLimit(this.pendingBytes)) {
      server.statistics.outputLimitDisconnections++;
      this.destroy();
    }
  }

  /** Holds replies to changes that are not on disk, or not on other servers yet, and stops reading, until they are. */
  private hold(): void {
    const { disk, replication } = this.lane.server;
    if (this.holds++ === 0) this.heldFrom = this.pending.length;
    if (replication.held === undefined) {
      disk.hold(this);
      return;
    }
    replication.held.hold(this, this.lane.engine);
    if (!disk.isOn) return;
    // Changes are sent when the own disk has them: that flush is not left to its interval.
    this.holds++;
    disk.wait(this);
  }

  /**
   * Ends the server's half. The client may still be sending: closing with unread bytes in the socket would make the
   * system discard replies that are on their way, so further input is read and dropped for a while.
   */
  private end(): void {
    this.outputEnded = true;
    if (!this.socket.endOutput()) {
      this.destroy();
      return;
    }
    this.socket.watch(Reading.all, false);
    this.scheduler.onSleep(this, this.lane.server.clock.monotonic() + Connection.LINGER_MS);
  }
}
