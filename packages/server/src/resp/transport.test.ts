import { connect } from 'node:net';
import { ByteInput } from '@quotadb/engine';
import { Session } from '@quotadb/resp';
import { expect, test } from 'vitest';
import { clientField, encodeCommand, eventually, infoNumber, TestClient, useTestServers } from '../testing/index.js';

/** The promises of every transport. Lanes keep their own figures, so the tests ask for them over RESP. */

const start = useTestServers();

/** A pipeline whose replies are a thousand times as long as its commands. */
const MANY_KEYS = Array.from({ length: 20_000 }, (_, key) => [`a-rather-long-key-to-list-${key}`, 1]).flat();

test('a client that never reads is paused while little waits for it, and nothing piles up', async () => {
  const running = await start({ outputLimit: { hardBytes: 0, softBytes: 256 * 1024, softSeconds: 0 } });
  const [greedy, watcher] = [await TestClient.open(running.port), await TestClient.open(running.port)];
  const id = Number((await greedy.call('CLIENT', 'ID')).slice(1));
  greedy.socket.pause();
  await watcher.call('MSET', ...Array.from({ length: 400 }, (_, key) => [`k${key}`, 1]).flat());
  // Far more replies than any buffer on the way can hold.
  const batch = 'KEYS *\r\n'.repeat(1000);
  let sent = 0;
  const pump = () => {
    while (sent < 20_000 && greedy.socket.write(batch)) sent += 1000;
  };
  greedy.socket.on('drain', pump);
  pump();
  const pendingBytes = async () => Number(await clientField(watcher, id, 'omem'));
  await eventually(async () => expect(await pendingBytes()).toBeGreaterThan(256 * 1024));
  const highest = 256 * 1024 + Session.TURN_OUTPUT_BYTES * 2;
  for (let look = 0; look < 20; look++) {
    expect(await pendingBytes()).toBeLessThan(highest);
    const other = await TestClient.open(running.port);
    expect(await other.call('PING')).toBe('+PONG\r\n');
    other.close();
  }
  const processed = await infoNumber(watcher, 'total_commands_processed');
  expect(processed).toBeLessThan(20_000);
  // Once it reads again, it goes on.
  greedy.socket.resume();
  await eventually(async () =>
    expect(await infoNumber(watcher, 'total_commands_processed')).toBeGreaterThan(processed + 500),
  );
  greedy.close();
});

test('a client that never reads is closed at the hard limit', async () => {
  const running = await start({ outputLimit: { hardBytes: 1024 * 1024, softBytes: 0, softSeconds: 0 } });
  const other = await TestClient.open(running.port);
  await other.call('MSET', ...MANY_KEYS);
  const greedy = await TestClient.open(running.port);
  greedy.socket.pause();
  greedy.write('KEYS *\r\n'.repeat(20));
  await eventually(async () => expect(await infoNumber(other, 'client_output_buffer_limit_disconnections')).toBe(1));
  await eventually(async () => expect(await infoNumber(other, 'connected_clients')).toBe(1));
  expect(await other.call('PING')).toBe('+PONG\r\n');
  greedy.close();
});

test('a client that stays past the soft limit is closed after the soft seconds', async () => {
  const running = await start({ outputLimit: { hardBytes: 0, softBytes: 64 * 1024, softSeconds: 1 } });
  const other = await TestClient.open(running.port);
  await other.call('MSET', ...MANY_KEYS);
  const greedy = await TestClient.open(running.port);
  greedy.socket.pause();
  greedy.write('KEYS *\r\n'.repeat(20));
  await eventually(async () => expect(await infoNumber(other, 'total_commands_processed')).toBeGreaterThan(3));
  await eventually(async () => expect(await infoNumber(other, 'connected_clients')).toBe(1));
  expect(await infoNumber(other, 'client_output_buffer_limit_disconnections')).toBe(1);
  greedy.close();
});

test('one client too many gets an error and is closed; the others are served', async () => {
  const running = await start({ maxClients: 2 });
  const [first, second] = [await TestClient.open(running.port), await TestClient.open(running.port)];
  await Promise.all([first.call('PING'), second.call('PING')]);
  const third = await TestClient.open(running.port);
  expect(await third.reply()).toBe('-ERR max number of clients reached\r\n');
  await third.closed;
  expect(await first.call('INFO', 'stats')).toContain('rejected_connections:1\r\n');
  second.close();
  await eventually(async () => expect(await infoNumber(first, 'connected_clients')).toBe(1));
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
  expect(await clients[0].reply()).toMatch(/^:\d+\r\n$/);
  await running.stop();
  let answered = 1;
  for (const client of clients) {
    const replies = (await client.rest()).split('\r\n');
    // The last reply is whole: the bytes end with a line.
    expect(replies.pop()).toBe('');
    answered += replies.length;
  }
  const { engine } = running.server;
  engine.open(ByteInput.copyOf(Buffer.from('a')), 0, 1);
  expect(engine.valueLow).toBe(answered);
  engine.close();
});

test('a stop ends the wait of those who wait, with an answer', async () => {
  const running = await start();
  const [client, watcher] = [await TestClient.open(running.port), await TestClient.open(running.port)];
  client.write('WAIT 1 0\r\nINCR a\r\n');
  await eventually(async () => expect(await infoNumber(watcher, 'blocked_clients')).toBe(1));
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

test('a client that leaves while it waits is removed', async () => {
  const running = await start();
  const [client, watcher] = [await TestClient.open(running.port), await TestClient.open(running.port)];
  client.write('WAIT 1 0\r\n');
  await eventually(async () => expect(await infoNumber(watcher, 'blocked_clients')).toBe(1));
  client.close();
  await eventually(async () => expect(await infoNumber(watcher, 'connected_clients')).toBe(1));
});

test('a connection that is reset in mid-pipeline harms no other', async () => {
  const running = await start();
  const other = await TestClient.open(running.port);
  for (let round = 0; round < 20; round++) {
    const client = await TestClient.open(running.port);
    client.write(encodeCommand('ECHO', 'x'.repeat(1000)).repeat(500));
    client.socket.resetAndDestroy();
    expect(await other.call('PING')).toBe('+PONG\r\n');
  }
  await eventually(async () => expect(await infoNumber(other, 'connected_clients')).toBe(1));
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

test('expired keys are dropped without being read', async () => {
  const running = await start();
  const client = await TestClient.open(running.port);
  const keys = 5000;
  client.write(Array.from({ length: keys }, (_, key) => encodeCommand('SET', `key-${key}`, 1, 'PX', 1)).join(''));
  const other = await TestClient.open(running.port);
  await eventually(async () => expect(await infoNumber(other, 'expired_keys')).toBe(keys));
});
