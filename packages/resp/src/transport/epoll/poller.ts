import { Errno, type Libc } from './libc.js';

/** The events that a file descriptor is watched for, and that epoll reports. */
export const Interest = {
  none: 0,
  readable: 0x001,
  writable: 0x004,
  failed: 0x008,
  hungUp: 0x010,
  /** The other side has ended its half: reported also where no input is read. */
  peerEnded: 0x2000,
  /** Of several epoll sets that watch it, not all are woken. */
  exclusive: 1 << 28,
  /** Reported when something arrives or room appears, and not again until then, or until `change`. */
  edge: 1 << 31,
} as const;

const EPOLL_CLOEXEC = 0x80000;
const CONTROL_ADD = 1;
const CONTROL_REMOVE = 2;
const CONTROL_CHANGE = 3;

/**
 * One epoll set. A descriptor without `Interest.edge` is level-triggered: unread input and unused room are reported
 * again at the next wait. With it the kernel looks at a socket once for each event, not once more at the wait behind it.
 *
 * struct epoll_event is packed on x64 (12 bytes: events, data) and is not on arm64 (16 bytes, data at 8). Our data is
 * the descriptor, so its low word is all that is used.
 */
export class Poller {
  static readonly MAX_EVENTS = 256;
  private static readonly EVENT_BYTES = process.arch === 'x64' ? 12 : 16;
  private static readonly DATA_BYTE = process.arch === 'x64' ? 4 : 8;

  private readonly libc: Libc;
  private readonly epoll: number;
  private readonly events = new Uint8Array(Poller.MAX_EVENTS * Poller.EVENT_BYTES);
  private readonly eventsView = new DataView(this.events.buffer);
  private readonly event = new Uint8Array(Poller.EVENT_BYTES);
  private readonly eventView = new DataView(this.event.buffer);

  constructor(libc: Libc, epoll = libc.epollCreate(EPOLL_CLOEXEC)) {
    this.libc = libc;
    this.epoll = epoll;
    if (this.epoll === -1) throw new Error(`epoll_create1: errno ${libc.errno()}`);
  }

  /** The same set with a list of events of its own: waiting there leaves the events here as they are. */
  aside(): Poller {
    return new Poller(this.libc, this.epoll);
  }

  /** The number of descriptors with events, at most MAX_EVENTS; 0 after the timeout. */
  wait(timeoutMs: number): number {
    const count = this.libc.epollWait(this.epoll, this.events, Poller.MAX_EVENTS, timeoutMs);
    if (count >= 0) return count;
    const errno = this.libc.errno();
    if (errno === Errno.interrupted) return 0;
    throw new Error(`epoll_wait: errno ${errno}`);
  }

  descriptorAt(index: number): number {
    return this.eventsView.getInt32(index * Poller.EVENT_BYTES + Poller.DATA_BYTE, true);
  }

  newsAt(index: number): number {
    return this.eventsView.getInt32(index * Poller.EVENT_BYTES, true);
  }

  add(fd: number, interest: number): boolean {
    return this.control(CONTROL_ADD, fd, interest);
  }

  change(fd: number, interest: number): boolean {
    return this.control(CONTROL_CHANGE, fd, interest);
  }

  remove(fd: number): boolean {
    return this.control(CONTROL_REMOVE, fd, Interest.none);
  }

  close(): void {
    this.libc.close(this.epoll);
  }

  private control(operation: number, fd: number, interest: number): boolean {
    this.eventView.setInt32(0, interest, true);
    this.eventView.setInt32(Poller.DATA_BYTE, fd, true);
    return this.libc.epollControl(this.epoll, operation, fd, this.event) === 0;
  }
}
