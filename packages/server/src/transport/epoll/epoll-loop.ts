import type { Lane } from '../../session/lane.js';
import { EpollConnection } from './epoll-connection.js';
import type { Libc } from './libc.js';
import { Interest, Poller } from './poller.js';

const EVENTFD_NONBLOCK = 0x800;
const EVENTFD_CLOEXEC = 0x80000;
const EVENTFD_BYTES = 8;

/** What else a loop does: taken between connections, on its own thread. */
export interface LoopDuties {
  /** Somebody wrote to the wake descriptor: a message or a new connection is waiting. */
  woken(): void;
  /** The descriptor given to `listenOn` has connections to accept. */
  acceptable(): void;
  /** A connection of this lane is gone. */
  closed(): void;
  /** Every TICK_MS or a little later. Returns true where more work is left, to be called again soon. */
  tick(nowMs: number): boolean;
}

/**
 * A lane's loop: wait → read → apply → write, on one thread, without promises or callbacks of Node's own event loop, which
 * stands still meanwhile. Everything that comes from outside comes through the epoll set: sockets, and one eventfd that
 * other threads write to.
 */
export class EpollLoop {
  /** Also the longest time a thread sleeps, so that nothing waits for ever should a wake-up be lost. */
  static readonly TICK_MS = 100;

  readonly wakeDescriptor: number;
  readonly poller: Poller;

  private readonly libc: Libc;
  private readonly lane: Lane;
  private readonly duties: LoopDuties;
  private readonly inputAddress: number;
  private readonly connections = new Map<number, EpollConnection>();
  /** Connections that want to be woken at a time; few, so they are simply looked through. */
  private readonly sleepers = new Set<EpollConnection>();
  private readonly wakeCount = new Uint8Array(EVENTFD_BYTES);
  private listener = -1;
  private hasArrivals = false;
  private isWoken = false;
  private stopped = false;
  private finishByMs = Number.POSITIVE_INFINITY;
  private tickAtMs = 0;

  constructor(libc: Libc, lane: Lane, duties: LoopDuties) {
    this.libc = libc;
    this.lane = lane;
    this.duties = duties;
    this.poller = new Poller(libc);
    this.inputAddress = libc.addressOf(lane.input.bytes);
    this.wakeDescriptor = libc.eventfd(0, EVENTFD_NONBLOCK | EVENTFD_CLOEXEC);
    if (this.wakeDescriptor === -1) throw new Error(`eventfd: errno ${libc.errno()}`);
    this.poller.add(this.wakeDescriptor, Interest.readable);
  }

  get connectionCount(): number {
    return this.connections.size;
  }

  listenOn(fd: number): void {
    this.listener = fd;
    this.poller.add(fd, Interest.readable);
  }

  pauseListening(): void {
    this.poller.remove(this.listener);
  }

  resumeListening(): void {
    this.poller.add(this.listener, Interest.readable);
  }

  adopt(fd: number): EpollConnection {
    const connection = new EpollConnection(this.libc, this.poller, this.lane, this.inputAddress, fd, this);
    this.connections.set(fd, connection);
    return connection;
  }

  sweep(nowMs: number): void {
    for (const connection of [...this.connections.values()]) connection.sweep(nowMs);
  }

  /** The wait of a connection was ended from outside. */
  onWake(connection: EpollConnection): void {
    connection.wakeAtMs = 0;
    this.sleepers.add(connection);
  }

  onClose(connection: EpollConnection): void {
    this.connections.delete(connection.fd);
    this.sleepers.delete(connection);
    this.duties.closed();
  }

  /** Answers everything that was read, then ends the loop, at the latest after this time. */
  stop(withinMs: number): void {
    if (this.stopped) return;
    this.stopped = true;
    this.finishByMs = this.lane.server.clock.monotonic() + withinMs;
    if (this.listener !== -1) this.poller.remove(this.listener);
    for (const connection of [...this.connections.values()]) {
      connection.finish();
      this.noteSleeper(connection);
    }
  }

  run(): void {
    const { clock } = this.lane.server;
    for (;;) {
      const count = this.poller.wait(this.timeoutMs(clock.monotonic()));
      for (let index = 0; index < count; index++)
        this.dispatch(this.poller.descriptorAt(index), this.poller.newsAt(index));
      if (this.hasArrivals) this.letIn();
      const nowMs = clock.monotonic();
      if (this.sleepers.size > 0) this.wakeSleepers(nowMs);
      if (nowMs >= this.tickAtMs) this.tickAtMs = this.duties.tick(clock.now()) ? nowMs : nowMs + EpollLoop.TICK_MS;
      if (this.stopped && (this.connections.size === 0 || nowMs >= this.finishByMs)) break;
    }
    for (const connection of [...this.connections.values()]) connection.destroy();
    this.poller.close();
    this.libc.close(this.wakeDescriptor);
  }

  private dispatch(fd: number, news: number): void {
    const connection = this.connections.get(fd);
    if (connection !== undefined) {
      connection.handle(news);
      this.noteSleeper(connection);
    } else {
      this.hasArrivals = true;
      if (fd === this.wakeDescriptor) this.isWoken = true;
    }
  }

  /**
   * New connections come in after the news of this round was handed out: one may get the descriptor of a connection that
   * was closed in this round, and must not get the news meant for that.
   */
  private letIn(): void {
    this.hasArrivals = false;
    if (this.isWoken) {
      this.isWoken = false;
      this.libc.read(this.wakeDescriptor, this.wakeCount, EVENTFD_BYTES);
      this.duties.woken();
    }
    if (this.listener !== -1) this.duties.acceptable();
  }

  private timeoutMs(nowMs: number): number {
    let until = Math.min(this.tickAtMs, this.finishByMs);
    for (const connection of this.sleepers) until = Math.min(until, connection.wakeAtMs);
    return until <= nowMs ? 0 : Math.ceil(Math.min(until - nowMs, EpollLoop.TICK_MS));
  }

  private wakeSleepers(nowMs: number): void {
    for (const connection of [...this.sleepers]) {
      if (connection.wakeAtMs > nowMs) continue;
      this.sleepers.delete(connection);
      connection.resume();
      this.noteSleeper(connection);
    }
  }

  private noteSleeper(connection: EpollConnection): void {
    if (connection.wakeAtMs !== Number.POSITIVE_INFINITY) this.sleepers.add(connection);
  }
}
