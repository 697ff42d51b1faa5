import { isIPv4, isIPv6 } from 'node:net';
import type { Libc } from './libc.js';

/**
 * struct sockaddr_in and sockaddr_in6, as bytes.
 *
 *   bytes | IPv4                  | IPv6
 *   ------|-----------------------|------------------------------
 *   0–1   | family, host order    | family, host order
 *   2–3   | port, network order   | port, network order
 *   4–7   | address               | flow information
 *   8–23  | (padding to 16)       | address; 24–27 scope
 */
const FAMILY_IPV4 = 2;
const FAMILY_IPV6 = 10;
const ADDRESS_BYTES = 28;
const IPV4_BYTES = 16;

export interface EncodedAddress {
  readonly family: number;
  readonly bytes: Uint8Array;
}

/** `host` is a literal address; names are resolved before. */
export function encodeAddress(host: string, port: number): EncodedAddress {
  const family = isIPv4(host) ? FAMILY_IPV4 : FAMILY_IPV6;
  if (family === FAMILY_IPV6 && !isIPv6(host)) throw new RangeError(`'${host}' is not an IP address`);
  const bytes = new Uint8Array(family === FAMILY_IPV4 ? IPV4_BYTES : ADDRESS_BYTES);
  bytes[0] = family;
  bytes[2] = port >>> 8;
  bytes[3] = port & 0xff;
  if (family === FAMILY_IPV4) {
    bytes.set(host.split('.').map(Number), 4);
  } else {
    const groups = expandIPv6(host);
    for (let group = 0; group < 8; group++) {
      bytes[8 + group * 2] = groups[group] >>> 8;
      bytes[9 + group * 2] = groups[group] & 0xff;
    }
  }
  return { family, bytes };
}

/** host:port of either end of a socket, or ?:0 where there is none any more. */
export function describeEnd(libc: Libc, fd: number, end: 'local' | 'peer'): string {
  const bytes = new Uint8Array(ADDRESS_BYTES);
  const length = Int32Array.of(ADDRESS_BYTES);
  const result = end === 'peer' ? libc.getpeername(fd, bytes, length) : libc.getsockname(fd, bytes, length);
  if (result !== 0) return '?:0';
  const port = portOf(bytes);
  if (bytes[0] === FAMILY_IPV4) return `${bytes.subarray(4, 8).join('.')}:${port}`;
  return `[${describeIPv6(bytes.subarray(8, 24))}]:${port}`;
}

export function boundPort(libc: Libc, fd: number): number {
  const bytes = new Uint8Array(ADDRESS_BYTES);
  libc.getsockname(fd, bytes, Int32Array.of(ADDRESS_BYTES));
  return portOf(bytes);
}

function portOf(bytes: Uint8Array): number {
  return (bytes[2] << 8) | bytes[3];
}

function expandIPv6(host: string): number[] {
  // The URL parser knows every way to write an IPv6 address, dotted tails included, and writes it back in groups.
  const canonical = new URL(`http://[${host.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const [head, tail] = canonical.split('::');
  const groupsOf = (part: string | undefined): number[] =>
    part === undefined || part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const before = groupsOf(head);
  const after = groupsOf(tail);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function describeIPv6(bytes: Uint8Array): string {
  // An IPv4 client of a socket that listens on both; node:net writes it so too.
  const isMapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  if (isMapped) return `::ffff:${bytes.subarray(12).join('.')}`;
  const groups = Array.from({ length: 8 }, (_, group) => ((bytes[group * 2] << 8) | bytes[group * 2 + 1]).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
