import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { Configuration } from '@quotadb/config';
import { describeWithEpoll } from '@quotadb/resp/testing';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { type CertificateFiles, certificateFiles, createAuthority, issueCertificate } from './test-certificates.js';
import { startTestServer, type TestServer } from './test-server.js';

/** One way for a client to reach sessions: a transport, with TLS or without. */
export interface RespDoor {
  readonly server: TestServer;
  readonly isSecure: boolean;
  /** The port of this door. */
  readonly port: number;
  /** The authority that the server's certificate is checked against. */
  readonly ca: string;
  /** A socket that stays open for reading when it has ended. */
  connect(): Socket;
}

/** Runs these tests once for every transport, number of lanes, and with TLS and without. */
export function describeEveryDoor(
  title: string,
  body: (open: (settings?: Partial<Configuration>) => Promise<RespDoor>) => void,
) {
  const transports = [
    { name: 'net', describes: describe, settings: { transport: 'net' } },
    { name: 'epoll, one lane', describes: describeWithEpoll, settings: { transport: 'epoll', laneCount: 1 } },
    { name: 'epoll, two lanes', describes: describeWithEpoll, settings: { transport: 'epoll', laneCount: 2 } },
  ] as const;
  for (const { name, describes, settings } of transports) {
    describes(`${title}: ${name}`, () => body(useDoor(settings, false)));
  }
  describe(`${title}: TLS`, () => body(useDoor({ transport: 'net' }, true)));
  describeWithEpoll(`${title}: TLS beside epoll`, () => body(useDoor({ transport: 'epoll', laneCount: 1 }, true)));
}

function useDoor(transport: Partial<Configuration>, isSecure: boolean) {
  const running: TestServer[] = [];
  const sockets: Socket[] = [];
  const authority = createAuthority('test authority');
  const { certificate: ca } = authority;
  let files: CertificateFiles | undefined;
  let secure: Partial<Configuration> = {};
  beforeAll(async () => {
    if (!isSecure) return;
    files = await certificateFiles();
    const own = await files.write('server', issueCertificate(authority, 'server'));
    secure = { respTlsPort: 0, tlsCertificate: own.certificate, tlsKey: own.key };
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const server of running.splice(0)) await server.stop();
  });
  afterAll(() => files?.remove());
  return async (settings: Partial<Configuration> = {}): Promise<RespDoor> => {
    const server = await startTestServer({ ...transport, ...secure, ...settings });
    running.push(server);
    const port = isSecure ? (server.server.state.identity.respTlsPort as number) : server.port;
    return {
      server,
      isSecure,
      port,
      ca,
      connect() {
        const address = { port, host: '127.0.0.1', allowHalfOpen: true };
        const socket = isSecure ? connectSecurely({ ...address, ca }) : connect(address);
        sockets.push(socket);
        socket.on('error', () => socket.destroy());
        return socket;
      },
    };
  };
}
