import { once } from 'node:events';
import { connect } from 'node:tls';
import type { Configuration, UserRecord } from '@quotadb/config';
import { createToken } from '@quotadb/config';
import type { Operation } from '@quotadb/http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apis } from '../http/ports/apis.js';
import {
  type CertificateFiles,
  certificateFiles,
  createAuthority,
  eventually,
  issueCertificate,
  TestClient,
  type TestServer,
  useTestServers,
} from '../testing/index.js';

/** Every kind of credential that there is, each as the settings that bring it. */
const user: UserRecord = {
  name: 'someone',
  roles: ['read'],
  prefixes: [],
  passwords: [],
  tokens: [createToken().hash],
};
const credentials: Readonly<Record<string, Partial<Configuration>>> = {
  password: { password: 'secret' },
  users: { users: new Map([[user.name, user]]) },
  countsToken: { countsTokens: ['counting'] },
  countsInternalToken: { countsInternalTokens: ['managing'] },
};
const combinations = [...Array(2 ** Object.keys(credentials).length).keys()].map((bits) =>
  Object.keys(credentials).filter((_, index) => (bits & (1 << index)) !== 0),
);

const start = useTestServers();
let files: CertificateFiles;
let secured: Partial<Configuration>;
beforeAll(async () => {
  files = await certificateFiles();
  const own = await files.write('server', issueCertificate(createAuthority('authority'), 'server'));
  secured = { respTlsPort: 0, tlsCertificate: own.certificate, tlsKey: own.key };
});
afterAll(() => files.remove());

const guarded = apis
  .flatMap((api) => api.operations as readonly Operation[])
  .filter(({ roles }) => roles !== undefined);
/** Plain names, which the fast path takes; or a NUL, so that what gets in is refused before a database starts. */
const pathOf = ({ path }: Operation, isPlain: boolean) => path.replaceAll(/\{\+?\w+\}/g, isPlain ? 'x' : '%00');

/** Each door is tried without credentials; true where it lets in. */

const doors: Readonly<Record<string, (server: TestServer, isClosed: boolean) => Promise<boolean>>> = {
  resp: async ({ port }) => {
    const client = await TestClient.open(port);
    const reply = await client.call('INCR', 'k');
    client.close();
    return !reply.startsWith('-NOAUTH');
  },
  respTls: async ({ server }) => {
    const port = server.state.identity.respTlsPort as number;
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    socket.write('INCR k\r\n');
    const [reply] = await once(socket, 'data');
    socket.destroy();
    return !String(reply).startsWith('-NOAUTH');
  },
  replication: async ({ server }) => server.state.identity.replicationPort !== undefined,
  ...Object.fromEntries(
    guarded.map((operation) => [
      operation.id,
      async ({ httpPort }: TestServer, isClosed: boolean) => {
        const stop = new AbortController();
        const { method } = operation;
        const address = `http://127.0.0.1:${httpPort}${pathOf(operation, isClosed)}`;
        const { status } = await fetch(address, { method, signal: stop.signal });
        stop.abort();
        return status !== 401;
      },
    ]),
  ),
};

describe('no door is open where there is any credential, and all are where there is none', () => {
  test.each(combinations.map((names) => [names.join(' and ') || 'no credential', names] as const))(
    'with %s',
    async (_, names) => {
      const server = await start({
        ...secured,
        replicationPort: 0,
        ...Object.assign({}, ...names.map((name) => credentials[name])),
      });
      const found: Record<string, boolean> = {};
      for (const [name, isOpen] of Object.entries(doors)) found[name] = await isOpen(server, names.length > 0);
      const expected = Object.keys(doors).map((name) => [name, names.length === 0]);
      expect(found).toEqual(Object.fromEntries(expected));
    },
  );
});

test('a password that is set while the server runs closes every door at once', async () => {
  const server = await start({ replicationPort: 0 });
  const other = await start({ replicationPort: 0, region: 'other' });
  const [client, peer] = await Promise.all([TestClient.open(server.port), TestClient.open(other.port)]);
  const address = `127.0.0.1:${server.server.state.identity.replicationPort}`;
  expect(await peer.call('REPL.PEERS', 'ADD', 'local', address)).toBe('+OK\r\n');
  const state = async () => /quotadb_peer_local:state=(\w+)/.exec(await peer.call('INFO', 'replication'))?.[1];
  await eventually(async () => expect(await state()).toBe('connected'));
  expect(await client.call('CONFIG', 'SET', 'requirepass', 'secret')).toBe('+OK\r\n');
  await eventually(async () => expect(await state()).not.toBe('connected'));
  const status = async (path: string) => (await fetch(`http://127.0.0.1:${server.httpPort}${path}`)).status;
  expect(await status('/api/v1/internal/counts/%00')).toBe(401);
  expect(await status('/metrics')).toBe(401);
  expect(await client.call('REPL.PEERS', 'ADD', 'other', address)).toMatch(/^-ERR this server has credentials/);
  client.close();
  peer.close();
});
