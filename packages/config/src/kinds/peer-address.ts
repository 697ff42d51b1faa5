import { SERVER_NAME } from '@quotadb/wire';
import { Mistake } from './mistake.js';

/** Another server, by its name among peers, and the address where it listens for them. */
export interface PeerAddress {
  readonly region: string;
  readonly host: string;
  readonly port: number;
}

const MAXIMUM_PORT = 65_535;

/** `eu=10.0.0.2:7380` or `eu=[2001:db8::2]:7380`. Throws a Mistake. */
export function parsePeerAddress(text: string): PeerAddress {
  const [, region, address] = /^([^=]*)=(.*)$/.exec(text) ?? [];
  if (region === undefined)
    throw new Mistake(`must be region=host:port or region/member=host:port, such as eu=10.0.0.2:7380`, text);
  return { region: checkServerName(region), ...parseAddress(address, text) };
}

/** `whole` is the value that has the address, for the message. */
export function parseAddress(text: string, whole = text): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]\s]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) < 1 || Number(port) > MAXIMUM_PORT)
    throw new Mistake(
      `must ${whole === text ? 'be' : 'end in'} host:port, with a port from 1 to ${MAXIMUM_PORT}`,
      whole,
    );
  return { host, port: Number(port) };
}

export function checkServerName(name: string): string {
  if (!SERVER_NAME.test(name))
    throw new Mistake(`"${name}" must be a region, 1 to 32 of a-z, 0-9 and -, or a region, "/" and a member's name`);
  return name;
}

export function printPeerAddress({ region, ...address }: PeerAddress): string {
  return `${region}=${printAddress(address)}`;
}

export function printAddress({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
