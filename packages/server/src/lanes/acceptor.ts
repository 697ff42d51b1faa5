import { errors } from '../errors.js';
import type { ServerState } from '../server-state.js';
import type { EpollLoop } from '../transport/epoll/epoll-loop.js';
import { Errno, type Libc } from '../transport/epoll/libc.js';
import type { SharedControl } from './shared-control.js';
import { wakeLane } from './wake.js';

const SOCK_NONBLOCK = 0x800;
const SOCK_CLOEXEC = 0x80000;
const MSG_NOSIGNAL = 0x4000;

/** Accepted in one turn; the others of a burst are told again. */
const ACCEPTS_PER_TURN = 64;
/** Without descriptors or memory to accept with, asking again at once would only spin. */
const PAUSE_MS = 100;

/** Takes connections from the listening socket and gives each to the lane that has the fewest. Runs on the first lane. */
export class Acceptor {
  private readonly libc: Libc;
  private readonly loop: EpollLoop;
  private readonly control: SharedControl;
  private readonly server: ServerState;
  private readonly listener: number;
  private pausedUntilMs = 0;

  constructor(libc: Libc, loop: EpollLoop, control: SharedControl, server: ServerState, listener: number) {
    this.libc = libc;
    this.loop = loop;
    this.control = control;
    this.server = server;
    this.listener = listener;
    loop.listenOn(listener);
  }

  acceptSome(): void {
    if (this.pausedUntilMs !== 0) return;
    for (let accepted = 0; accepted < ACCEPTS_PER_TURN; accepted++) {
      const fd = this.libc.accept4(this.listener, null, null, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd === -1) {
        this.acceptFailed(this.libc.errno());
        return;
      }
      this.server.statistics.connectionsReceived++;
      if (this.control.connectionCount() >= this.server.config.maxClients) this.refuse(fd);
      else this.assign(fd);
    }
  }

  tick(nowMs: number): void {
    if (this.pausedUntilMs === 0 || nowMs < this.pausedUntilMs) return;
    this.pausedUntilMs = 0;
    this.loop.resumeListening();
  }

  private assign(fd: number): void {
    const lane = this.control.assign();
    if (lane === 0) {
      this.loop.adopt(fd);
    } else if (this.control.put(lane, fd)) {
      wakeLane(this.libc, this.control, lane);
    } else {
      this.control.release(lane);
      this.refuse(fd);
    }
  }

  private refuse(fd: number): void {
    this.server.statistics.connectionsRejected++;
    const message = Buffer.from(`-${errors.maximumClients}\r\n`);
    this.libc.send(fd, message, message.length, MSG_NOSIGNAL);
    this.libc.close(fd);
  }

  private acceptFailed(errno: number): void {
    if (errno === Errno.again || errno === Errno.interrupted || errno === Errno.connectionAborted) return;
    this.server.statistics.connectionsRejected++;
    this.loop.pauseListening();
    this.pausedUntilMs = this.server.clock.now() + PAUSE_MS;
  }
}
