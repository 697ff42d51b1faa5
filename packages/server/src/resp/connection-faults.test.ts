import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { Lane } from '@quotadb/resp';
import { expect, test } from 'vitest';
import { Server } from '../lifecycle/server.js';
import {
  clientField,
  encodeCommand,
  eventually,
  infoNumber,
  startTestServer,
  TestClient,
  useTestServers,
} from '../testing/index.js';

/** Clients that are slow, rude or many. Every transport must bear them. */

const start = useTestServers();

/** Reads replies of one length, checks each against its number, and drops them: gigabytes may pass. */
class NumberedReplies {
  count = 0;
  private rest: Buffer = Buffer.alloc(0);
  private readonly expected: (number: number) => string;

  constructor(client: TestClient, expected: (number: number) => string) {
    this.expected = expected;
    client.socket.removeAllListeners('data');
    client.socket.on('data', (chunk: Buffer) => this.receive(chunk));
  }

  private receive(chunk: Buffer): void {
    let bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    for (;;) {
      const reply = this.expected(this.count);
      if (bytes.length < reply.length) break;
      const actual = bytes.toString('latin1', 0, reply.length);
      if (actual !== reply) throw new Error(`reply ${this.count} is ${JSON.stringify(actual.slice(0, 80))}`);
      bytes = bytes.subarray(reply.length);
      this.count++;
    }
    this.rest = bytes;
  }
}

test('a slow reader gets every reply, whole and in order', async () => {
  const running = await start();
  const client = await TestClient.open(running.port);
  const value = (number: number) => `${number}:${'v'.repeat(20_000)}`;
  const commands = 1500;
  const replies = new NumberedReplies(client, (number) => `$${value(number).length}\r\n${value(number)}\r\n`);
  // Stops reading after every piece, so that the server's sends fill up and come back to it again and again.
  client.socket.on('data', () => {
    client.socket.pause();
    setImmediate(() => client.socket.resume());
  });
  for (let number = 0; number < commands; number++) client.write(encodeCommand('ECHO', value(number)));
  await eventually(() => expect(replies.count).toBe(commands));
  client.close();
});

test('a pipeline of many megabytes in small pieces is answered to the last command', async () => {
  const running = await start();
  const client = await TestClient.open(running.port);
  const commands = 1_000_000;
  const block = Buffer.from(encodeCommand('INCR', 'counter').repeat(10_000), 'latin1');
  const replies = new NumberedReplies(client, (number) => `:${number + 1}\r\n`);
  for (let sent = 0; sent < commands; sent += 10_000) {
    for (let position = 0; position < block.length; position += 4099) {
      const hasRoom = client.socket.write(block.subarray(position, position + 4099));
      if (!hasRoom) await new Promise((resolve) => client.socket.once('drain', resolve));
    }
  }
  await eventually(() => expect(replies.count).toBe(commands));
  client.close();
});

test("a command larger than the lane's input, or that ends right at its edge, is answered", async () => {
  const running = await start();
  const [client, other] = [await TestClient.open(running.port), await TestClient.open(running.port)];
  const edges = [Lane.READ_BYTES, Lane.STAGED_BYTES, Lane.STAGED_BYTES + Lane.READ_BYTES];
  const header = encodeCommand('ECHO', 'x'.repeat(Lane.READ_BYTES)).length - Lane.READ_BYTES;
  for (const edge of [...edges, 5_000_000]) {
    for (const length of [edge - header - 1, edge - header, edge - header + 1, edge]) {
      const value = 'x'.repeat(length);
      const reply = client.call('ECHO', value);
      expect(await other.call('INCR', 'other')).toMatch(/^:/);
      expect(await reply).toBe(`$${length}\r\n${value}\r\n`);
    }
  }
  client.close();
});

test('a command that comes byte by byte, between those of others, is answered', async () => {
  const running = await start();
  const clients = await Promise.all(Array.from({ length: 5 }, () => TestClient.open(running.port)));
  const command = encodeCommand('ECHO', 'a value that takes its time');
  for (const byte of command) {
    for (const client of clients) client.write(byte);
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const client of clients) expect(await client.reply()).toBe('$27\r\na value that takes its time\r\n');
});

test('a sleep keeps the order of the commands behind it, and no other client waits', async () => {
  const running = await start();
  const [sleeper, other] = [await TestClient.open(running.port), await TestClient.open(running.port)];
  sleeper.write('INCR a\r\nDEBUG SLEEP 0.3\r\nINCR a\r\nDEBUG SLEEP 0.1\r\nGET a\r\n');
  expect(await sleeper.reply()).toBe(':1\r\n');
  expect(await other.call('INCRBY', 'a', '10')).toBe(':11\r\n');
  expect(await sleeper.reply()).toBe('+OK\r\n');
  expect(await sleeper.reply()).toBe(':12\r\n');
  expect(await sleeper.reply()).toBe('+OK\r\n');
  expect(await sleeper.reply()).toBe('$2\r\n12\r\n');
});

test('replies in front of a sleep are read while it lasts', async () => {
  const running = await start();
  const client = await TestClient.open(running.port);
  // Far more than the system takes at once: the rest is sent bit by bit during the sleep.
  const value = 'x'.repeat(8_000_000);
  client.write(`${encodeCommand('ECHO', value)}DEBUG SLEEP 0.2\r\nPING\r\n`);
  let slow = true;
  client.socket.on('data', () => {
    if (!slow) return;
    client.socket.pause();
    setTimeout(() => client.socket.resume(), 2);
  });
  expect((await client.reply()).length).toBe(value.length + `$${value.length}\r\n\r\n`.length);
  slow = false;
  expect(await client.reply()).toBe('+OK\r\n');
  expect(await client.reply()).toBe('+PONG\r\n');
});

test('a client that resets while its replies wait is removed with them', async () => {
  const running = await start();
  const other = await TestClient.open(running.port);
  for (let round = 0; round < 5; round++) {
    const client = await TestClient.open(running.port);
    const id = Number((await client.call('CLIENT', 'ID')).slice(1));
    client.socket.pause();
    client.write(encodeCommand('ECHO', 'x'.repeat(100_000)).repeat(100));
    await eventually(async () => expect(Number(await clientField(other, id, 'omem'))).toBeGreaterThan(0));
    client.socket.resetAndDestroy();
    await eventually(async () => expect(await infoNumber(other, 'connected_clients')).toBe(1));
  }
});

test('a client that leaves before its waiting command runs is removed too', async () => {
  const running = await start();
  const watcher = await TestClient.open(running.port);
  await watcher.call('MSET', ...Array.from({ length: 20_000 }, (_, key) => [`key-${key}`, 1]).flat());
  const client = await TestClient.open(running.port);
  // Several turns of work, and only then a wait without end.
  client.socket.end(`${'KEYS none\r\n'.repeat(50)}WAIT 1 0\r\n`);
  await eventually(async () => expect(await infoNumber(watcher, 'connected_clients')).toBe(1));
});

test('a client that says goodbye behind a long pipeline gets all of its answers', async () => {
  const running = await start();
  const client = await TestClient.open(running.port);
  client.socket.allowHalfOpen = true;
  const value = 'x'.repeat(10_000);
  client.socket.end(encodeCommand('ECHO', value).repeat(1000));
  const rest = await client.rest();
  expect(rest.length).toBe(1000 * `$10000\r\n${value}\r\n`.length);
});

test('thousands of connections that come and go leave no descriptor behind', async () => {
  const running = await start();
  const watcher = await TestClient.open(running.port);
  await watcher.call('PING');
  const before = descriptors();
  for (let round = 0; round < 20; round++) {
    const clients = await Promise.all(Array.from({ length: 100 }, () => TestClient.open(running.port)));
    // Some speak, some never do, some end properly, some do not.
    await Promise.all(clients.filter((_, index) => index % 2 === 0).map((client) => client.call('INCR', 'a')));
    for (const [index, client] of clients.entries()) {
      if (index % 3 === 0) client.write('QUIT\r\n');
      else if (index % 3 === 1) client.close();
      else client.socket.resetAndDestroy();
    }
    await Promise.all(clients.map((client) => client.closed));
  }
  await eventually(async () => expect(await infoNumber(watcher, 'connected_clients')).toBe(1));
  await eventually(() => expect(descriptors()).toBe(before));
  expect(await watcher.call('GET', 'a')).toBe('$4\r\n1000\r\n');
});

test('a stop among clients that keep connecting and asking ends in time, and the port is free at once', async () => {
  for (let round = 0; round < 3; round++) {
    const before = descriptors();
    const running = await startTestServer();
    let storming = true;
    const storm = Promise.all(Array.from({ length: 20 }, () => connectAgainAndAgain(running.port, () => storming)));
    const watcher = await TestClient.open(running.port);
    await eventually(async () => expect(await infoNumber(watcher, 'total_connections_received')).toBeGreaterThan(100));
    const startedAtMs = performance.now();
    await running.stop();
    // A stop that runs into its bound has accepted a connection and not closed it.
    expect(performance.now() - startedAtMs).toBeLessThan(Server.STOP_BOUND_MS);
    const again = await startTestServer({ respPort: running.port });
    expect(again.port).toBe(running.port);
    storming = false;
    await storm;
    await again.stop();
    await eventually(() => expect(descriptors()).toBeLessThanOrEqual(before));
  }
});

/** How many this process has open; where the system does not show them, there is nothing to compare. */
function descriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
}

/** Connects, asks, waits for the answer or the end, and begins again. */
async function connectAgainAndAgain(port: number, goOn: () => boolean): Promise<void> {
  while (goOn()) {
    await new Promise<void>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => {});
      socket.on('connect', () => socket.write('INCR storm\r\n'));
      socket.on('data', () => socket.destroy());
      socket.on('close', () => resolve());
    });
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a half-closed client whose login waits for another thread gets its answer', async () => {
  const running = await start({ password: 'secret' });
  const client = await TestClient.open(running.port);
  client.socket.allowHalfOpen = true;
  client.socket.end('AUTH wrong\r\n');
  expect(await client.rest()).toMatch(/^-WRONGPASS /);
});
