import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { countsApi, createCountsService } from '@quotadb/counts';
import { createHandler, HttpServer, Sites, serveApi, usualSocketTimeouts } from '@quotadb/http';
import { afterEach, expect, test } from 'vitest';
import { statusApi } from '../http/status/status-api.js';
import { eventually, infoNumber, type SpawnedServer, spawnServer, TestClient } from '../testing/index.js';

const sockets: Socket[] = [];
const running: SpawnedServer[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of running.splice(0)) await server.stop();
});

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  sockets.push(socket);
  return socket;
}

async function start(...flags: string[]) {
  const server = spawnServer(flags);
  running.push(server);
  return server.ready();
}

/** Sends it a piece at a time until the other side has had enough. */
async function drip(socket: Socket, text: string): Promise<void> {
  let position = 0;
  const timer = setInterval(() => socket.write(text[position++ % text.length] ?? ''), 20);
  await new Promise<void>((resolve) => socket.on('close', () => resolve()));
  clearInterval(timer);
}

async function startHttp(maximumConnections = 1000) {
  const counts = createCountsService({ tokens: { external: ['x'], internal: ['y'] } });
  const status = { isReady: () => true, describe: () => ({}), page: '/docs', metrics: async () => '' };
  const sites = new Sites({ isOpen: () => false, isLoopbackName: () => true });
  const handle = createHandler(
    [serveApi(countsApi(['external', 'internal']), counts.api), serveApi(statusApi, status)],
    {
      authenticate: () => ({ covers: () => true }),
      sites,
      onError: () => undefined,
    },
  );
  const timeouts = { ...usualSocketTimeouts, headersTimeoutMs: 200, requestTimeoutMs: 400, checkIntervalMs: 20 };
  const accelerate = (server: Server) => counts.accelerate(server, sites);
  const server = new HttpServer({ handle, timeouts, maximumConnections, accelerate });
  const port = await server.listen('127.0.0.1', 0);
  const stop = async (): Promise<void> => {
    server.close();
    await counts.stop();
  };
  return { port, stop };
}

test('HTTP clients that drip their headers or bodies are closed, and others are served meanwhile', async () => {
  const { port, stop } = await startHttp();
  const slow = [
    ...Array.from({ length: 50 }, () => drip(open(port), `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(9000)}`)),
    ...Array.from({ length: 50 }, () => {
      const socket = open(port);
      socket.write('POST /api/v1/counts/a/increase HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n');
      return drip(socket, ' ');
    }),
    // Silent from the start.
    ...Array.from({ length: 50 }, () => once(open(port), 'close')),
  ];
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  await Promise.all(slow);
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  await stop();
});

test('headers without end are refused, not kept', async () => {
  const { port, stop } = await startHttp();
  const socket = open(port);
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk;
  });
  socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n${'X-Header: abcdefghij\r\n'.repeat(10_000)}`);
  await once(socket, 'close');
  expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  expect(answer).toContain('"code":"headers_too_large"');
  await stop();
});

test('more HTTP connections than there may be are closed, and those there are go on', async () => {
  const { port, stop } = await startHttp(5);
  const kept = Array.from({ length: 5 }, () => open(port));
  await Promise.all(kept.map((socket) => once(socket, 'connect')));
  const refused = open(port);
  await once(refused, 'close');
  kept[0].write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(String((await once(kept[0], 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /);
  await stop();
});

test.each([[['--transport', 'net']], [['--lanes', '2']]])(
  'those who do not log in are closed in time; those who did are not (%j)',
  async (flags) => {
    const { resp } = await start(...flags, '--password', 'secret', '--login-timeout', '1');
    const silent = Array.from({ length: 20 }, () => open(resp));
    const dripping = drip(open(resp), 'PING');
    const friend = await TestClient.open(resp);
    sockets.push(friend.socket);
    expect(await friend.call('AUTH', 'secret')).toBe('+OK\r\n');
    await Promise.all([...silent.map((socket) => once(socket, 'close')), dripping]);
    expect(await friend.call('PING')).toBe('+PONG\r\n');
  },
);

test.each([[['--transport', 'net']], [['--lanes', '2']]])(
  'thousands of idle and half-sent connections cost little memory, and others are served (%j)',
  async (flags) => {
    const COUNT = 3000;
    const { resp } = await start(...flags);
    const friend = await TestClient.open(resp);
    sockets.push(friend.socket);
    const before = await infoNumber(friend, 'used_memory_rss');
    const idle: Socket[] = [];
    // A few at a time: what the queue of the system has no room for never reaches the server.
    while (idle.length < COUNT) {
      const wave = Array.from({ length: 100 }, () => open(resp));
      await Promise.all(wave.map((socket) => once(socket, 'connect')));
      idle.push(...wave);
      await eventually(async () => expect(await infoNumber(friend, 'connected_clients')).toBe(idle.length + 1));
    }
    for (const [index, socket] of idle.entries()) if (index % 2 === 0) socket.write('*3\r\n$3\r\nSET\r\n$1000\r\nabc');
    expect(await friend.call('INCR', 'a')).toBe(':1\r\n');
    const grown = (await infoNumber(friend, 'used_memory_rss')) - before;
    expect(grown / COUNT).toBeLessThan(40_000);
    for (const socket of idle) socket.destroy();
    await eventually(async () => expect(await infoNumber(friend, 'connected_clients')).toBe(1));
  },
);

test('a pipeline of a million commands is answered while others get their turns, in bounded memory', async () => {
  const { resp } = await start('--lanes', '1');
  const [flood, friend] = [await TestClient.open(resp), await TestClient.open(resp)];
  sockets.push(flood.socket, friend.socket);
  const before = await infoNumber(friend, 'used_memory_rss');
  flood.socket.removeAllListeners('data');
  let replies = 0;
  flood.socket.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) replies++;
  });
  const thousand = 'INCR flood\r\n'.repeat(1000);
  for (let sent = 0; sent < 1000; sent++) {
    if (!flood.socket.write(thousand)) await once(flood.socket, 'drain');
    if (sent % 100 === 0) expect(await friend.call('PING')).toBe('+PONG\r\n');
  }
  await eventually(() => expect(replies).toBe(1_000_000));
  expect(await friend.call('GET', 'flood')).toBe('$7\r\n1000000\r\n');
  expect((await infoNumber(friend, 'used_memory_rss')) - before).toBeLessThan(200e6);
});
