import { Mistake } from './mistake.js';

/** Another region and the address where it listens. */
export interface PeerAddress {
  readonly region: string;
  readonly host: string;
  readonly port: number;
}

export const REGION_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;
const MAXIMUM_PORT = 65_535;

/** `eu=10.0.0.2:7380` or `eu=[2001:db8::2]:7380`. Throws a Mistake. */
export function parsePeerAddress(text: string): PeerAddress {
  const [, region, address] = /^([^=]*)=(.*)$/.exec(text) ?? [];
  if (region === undefined) throw new Mistake(`"${text}" must be region=host:port, such as eu=10.0.0.2:7380`);
  return { region: checkRegion(region), ...parseAddress(address) };
}

export function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]\s]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) < 1 || Number(port) > MAXIMUM_PORT)
    throw new Mistake(`"${text}" must be host:port, with a port from 1 to ${MAXIMUM_PORT}`);
  return { host, port: Number(port) };
}

export function checkRegion(region: string): string {
  if (!REGION_NAME.test(region)) throw new Mistake(`the region "${region}" must be 1 to 32 of a-z, 0-9 and -`);
  return region;
}

export function printPeerAddress({ region, ...address }: PeerAddress): string {
  return `${region}=${printAddress(address)}`;
}

export function printAddress({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
