import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFile } from 'node:fs/promises';
import { request } from 'node:https';
import { connect } from 'node:net';
import { connect as connectSecurely, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { loadConfiguration } from '@quotadb/config';
import { describeWithRedis } from '@quotadb/wire/testing';
import { Redis } from 'ioredis';
import { createClient } from 'redis6';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  type CertificateFiles,
  certificateFiles,
  createAuthority,
  eventually,
  issueCertificate,
  type ReadyLine,
  type SpawnedServer,
  spawnServer,
  TestClient,
} from '../testing/index.js';

const authority = createAuthority('test authority');
const serverIdentity = issueCertificate(authority, 'server');
const clientIdentity = issueCertificate(authority, 'client');
const stranger = issueCertificate(createAuthority('another'), 'stranger');
const { certificate: ca } = authority;
const run = promisify(execFile);

let files: CertificateFiles;
let flags: string[];
const running: SpawnedServer[] = [];
const sockets: { destroy(): unknown }[] = [];
beforeAll(async () => {
  files = await certificateFiles();
  const own = await files.write('server', serverIdentity);
  const { certificate } = await files.write('authority', authority);
  flags = ['--resp-tls', '0', '--tls-cert', own.certificate, '--tls-key', own.key, '--tls-ca', certificate];
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of running.splice(0)) await server.stop();
});
afterAll(() => files.remove());

async function start(...more: string[]): Promise<ReadyLine & { respTls: number; server: SpawnedServer }> {
  const server = spawnServer([...flags, ...more]);
  running.push(server);
  const ready = await server.ready();
  return { ...ready, respTls: ready.respTls ?? -1, server };
}

async function open(port: number, options: object = { ca }): Promise<TLSSocket> {
  const socket = connectSecurely({ port, host: '127.0.0.1', ...options });
  sockets.push(socket);
  await once(socket, 'secureConnect');
  return socket;
}

async function ask(socket: TLSSocket, line: string): Promise<string> {
  socket.write(`${line}\r\n`);
  const [reply] = await once(socket, 'data');
  return String(reply);
}

async function secureClient(port: number): Promise<Redis> {
  const client = new Redis({ port, host: '127.0.0.1', tls: { ca }, lazyConnect: true, maxRetriesPerRequest: 1 });
  sockets.push({ destroy: () => client.disconnect() });
  await client.connect();
  return client;
}

describe.each([
  ['node:net', ['--transport', 'net']],
  ['epoll', ['--lanes', '2']],
  ['epoll on one lane', ['--lanes', '1']],
])('beside %s', (_, transport) => {
  test('clients with and without TLS work on the same counters', async () => {
    const { resp, respTls } = await start(...transport);
    const plain = await TestClient.open(resp);
    sockets.push(plain.socket);
    const io = await secureClient(respTls);
    const node = createClient({ socket: { port: respTls, host: '127.0.0.1', tls: true, ca } });
    await node.connect();
    expect(await plain.call('INCR', 'a')).toBe(':1\r\n');
    expect(await io.incr('a')).toBe(2);
    expect(await node.incr('a')).toBe(3);
    const many = Array.from({ length: 2000 }, () => io.incr('many'));
    expect(await Promise.all(many)).toEqual(many.map((_, index) => index + 1));
    await node.close();
  });

  test('large pipelines and replies go through whole', async () => {
    const { respTls } = await start(...transport);
    const io = await secureClient(respTls);
    const keys = Array.from({ length: 20_000 }, (_, index) => `key:${index}`);
    await io.mset(keys.flatMap((key, index) => [key, index]));
    expect(await io.mget(keys)).toEqual(keys.map((_, index) => String(index)));
    expect((await io.keys('*')).length).toBe(20_000);
  });

  test('questions about all clients include those of the other kind', async () => {
    const { resp, respTls } = await start(...transport);
    const plain = await TestClient.open(resp);
    sockets.push(plain.socket);
    const io = await secureClient(respTls);
    await io.client('SETNAME', 'secured');
    await plain.call('CLIENT', 'SETNAME', 'plain');
    const seen = [await plain.call('CLIENT', 'LIST'), String(await io.client('LIST'))];
    for (const list of seen) expect(list).toMatch(/name=plain.*name=secured/s);
    expect(await plain.call('INFO', 'clients')).toContain('connected_clients:2\r\n');
    expect(await io.config('SET', 'slowlog-max-len', '7')).toBe('OK');
    expect(await plain.call('CONFIG', 'GET', 'slowlog-max-len')).toContain('\r\n7\r\n');
    expect(await plain.call('CONFIG', 'SET', 'slowlog-max-len', '8')).toBe('+OK\r\n');
    expect(await io.config('GET', 'slowlog-max-len')).toEqual(['slowlog-max-len', '8']);
    expect(await plain.call('CLIENT', 'KILL', 'SKIPME', 'yes')).toBe(':1\r\n');
  });

  test('what is written over TLS is on disk before it is acknowledged', async () => {
    const data = `${files.directory}/${transport.join('')}`;
    const first = await start(...transport, '--data', data, '--fsync', 'always');
    const io = await secureClient(first.respTls);
    expect(await io.incr('durable')).toBe(1);
    io.disconnect();
    first.server.child.kill('SIGKILL');
    await first.server.finished;
    const second = await start(...transport, '--data', data);
    expect(await (await secureClient(second.respTls)).get('durable')).toBe('1');
  });
});

test('a server can do without a port for plain clients', async () => {
  const { resp, respTls } = await start('--resp', '-1');
  expect(resp).toBe(-1);
  expect(await (await secureClient(respTls)).ping()).toBe('PONG');
});

test('a client without TLS is closed, and no other client notices', async () => {
  const { respTls } = await start();
  const friend = await secureClient(respTls);
  const stray = connect(respTls, '127.0.0.1');
  sockets.push(stray);
  stray.on('error', () => {});
  stray.end('PING\r\n');
  await once(stray, 'close');
  expect(await friend.ping()).toBe('PONG');
});

test('handshakes that do not end are no more than the clients that may be served', async () => {
  const { respTls } = await start('--max-clients', '3');
  const idle = Array.from({ length: 3 }, () => connect(respTls, '127.0.0.1'));
  sockets.push(...idle);
  await Promise.all(idle.map((socket) => once(socket, 'connect')));
  const refused = connect(respTls, '127.0.0.1');
  sockets.push(refused);
  refused.on('error', () => {});
  await once(refused, 'close');
  idle[0].destroy();
  await eventually(async () => {
    const socket = await open(respTls);
    expect(await ask(socket, 'PING')).toBe('+PONG\r\n');
  });
});

describe('client certificates', () => {
  const own = { ca, cert: clientIdentity.certificate, key: clientIdentity.key };

  test('that are required let in the clients with one of the authority, and no others', async () => {
    const { respTls } = await start('--tls-clients', 'required');
    expect(await ask(await open(respTls, own), 'PING')).toBe('+PONG\r\n');
    for (const options of [{ ca }, { ca, cert: stranger.certificate, key: stranger.key }]) {
      const socket = connectSecurely({ port: respTls, host: '127.0.0.1', ...options });
      sockets.push(socket);
      socket.on('error', () => {});
      socket.on('data', (reply) => expect(String(reply)).toBe('nothing at all'));
      socket.write('PING\r\n');
      await new Promise<void>((resolve) => socket.on('close', () => resolve()));
    }
  });

  test('that are optional let in every client', async () => {
    const { respTls } = await start('--tls-clients', 'optional');
    expect(await ask(await open(respTls, own), 'PING')).toBe('+PONG\r\n');
    expect(await ask(await open(respTls), 'PING')).toBe('+PONG\r\n');
  });
});

test('new certificates are served after SIGHUP, the old ones go on where they are', async () => {
  const { certificate, key } = await files.write('changing', serverIdentity);
  const { respTls, server } = await start('--tls-cert', certificate, '--tls-key', key);
  const before = await open(respTls);
  expect(before.getPeerCertificate().subject.CN).toBe('server');
  const replacement = await files.write('replacement', issueCertificate(authority, 'renewed'));
  await copyFile(replacement.certificate, certificate);
  await copyFile(replacement.key, key);
  server.child.kill('SIGHUP');
  await eventually(async () => {
    expect((await open(respTls)).getPeerCertificate().subject.CN).toBe('renewed');
  });
  expect(await ask(before, 'PING')).toBe('+PONG\r\n');
  // A key that does not fit changes nothing.
  await copyFile(`${files.directory}/authority.key`, key);
  expect(await ask(before, 'ACL LOAD')).toMatch(/^-ERR nothing was changed: --tls-cert and --tls-key/);
  expect((await open(respTls)).getPeerCertificate().subject.CN).toBe('renewed');
});

test('HTTP is served over TLS where that is asked for', async () => {
  const { http } = await start('--http-tls');
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const asked = request({ port: http, host: '127.0.0.1', path: '/healthz', ca }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('error', reject);
    asked.end();
  });
  expect(status).toBe(200);
  await expect(fetch(`http://127.0.0.1:${http}/healthz`)).rejects.toThrow();
});

test.each([
  [{ 'resp-tls': '1' }, /--tls-cert, --tls-key/],
  [{ 'http-tls': true }, /--tls-cert, --tls-key/],
  [{ resp: '-1' }, /--resp: without it/],
  [{ 'tls-clients': 'required' }, /--tls-clients/],
])('%j is refused, with the reason', (given, reason) => {
  expect(() => loadConfiguration({ flags: given as Record<string, string>, environment: {} })).toThrow(reason);
});

test('files that cannot be used end the start with the reason', async () => {
  const server = spawnServer(['--resp-tls', '0', '--tls-cert', '/nowhere/a', '--tls-key', '/nowhere/b']);
  running.push(server);
  expect(await server.finished).toMatchObject({ code: 1, stderr: expect.stringContaining('--tls-cert: ENOENT') });
});

describeWithRedis('redis-cli --tls', () => {
  test('works', async () => {
    const { respTls } = await start();
    const words = ['-p', String(respTls), '--tls', '--cacert', `${files.directory}/authority.crt`, 'INCR', 'a'];
    expect((await run('redis-cli', words)).stdout.trim()).toBe('1');
  });
});
