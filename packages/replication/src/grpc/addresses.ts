import type { Socket } from 'node:net';

export function addressOf(socket: Socket): string {
  return hostAndPort(socket.remoteAddress ?? 'an unknown address', socket.remotePort ?? 0);
}

export function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
