import type { TlsMaterial } from './tls-material.js';

/** What both sides of a connection, and a reload, need. */
export function tlsContext({ certificate, key, authority }: TlsMaterial) {
  return { cert: certificate, key, ca: authority, minVersion: 'TLSv1.3' } as const;
}

/** HTTP/2, and nothing older. */
export const ALPN_PROTOCOLS: string[] = ['h2'];
