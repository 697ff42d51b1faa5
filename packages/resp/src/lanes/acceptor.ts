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
  private readonly options: AcceptorOptions;
  private readonly refusals: Refusals;
  private pausedUntilMs = 0;
  private hasWarned = false;

  constructor(options: AcceptorOptions) {
    this.options = options;
    this.refusals = new Refusals(options.libc, options.server.clock);
    options.loop.listenOn(options.listener);
  }

  acceptSome(): void {
    const { libc, listener, server } = this.options;
    if (this.pausedUntilMs !== 0) return;
    for (let accepted = 0; accepted < ACCEPTS_PER_TURN; accepted++) {
      const fd = libc.accept4(listener, null, null, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd === -1) {
        this.acceptFailed(libc.errno());
        return;
      }
      this.hasWarned = false;
      server.statistics.connectionsReceived++;
      this.assign(fd);
    }
  }

  tick(): void {
    const { loop, server } = this.options;
    this.refusals.closeOld();
    if (this.pausedUntilMs === 0 || server.clock.monotonic() < this.pausedUntilMs) return;
    this.pausedUntilMs = 0;
    loop.resumeListening();
  }

  stop(): void {
    this.refusals.closeAll();
  }

  private assign(fd: number): void {
    const { libc, loop, lane: own, control, server } = this.options;
    const lane = control.admit(fd, own, server.config.maxClients);
    if (lane === own) {
      loop.adopt(fd);
    } else if (lane !== SharedControl.REFUSED) {
      wakeLane(libc, control, lane);
    } else {
      server.statistics.connectionsRejected++;
      this.refusals.add(fd);
    }
  }

  private acceptFailed(errno: number): void {
    if (errno === Errno.again || errno === Errno.interrupted || errno === Errno.connectionAborted) return;
    const { loop, server, warn } = this.options;
    loop.pauseListening();
    // The listening socket was shut down: there will be no further connections.
    if (errno === Errno.invalid) return;
    this.pausedUntilMs = server.clock.monotonic() + PAUSE_MS;
    if (this.hasWarned) return;
    this.hasWarned = true;
    const reason = REASONS.get(errno) ?? `errno ${errno}`;
    warn(`cannot accept connections: ${reason}; trying again every ${PAUSE_MS} ms, open connections are not affected`);
  }
}
