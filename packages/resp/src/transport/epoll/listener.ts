import { lookup } from 'node:dns/promises';
import { Errno, type Libc } from './libc.js';
import { boundPort, encodeAddress } from './socket-address.js';

const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0x800;
const SOCK_CLOEXEC = 0x80000;
const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const IPPROTO_IPV6 = 41;
const IPV6_V6ONLY = 26;

/** The default limit of the system: a burst of clients must not be refused while one is accepted. */
const BACKLOG = 511;

const CODES: ReadonlyMap<number, string> = new Map([
  [Errno.addressInUse, 'EADDRINUSE'],
  [Errno.addressNotAvailable, 'EADDRNOTAVAIL'],
  [Errno.permission, 'EACCES'],
]);

export interface Listener {
  readonly fd: number;
  readonly port: number;
}

/** A listening socket, non-blocking. Errors look like those of node:net. */
export async function openListener(libc: Libc, host: string, port: number): Promise<Listener> {
  const { address } = await lookup(host);
  const { family, bytes } = encodeAddress(address, port);
  const fd = libc.socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd === -1) throw failure(libc, 'socket', address, port);
  const on = Int32Array.of(1);
  const off = Int32Array.of(0);
  libc.setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, on, 4);
  // `::` means both protocols, as it does in node:net.
  if (address === '::') libc.setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, off, 4);
  if (libc.bind(fd, bytes, bytes.length) !== 0 || libc.listen(fd, BACKLOG) !== 0) {
    const error = failure(libc, 'listen', address, port);
    libc.close(fd);
    throw error;
  }
  return { fd, port: boundPort(libc, fd) };
}

function failure(libc: Libc, call: string, address: string, port: number): Error {
  const errno = libc.errno();
  const code = CODES.get(errno) ?? `errno ${errno}`;
  return Object.assign(new Error(`${call} ${code}: ${address}:${port}`), { code, syscall: call, address, port });
}
