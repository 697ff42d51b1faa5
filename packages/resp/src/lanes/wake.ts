import type { Libc } from '../transport/epoll/libc.js';
import type { SharedControl } from './shared-control.js';

const EVENTFD_NONBLOCK = 0x800;
const EVENTFD_CLOEXEC = 0x80000;
const ONE = Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0);

/**
 * An eventfd that wakes a lane. The main thread makes it before the lane starts and closes it after the lane has ended:
 * so it exists for messages sent while the lane starts, and no thread writes to a descriptor that was reused.
 */
export function openWakeDescriptor(libc: Libc): number {
  const fd = libc.eventfd(0, EVENTFD_NONBLOCK | EVENTFD_CLOEXEC);
  if (fd === -1) throw new Error(`eventfd: errno ${libc.errno()}`);
  return fd;
}

/** Makes a lane's loop fetch its messages and new connections now. */
export function wakeLane(libc: Libc, control: SharedControl, lane: number): void {
  libc.write(control.wakeDescriptor(lane), ONE, ONE.length);
}
