import { BlockList, isIPv4, isIPv6 } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Host names are not resolved: only addresses that always mean this machine, and localhost, count. */
export function isLoopbackHost(host: string): boolean {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  if (isIPv4(bare)) return loopback.check(bare, 'ipv4');
  // Checks an IPv4 address that is mapped into IPv6 as IPv4.
  if (isIPv6(bare)) return loopback.check(bare, 'ipv6');
  return bare.toLowerCase() === 'localhost';
}

/**
 * Whether replication may do without TLS: on this machine, or where --repl-plaintext allows it. Elsewhere any host on
 * the network could read counts, and send its own.
 */
export function mayUsePlaintext(host: string, allowPlaintext: boolean): boolean {
  return allowPlaintext || isLoopbackHost(host);
}
