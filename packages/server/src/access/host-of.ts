const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const GROUPS = 8;
/** A client with one IPv6 address has the 2^64 addresses of its network. */
const NETWORK_GROUPS = 4;

/**
 * The host of an address, `host:port`, whose guesses are counted together: an IPv4 address, or a /64 network of IPv6.
 */
export function hostOf(address: string): string {
  const host = address.slice(0, Math.max(address.lastIndexOf(':'), 0)) || address;
  const [bare = ''] = host.replace(/^\[|\]$/g, '').split('%', 1);
  if (!bare.includes(':')) return bare;
  const mapped = MAPPED_IPV4.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  const [left = '', right] = bare.split('::');
  const before = left.split(':').filter((group) => group !== '');
  const after = right === undefined ? [] : right.split(':').filter((group) => group !== '');
  const zeros = Array<string>(Math.max(GROUPS - before.length - after.length, 0)).fill('0');
  return `${[...before, ...zeros, ...after].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
