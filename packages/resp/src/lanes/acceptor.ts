import type { ServerState } from '../session/server-state.js';
import type { EpollLoop } from '../transport/epoll/epoll-loop.js';
import { Errno, type Libc } from '../transport/epoll/libc.js';
import { Refusals } from './refusals.js';
import { SharedControl } from './shared-control.js';
import { wakeLane } from './wake.js';

const SOCK_NONBLOCK = 0x800;
const SOCK_CLOEXEC = 0x80000;

/** Accepted in one turn; epoll reports the rest of a burst again. */
const ACCEPTS_PER_TURN = 64;
/** Pause after running out of descriptors or memory: trying again at once would only spin. */
const PAUSE_MS = 100;

const REASONS: ReadonlyMap<number, string> = new Map([
  [Errno.tooManyFiles, 'this process has no descriptors left (ulimit -n)'],
  [Errno.tooManyFilesInSystem, 'the system has no descriptors left'],
  [Errno.outOfMemory, 'the system has no memory left for it'],
  [Errno.noBuffers, 'the system has no memory left for it'],
]);

export interface AcceptorOptions {
  readonly libc: Libc;
  readonly loop: EpollLoop;
  readonly lane: number;
  readonly control: SharedControl;
  readonly server: ServerState;
  readonly listener: number;
  readonly warn: (text: string) => void;
}

/**
 * Takes connections from the listening socket and gives each to the lane that has the fewest. Every lane has an
 * acceptor, and the system wakes an idle one, so that new clients do not wait for a busy lane.
 */
export class Acceptor {
  private readonly libc: Libc;
  private readonly loop: EpollLoop;
  private readonly lane: number;
  private readonly control: SharedControl;
  private readonly server: ServerState;
  private readonly listener: number;
  private readonly warn: (text: string) => void;
  private readonly refusals: Refusals;
  private pausedUntilMs = 0;
  private hasWarned = false;

  constructor({ libc, loop, lane, control, server, listener, warn }: AcceptorOptions) {
    this.libc = libc;
    this.loop = loop;
    this.lane = lane;
    this.control = control;
    this.server = server;
    this.listener = listener;
    this.warn = warn;
    this.refusals = new Refusals(libc, server.clock);
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
      this.hasWarned = false;
      this.server.statistics.connectionsReceived++;
      this.assign(fd);
    }
  }

  tick(): void {
    this.refusals.closeOld();
    if (this.pausedUntilMs === 0 || this.server.clock.monotonic() < this.pausedUntilMs) return;
    this.pausedUntilMs = 0;
    this.loop.resumeListening();
  }

  stop(): void {
    this.refusals.closeAll();
  }

  private assign(fd: number): void {
    const { statistics, config } = this.server;
    const lane = this.control.admit(fd, this.lane, config.maxClients);
    if (lane === this.lane) {
      this.loop.adopt(fd);
    } else if (lane !== SharedControl.REFUSED) {
      wakeLane(this.libc, this.control, lane);
    } else {
      statistics.connectionsRejected++;
      this.refusals.add(fd);
    }
  }

  private acceptFailed(errno: number): void {
    if (errno === Errno.again || errno === Errno.interrupted || errno === Errno.connectionAborted) return;
    // The listening socket was shut down: there will be no further connections.
    if (errno === Errno.invalid) {
      this.loop.pauseListening();
      return;
    }
    this.loop.pauseListening();
    this.pausedUntilMs = this.server.clock.monotonic() + PAUSE_MS;
    if (this.hasWarned) return;
    this.hasWarned = true;
    const reason = REASONS.get(errno) ?? `errno ${errno}`;
    this.warn(
      `cannot accept connections: ${reason}; trying again every ${PAUSE_MS} ms, open connections are not affected`,
    );
  }
}
