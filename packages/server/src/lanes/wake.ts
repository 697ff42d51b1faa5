import type { Libc } from '../transport/epoll/libc.js';
import type { SharedControl } from './shared-control.js';

const ONE = Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0);

/** Makes a lane's loop look at its messages and arrivals now. */
export function wakeLane(libc: Libc, control: SharedControl, lane: number): void {
  libc.write(control.wakeDescriptor(lane), ONE, ONE.length);
}
