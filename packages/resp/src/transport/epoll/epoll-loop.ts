import type { Client } from '../../session/client.js';
import type { Lane } from '../../session/lane.js';
import type { RoundClock } from '../../time/clock.js';
import type { Connection, ConnectionScheduler } from '../connection.js';
import { WakeQueue } from '../wake-queue.js';
import { BusyRound } from './busy-round.js';
import { EpollSocket } from './epoll-socket.js';
import type { Libc } from './libc.js';
import { Outbox } from './outbox.js';
import { Interest, Poller } from './poller.js';
import { ThreadTime } from './thread-time.js';

const EVENTFD_BYTES = 8;
/** The main thread has the log while it writes, and for some milliseconds when it begins a segment. */
const RETRY_WRITE_MS = 1;
/** How often the sockets are polled again before the flush of a round, to include more changes in it. */
const MAXIMUM_LOOKS = 4;
/**
 * Where a tick leaves work and clients are active, the next tick waits this many times as long as the last one took:
 * deleting a million expired keys takes a fifth of the lane's time, not all of it.
 */
const TICK_REST_FACTOR = 4;
/** After a round longer than this, the processor time of the next is measured too, at half a percent of its time. */
const LONG_ROUND_MS = 0.1;

/** Work of a loop beside its connections, on the same thread. */
export interface LoopDuties {
  /** Another thread wrote to the wake descriptor: a message or a new connection is waiting. */
  woken(): void;
  /** The descriptor given to `listenOn` has connections to accept. */
  acceptable(): void;
  /** A connection of this lane has closed. */
  closed(): void;
  /**
   * Called every TICK_MS or a little later. Returns true where work is left: then called again as soon as the lane is
   * idle.
   */
  tick(): boolean;
  /** Serves the connections that another lane has accepted for this one. */
  adoptArrivals(): void;
  /** The loop is about to wait: what other threads have been asked in this round leaves now. */
  roundOver(): void;
}

/**
 * A lane's loop: wait → read → apply → write, on one thread, without promises and callbacks of Node's own event loop,
 * which does not run meanwhile. All events come through the epoll set: sockets, and one eventfd that other threads
 * write to.
 */
export class EpollLoop implements ConnectionScheduler {
  /** Also the longest sleep of the thread in the kernel, where only its epoll set can wake it. */
  static readonly TICK_MS = 100;

  readonly poller: Poller;

  private readonly libc: Libc;
  private readonly lane: Lane;
  private readonly clock: RoundClock;
  private readonly duties: LoopDuties;
  private readonly inputAddress: number;
  private readonly sockets = new Map<number, EpollSocket>();
  private readonly outbox: Outbox;
  private readonly sleepers = new WakeQueue<Connection>();
  /** Connections with a turn in the next round, and a spare array for the round after it. */
  private turns: Connection[] = [];
  private spareTurns: Connection[] = [];
  private readonly wakeDescriptor: number;
  private readonly wakeCount = new Uint8Array(EVENTFD_BYTES);
  private listener = -1;
  private hasArrivals = false;
  private isWoken = false;
  private isAcceptable = false;
  private stopped = false;
  private finishByMs = Number.POSITIVE_INFINITY;
  private tickAtMs = 0;
  /** The last tick left work. */
  private hasMore = false;
  private readonly threadTime: ThreadTime;
  private readonly busy: BusyRound;
  /** The events of this round that are left, from `next` to before `end`. */
  private next = 0;
  private end = 0;

  /** The wake descriptor is an eventfd of the main thread, which other threads write to. */
  constructor(libc: Libc, lane: Lane, clock: RoundClock, wakeDescriptor: number, duties: LoopDuties) {
    this.libc = libc;
    this.lane = lane;
    this.clock = clock;
    this.duties = duties;
    this.poller = new Poller(libc);
    this.outbox = new Outbox(lane);
    this.threadTime = new ThreadTime(libc);
    this.inputAddress = libc.addressOf(lane.input.bytes);
    this.wakeDescriptor = wakeDescriptor;
    this.busy = new BusyRound(libc, lane, this.poller);
    if (!this.poller.add(wakeDescriptor, Interest.readable)) {
      throw new Error(`epoll_ctl on the wake descriptor ${wakeDescriptor}: errno ${libc.errno()}`);
    }
  }

  listenOn(fd: number): void {
    this.listener = fd;
    this.resumeListening();
  }

  pauseListening(): void {
    this.poller.remove(this.listener);
  }

  resumeListening(): void {
    this.poller.add(this.listener, Interest.readable | Interest.exclusive);
  }

  /** Serves this connection from now on; closes it where the loop is ending. */
  adopt(fd: number): void {
    if (this.stopped) {
      this.libc.close(fd);
      this.duties.closed();
      return;
    }
    const socket = new EpollSocket(this.libc, this.poller, this.lane, this.inputAddress, fd, this);
    this.sockets.set(fd, socket);
    if (!socket.open()) socket.connection.destroy();
  }

  sweep(nowMs: number): void {
    for (const { connection } of [...this.sockets.values()]) connection.sweep(nowMs);
  }

  takeReplies(connection: Connection): boolean {
    this.outbox.take(connection);
    return true;
  }

  onTurn(connection: Connection): void {
    this.sleepers.remove(connection);
    if (connection.hasTurn) return;
    connection.hasTurn = true;
    this.turns.push(connection);
  }

  onSleep(connection: Connection, wakeAtMs: number): void {
    this.sleepers.put(connection, wakeAtMs);
  }

  onClose(connection: Connection): void {
    this.sockets.delete((connection.socket as EpollSocket).fd);
    this.sleepers.remove(connection);
    this.duties.closed();
  }

  /** Runs the commands that were read, sends the replies, then ends the loop, at the latest after this time. */
  stop(withinMs: number): void {
    if (this.stopped) return;
    this.stopped = true;
    this.finishByMs = this.lane.server.clock.monotonic() + withinMs;
    if (this.listener !== -1) this.poller.remove(this.listener);
    for (const { connection } of [...this.sockets.values()]) connection.finish();
  }

  run(): void {
    const { clock, threadTime } = this;
    const { statistics, disk } = this.lane.server;
    const { held } = this.lane.server.replication;
    let isLong = false;
    // The main thread had the log at the end of the round: the lane tries again soon.
    let hasUnwritten = false;
    for (let nowMs = clock.monotonic(); ; ) {
      const count = this.poller.wait(
        Math.min(this.timeoutMs(nowMs), hasUnwritten ? RETRY_WRITE_MS : EpollLoop.TICK_MS),
      );
      const startedAtMs = clock.monotonic();
      const startedAt = isLong ? threadTime.microseconds() : 0;
      clock.startRound();
      this.dispatchAll(count);
      // Changes that came meanwhile share the flush of this round: polling costs far less than another flush.
      for (let looks = 0; disk.isGathering && looks < MAXIMUM_LOOKS; looks++) {
        const more = this.poller.wait(0);
        if (more === 0) break;
        this.dispatchAll(more);
      }
      if (this.hasArrivals) this.letIn();
      if (this.turns.length > 0) this.giveTurns();
      nowMs = clock.monotonic();
      const microseconds = (nowMs - startedAtMs) * 1000;
      statistics.busyMicroseconds += microseconds;
      statistics.recordTurn(microseconds);
      if (isLong) statistics.recordTurnProcessor(threadTime.microseconds() - startedAt);
      isLong = nowMs - startedAtMs > LONG_ROUND_MS;
      if (disk.isGathering) disk.submit();
      if (held?.isGathering) held.submit(this.lane.engine);
      hasUnwritten = !disk.write();
      if (this.sleepers.earliestMs <= nowMs) this.wakeSleepers(nowMs);
      if (nowMs >= this.tickAtMs || (this.hasMore && count === 0)) this.tick(nowMs);
      this.duties.roundOver();
      if (this.stopped && (this.sockets.size === 0 || nowMs >= this.finishByMs)) break;
    }
    for (const { connection } of [...this.sockets.values()]) connection.destroy();
    this.poller.close();
  }

  /** A script of `running` has run for long: answers the other connections, without running their commands. */
  answerMeanwhile(running: Client): void {
    this.outbox.send();
    this.duties.roundOver();
    this.giveBackEvents();
    this.busy.run((fd, answer) => {
      const socket = this.sockets.get(fd);
      if (socket !== undefined) {
        if (socket.connection.client === running) socket.reportAgain();
        else answer(socket);
        return;
      }
      if (fd === this.listener && !this.stopped) this.duties.acceptable();
      this.duties.adoptArrivals();
    });
  }

  private tick(nowMs: number): void {
    const startedAt = this.threadTime.microseconds();
    this.hasMore = this.duties.tick();
    this.lane.server.statistics.recordTurnProcessor(this.threadTime.microseconds() - startedAt);
    const tookMs = this.clock.monotonic() - nowMs;
    this.tickAtMs = nowMs + (this.hasMore ? tookMs * (1 + TICK_REST_FACTOR) : EpollLoop.TICK_MS);
  }

  private dispatchAll(count: number): void {
    const { poller } = this;
    this.end = count;
    for (this.next = 0; this.next < this.end; ) {
      const index = this.next++;
      this.dispatch(poller.descriptorAt(index), poller.newsAt(index));
    }
    this.outbox.send();
  }

  /**
   * The events of this round that are left are reported again instead: to the rounds inside a slow script, in which a
   * descriptor may also become another connection's.
   */
  private giveBackEvents(): void {
    for (; this.next < this.end; this.next++) this.sockets.get(this.poller.descriptorAt(this.next))?.reportAgain();
  }

  private dispatch(fd: number, news: number): void {
    const socket = this.sockets.get(fd);
    if (socket !== undefined) {
      socket.handle(news);
    } else {
      this.hasArrivals = true;
      if (fd === this.wakeDescriptor) this.isWoken = true;
      else if (fd === this.listener) this.isAcceptable = true;
    }
  }

  /**
   * New connections are adopted after all events of this round: one may get the descriptor of a connection that was
   * closed in this round, and must not get its events.
   */
  private letIn(): void {
    this.hasArrivals = false;
    if (this.isWoken) {
      this.isWoken = false;
      this.libc.read(this.wakeDescriptor, this.wakeCount, EVENTFD_BYTES);
      this.duties.woken();
    }
    if (this.isAcceptable) {
      this.isAcceptable = false;
      if (!this.stopped) this.duties.acceptable();
    }
  }

  private timeoutMs(nowMs: number): number {
    if (this.turns.length > 0 || this.hasMore) return 0;
    const until = Math.min(this.tickAtMs, this.finishByMs, this.sleepers.earliestMs);
    return until <= nowMs ? 0 : Math.ceil(Math.min(until - nowMs, EpollLoop.TICK_MS));
  }

  /** A connection that asks for another turn in its turn gets it in the next round, after the socket events. */
  private giveTurns(): void {
    const round = this.turns;
    this.turns = this.spareTurns;
    this.spareTurns = round;
    for (const connection of round) connection.resume();
    round.length = 0;
    this.outbox.send();
  }

  private wakeSleepers(nowMs: number): void {
    for (;;) {
      const connection = this.sleepers.takeDue(nowMs);
      if (connection === undefined) break;
      connection.resume();
    }
    this.outbox.send();
  }
}
