import { BlockList, isIPv4, isIPv6 } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Names are not looked up: only what cannot be anything else is this machine. */
export function isLoopbackHost(host: string): boolean {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  if (isIPv4(bare)) return loopback.check(bare, 'ipv4');
  // An IPv4 address in IPv6 clothes is checked as what it is.
  if (isIPv6(bare)) return loopback.check(bare, 'ipv6');
  return bare.toLowerCase() === 'localhost';
}

/**
 * Whether replication may do without TLS: where nothing leaves the machine, or where somebody has said so. What travels
 * would otherwise be open to read, and anybody could send counts.
 */
export function mayUsePlaintext(host: string, allowPlaintext: boolean): boolean {
  return allowPlaintext || isLoopbackHost(host);
}
