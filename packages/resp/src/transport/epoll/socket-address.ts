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
const Byte = { family: 0, port: 2, ipv4: 4, ipv6: 8, ipv6End: 24 } as const;
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
  bytes[Byte.family] = family;
  bytes.set(bigEndian(port), Byte.port);
  if (family === FAMILY_IPV4) bytes.set(host.split('.').map(Number), Byte.ipv4);
  else bytes.set(expandIPv6(host).flatMap(bigEndian), Byte.ipv6);
  return { family, bytes };
}

function bigEndian(word: number): number[] {
  return [word >>> 8, word & 0xff];
}

/** host:port of either end of a socket, or ?:0 where it is no longer connected. */
export function describeEnd(libc: Libc, fd: number, end: 'local' | 'peer'): string {
  const bytes = new Uint8Array(ADDRESS_BYTES);
  const length = Int32Array.of(ADDRESS_BYTES);
  const result = end === 'peer' ? libc.getpeername(fd, bytes, length) : libc.getsockname(fd, bytes, length);
  if (result !== 0) return '?:0';
  const port = portOf(bytes);
  if (bytes[Byte.family] === FAMILY_IPV4) return `${bytes.subarray(Byte.ipv4, Byte.ipv6).join('.')}:${port}`;
  return `[${describeIPv6(bytes.subarray(Byte.ipv6, Byte.ipv6End))}]:${port}`;
}

export function boundPort(libc: Libc, fd: number): number {
  const bytes = new Uint8Array(ADDRESS_BYTES);
  libc.getsockname(fd, bytes, Int32Array.of(ADDRESS_BYTES));
  return portOf(bytes);
}

function portOf(bytes: Uint8Array): number {
  return (bytes[Byte.port] << 8) | bytes[Byte.port + 1];
}

function expandIPv6(host: string): number[] {
  // The URL parser reads every form of an IPv6 address, dotted tails included, and prints it in groups.
  const canonical = new URL(`http://[${host.split('%', 1)[0]}]`).hostname.slice(1, -1);
  const [head, tail] = canonical.split('::');
  const groupsOf = (part: string | undefined): number[] =>
    part === undefined || part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const before = groupsOf(head);
  const after = groupsOf(tail);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function describeIPv6(bytes: Uint8Array): string {
  // An IPv4 client of a socket that listens on both; the same form as in node:net.
  const isMapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  if (isMapped) return `::ffff:${bytes.subarray(12).join('.')}`;
  const groups = Array.from({ length: 8 }, (_, group) => ((bytes[group * 2] << 8) | bytes[group * 2 + 1]).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
