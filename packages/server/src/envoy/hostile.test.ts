import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { encodeBy } from '@quotadb/envoy/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { useEnvoyServers } from './testing/use-envoy-servers.js';

const start = useEnvoyServers();
const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const YAML = 'domain: d\ndescriptors:\n  - { key: k, rate_limit: { unit: minute, requests_per_unit: 5 } }';
const sessions: ClientHttp2Session[] = [];
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy();
});

function open(port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  sessions.push(session);
  return session;
}

interface Outcome {
  readonly http: number | undefined;
  readonly status: string | undefined;
  readonly message: string;
}

/** HTTP/2 by hand: what a gRPC library would never send. */
function call(session: ClientHttp2Session, body: Buffer | undefined, headers: Record<string, string> = {}) {
  const stream = session.request({
    ':method': 'POST',
    ':path': PATH,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  const outcome = new Promise<Outcome>((resolve) => {
    let seen: Record<string, unknown> = {};
    const note = (given: Record<string, unknown>) => {
      seen = { ...seen, ...given };
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('error', () => {});
    stream.on('close', () =>
      resolve({
        http: seen[':status'] as number | undefined,
        status: seen['grpc-status'] as string | undefined,
        message: decodeURIComponent(String(seen['grpc-message'] ?? '')),
      }),
    );
    stream.resume();
  });
  if (body !== undefined) stream.end(body);
  return { stream, outcome };
}

function framed(message: Uint8Array, length = message.length, compressed = 0): Buffer {
  const prefix = Buffer.from([compressed, 0, 0, 0, 0]);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

const good = framed(
  encodeBy('envoy.service.ratelimit.v3.RateLimitRequest', {
    domain: 'd',
    descriptors: [{ entries: [{ key: 'k', value: 'v' }] }],
  }),
);
const INVALID_ARGUMENT = '3';
const RESOURCE_EXHAUSTED = '8';
const UNIMPLEMENTED = '12';

describe('a call that breaks the rules is answered, and the next one on the same connection is served', () => {
  test.each<[string, Buffer, Record<string, string>, Partial<Outcome>]>([
    ['no message', Buffer.alloc(0), {}, { status: INVALID_ARGUMENT, message: 'the call has no message' }],
    ['two messages', Buffer.concat([good, good]), {}, { status: INVALID_ARGUMENT }],
    ['half a message', good.subarray(0, 9), {}, { status: INVALID_ARGUMENT }],
    ['a message that claims 4 GiB', framed(Buffer.alloc(10), 2 ** 32 - 1), {}, { status: RESOURCE_EXHAUSTED }],
    ['a message of 1 MiB', framed(Buffer.alloc(2 ** 20)), {}, { status: RESOURCE_EXHAUSTED }],
    ['a compressed message', framed(Buffer.alloc(3), 3, 1), {}, { status: '13' }],
    ['an encoding', good, { 'grpc-encoding': 'gzip' }, { status: UNIMPLEMENTED }],
    ['bytes that are no protobuf', framed(Buffer.from('ffffffff', 'hex')), {}, { status: INVALID_ARGUMENT }],
    [
      'a domain that is not UTF-8',
      framed(Buffer.from('0a02c328', 'hex')),
      {},
      { status: INVALID_ARGUMENT, message: 'field 1 is not UTF-8' },
    ],
    ['an unknown method', good, { ':path': '/no.such.Service/Method' }, { status: UNIMPLEMENTED }],
    ['a path of 4 KB', good, { ':path': `/${'x'.repeat(4000)}` }, { status: UNIMPLEMENTED }],
    ['no gRPC', good, { 'content-type': 'application/json' }, { http: 415 }],
    ['GET', Buffer.alloc(0), { ':method': 'GET' }, { http: 405 }],
  ])('%s', async (_, body, headers, expected) => {
    const { rlsPort } = await start(YAML);
    const session = open(rlsPort);
    expect(await call(session, body, headers).outcome).toMatchObject(expected);
    expect(await call(session, good).outcome).toMatchObject({ http: 200, status: '0' });
  });
});

test('a message of nothing but nested messages is refused or skipped, without a deep stack', async () => {
  const { rlsPort } = await start(YAML);
  let nested: Buffer = Buffer.alloc(0);
  // Field 2 in field 2 in field 2 …: descriptors have no such field inside, so it is skipped unread.
  for (let depth = 0; depth < 5000; depth++) {
    const length = Buffer.from([(nested.length & 127) | 128, ((nested.length >> 7) & 127) | 128, nested.length >> 14]);
    nested = Buffer.concat([Buffer.from([0x12]), length, nested]);
  }
  const session = open(rlsPort);
  expect((await call(session, framed(nested)).outcome).status).toBe(INVALID_ARGUMENT);
  expect(await call(session, good).outcome).toMatchObject({ status: '0' });
});

test('a thousand calls at once on one connection are all answered', async () => {
  const { rlsPort } = await start(YAML);
  const session = open(rlsPort);
  const outcomes = await Promise.all(Array.from({ length: 1000 }, () => call(session, good).outcome));
  expect(outcomes.filter(({ status }) => status === '0')).toHaveLength(1000);
});

test('calls whose message never comes are ended, and do not stop the server from stopping', async () => {
  const { rlsPort, server } = await start(YAML);
  const session = open(rlsPort);
  const silent: ClientHttp2Stream[] = Array.from({ length: 100 }, () => call(session, undefined).stream);
  await once(silent[0].session as ClientHttp2Session, 'remoteSettings');
  expect(await call(session, good).outcome).toMatchObject({ status: '0' });
  await server.stop();
}, 20_000);

test('a flood of unknown domains and of new values takes no memory for figures', async () => {
  const { client, server } = await start(YAML);
  const ask = (index: number) =>
    index % 2 === 0 ? client.ask(`unknown-${index}`, [['k', 'v']]) : client.ask('d', [['k', `value-${index}`]]);
  for (let round = 0; round < 20; round++)
    await Promise.all(Array.from({ length: 100 }, (_, index) => ask(round * 100 + index)));
  const figures = await server.metrics.render();
  expect(figures).toMatch(/quotadb_rls_unknown_domains_total(?:{.*})? 1000/);
  expect(figures.match(/quotadb_rls_hits_total{/g)).toHaveLength(5);
});

test('bytes that are not HTTP/2 end their connection and no other', async () => {
  const { rlsPort, client } = await start(YAML);
  for (const bytes of ['GET / HTTP/1.1\r\n\r\n', '*1\r\n$4\r\nPING\r\n', '\x16\x03\x01'.repeat(100)]) {
    const socket = connectSocket(rlsPort, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    socket.end(bytes);
    await once(socket, 'close');
  }
  expect((await client.ask('d', [['k', 'v']])).overallCode).toBe('OK');
});
