import { connect } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import type { Configuration } from '../config/table.js';
import { Session } from '../session/session.js';
import { encodeCommand, startTestServer, TestClient, type TestServer } from '../testing/index.js';

let server: TestServer | undefined;
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

async function start(settings: Partial<Configuration> = {}): Promise<TestServer> {
  server = await startTestServer(settings);
  return server;
}

function statisticsOf({ server }: TestServer) {
  return server.state.statistics;
}

test('a client that never reads is paused while little waits for it, and nothing piles up', async () => {
  const running = await start({ outputLimit: { hardBytes: 0, softBytes: 256 * 1024, softSeconds: 0 } });
  const greedy = await TestClient.open(running.port);
  greedy.socket.pause();
  const [client] = running.server.state.clients;
  // Replies a thousand times as long as the commands, far more of them than any buffer on the way can hold.
  await (await TestClient.open(running.port)).call(
    'MSET',
    ...Array.from({ length: 400 }, (_, key) => [`k${key}`, 1]).flat(),
  );
  const batch = 'KEYS *\r\n'.repeat(1000);
  let sent = 0;
  const pump = () => {
    while (sent < 20_000 && greedy.socket.write(batch)) sent += 1000;
  };
  greedy.socket.on('drain', pump);
  pump();
  await vi.waitFor(() => expect(client.connection.pendingBytes).toBeGreaterThan(256 * 1024), { timeout: 10_000 });
  const highest = 256 * 1024 + Session.TURN_OUTPUT_BYTES * 2;
  for (let look = 0; look < 20; look++) {
    expect(client.connection.pendingBytes).toBeLessThan(highest);
    const other = await TestClient.open(running.port);
    expect(await other.call('PING')).toBe('+PONG\r\n');
    other.close();
  }
  const processed = statisticsOf(running).commands.calls.reduce((sum, calls) => sum + calls, 0);
  expect(processed).toBeLessThan(20_000);
  // Once it reads again, it goes on.
  const before = processed;
  greedy.socket.resume();
  await vi.waitFor(() => {
    const now = statisticsOf(running).commands.calls.reduce((sum, calls) => sum + calls, 0);
    expect(now).toBeGreaterThan(before + 500);
  });
  greedy.close();
});

test('a client that never reads is closed at the hard limit', async () => {
  const running = await start({ outputLimit: { hardBytes: 1024 * 1024, softBytes: 0, softSeconds: 0 } });
  const keys = Array.from({ length: 20_000 }, (_, key) => [`a-rather-long-key-to-list-${key}`, 1]).flat();
  const other = await TestClient.open(running.port);
  await other.call('MSET', ...keys);
  const greedy = await TestClient.open(running.port);
  greedy.socket.pause();
  greedy.write('KEYS *\r\n'.repeat(20));
  await vi.waitFor(() => expect(statisticsOf(running).outputLimitDisconnections).toBe(1), { timeout: 10_000 });
  await vi.waitFor(() => expect(running.server.state.clients.count).toBe(1));
  expect(await other.call('PING')).toBe('+PONG\r\n');
  greedy.close();
});

test('a client that stays past the soft limit is closed after the soft seconds', async () => {
  const running = await start({ outputLimit: { hardBytes: 0, softBytes: 64 * 1024, softSeconds: 1 } });
  const other = await TestClient.open(running.port);
  await other.call(
    'MSET',
    ...Array.from({ length: 20_000 }, (_, key) => [`a-rather-long-key-to-list-${key}`, 1]).flat(),
  );
  const greedy = await TestClient.open(running.port);
  greedy.socket.pause();
  greedy.write('KEYS *\r\n'.repeat(20));
  await vi.waitFor(() => expect(running.server.state.clients.count).toBe(1), { timeout: 10_000 });
  expect(statisticsOf(running).outputLimitDisconnections).toBe(1);
  greedy.close();
});

test('one client too many is told so and closed; the others are served', async () => {
  const running = await start({ maxClients: 2 });
  const [first, second] = [await TestClient.open(running.port), await TestClient.open(running.port)];
  await Promise.all([first.call('PING'), second.call('PING')]);
  const third = await TestClient.open(running.port);
  expect(await third.reply()).toBe('-ERR max number of clients reached\r\n');
  await third.closed;
  expect(await first.call('INFO', 'stats')).toContain('rejected_connections:1\r\n');
  second.close();
  await vi.waitFor(() => expect(running.server.state.clients.count).toBe(1));
  const fourth = await TestClient.open(running.port);
  expect(await fourth.call('PING')).toBe('+PONG\r\n');
});

test('a silent client is closed after the timeout; one that waits in a command is not', async () => {
  const running = await start({ timeoutSeconds: 1 });
  const silent = await TestClient.open(running.port);
  const waiting = await TestClient.open(running.port);
  waiting.write('DEBUG SLEEP 3\r\n');
  await silent.closed;
  expect(await waiting.reply()).toBe('+OK\r\n');
});

test('everything that was read is answered before a stop closes the connection', async () => {
  const running = await start();
  const clients = await Promise.all(Array.from({ length: 10 }, () => TestClient.open(running.port)));
  const count = 2000;
  for (const client of clients) client.write(encodeCommand('INCR', 'a').repeat(count));
  await vi.waitFor(() => expect(statisticsOf(running).commandsProcessed).toBeGreaterThan(0));
  await running.stop();
  let answered = 0;
  for (const client of clients) {
    const replies = (await client.rest()).split('\r\n');
    // The last is whole: what is there ends at a line.
    expect(replies.pop()).toBe('');
    answered += replies.length;
  }
  expect(answered).toBe(statisticsOf(running).commandsProcessed);
  expect(running.server.engine.stats().keys).toBe(1);
});

test('a stop ends the wait of those who wait, with an answer', async () => {
  const running = await start();
  const client = await TestClient.open(running.port);
  client.write('WAIT 1 0\r\nINCR a\r\n');
  await vi.waitFor(() => expect([...running.server.state.clients][0]?.blocked).toBe(true));
  await running.stop();
  expect(await client.rest()).toBe(':0\r\n:1\r\n');
});

test('a client that says goodbye first still gets its answers', async () => {
  const running = await start();
  const socket = connect({ port: running.port, host: '127.0.0.1', allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.end('PING\r\n'.repeat(1000));
  await new Promise((resolve) => socket.on('close', resolve));
  expect(Buffer.concat(chunks).toString()).toBe('+PONG\r\n'.repeat(1000));
});

test('a client that goes away while it waits is forgotten', async () => {
  const running = await start();
  const client = await TestClient.open(running.port);
  client.write('WAIT 1 0\r\n');
  await vi.waitFor(() => expect([...running.server.state.clients][0]?.blocked).toBe(true));
  client.close();
  await vi.waitFor(() => expect(running.server.state.clients.count).toBe(0));
});

test('a connection that is reset in mid-pipeline harms nobody', async () => {
  const running = await start();
  const other = await TestClient.open(running.port);
  for (let round = 0; round < 20; round++) {
    const client = await TestClient.open(running.port);
    client.write(encodeCommand('ECHO', 'x'.repeat(1000)).repeat(500));
    client.socket.resetAndDestroy();
    expect(await other.call('PING')).toBe('+PONG\r\n');
  }
  await vi.waitFor(() => expect(running.server.state.clients.count).toBe(1));
});

test('QUIT is answered and closes the connection, also in the middle of a pipeline', async () => {
  const running = await start();
  const client = await TestClient.open(running.port);
  client.write('INCR a\r\nQUIT\r\nINCR a\r\n');
  expect(await client.rest()).toBe(':1\r\n+OK\r\n');
});

test('a protocol error is answered though more bytes are on their way', async () => {
  const running = await start();
  const client = await TestClient.open(running.port);
  client.write(`*1\r\n:1\r\n${'x'.repeat(500_000)}`);
  expect(await client.rest()).toBe("-ERR Protocol error: expected '$', got ':'\r\n");
});

test('CLIENT KILL closes another connection', async () => {
  const running = await start();
  const [killer, victim] = [await TestClient.open(running.port), await TestClient.open(running.port)];
  const id = (await victim.call('CLIENT', 'ID')).slice(1, -2);
  expect(await killer.call('CLIENT', 'KILL', 'ID', id)).toBe(':1\r\n');
  await victim.closed;
});

test('expired keys are dropped though nobody asks for them', async () => {
  const running = await start();
  const client = await TestClient.open(running.port);
  const keys = 5000;
  client.write(Array.from({ length: keys }, (_, key) => encodeCommand('SET', `key-${key}`, 1, 'PX', 1)).join(''));
  await vi.waitFor(() => expect(running.server.engine.stats().expiredKeysTotal).toBe(keys), { timeout: 10_000 });
  const other = await TestClient.open(running.port);
  expect(await other.call('INFO', 'stats')).toContain(`expired_keys:${keys}\r\n`);
});
