import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { describeEveryDoor, startTestServer, TestClient, type TestServer } from '../testing/index.js';

const PIPELINE = 50;

/** Everything that comes, up to this number of bytes or the end of the connection. */
function receive(socket: Socket, bytes = Number.POSITIVE_INFINITY): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (text.length >= bytes) resolve(text);
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}

describeEveryDoor('a reply that waits for other servers', (open) => {
  let other: TestServer | undefined;
  afterEach(async () => {
    await other?.stop();
    other = undefined;
  });

  test('comes in its order, after pipelines, transactions and scripts, when another server holds the changes', async () => {
    other = await startTestServer({ region: 'us', member: 'b', transport: 'net', replicationPort: 0, home: 'us/a' });
    const port = other.server.state.identity.replicationPort as number;
    const door = await open({
      region: 'us',
      member: 'a',
      home: 'us/a',
      peers: [{ region: 'us/b', host: '127.0.0.1', port }],
      replicateBeforeReply: 1,
    });
    const increments = Array.from({ length: PIPELINE }, (_, index) => index + 1);
    const sent =
      'INCR n\r\n'.repeat(PIPELINE) +
      'MULTI\r\nINCR n\r\nINCR m\r\nEXEC\r\n' +
      'EVAL "return redis.call(\'incr\', KEYS[1])" 1 n\r\nGET n\r\n';
    const expected =
      increments.map((value) => `:${value}\r\n`).join('') +
      `+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:${PIPELINE + 1}\r\n:1\r\n:${PIPELINE + 2}\r\n$2\r\n${PIPELINE + 2}\r\n`;
    const socket = door.connect();
    socket.write(sent);
    expect(await receive(socket, expected.length)).toBe(expected);
    const client = await TestClient.open(other.port);
    expect(await client.call('GET', 'n')).toBe(`$2\r\n${PIPELINE + 2}\r\n`);
    expect(await client.call('GET', 'm')).toBe('$1\r\n1\r\n');
    client.close();
  });

  test('is an error when time is over, which ends the connection and leaves the change; reads do not wait', async () => {
    const door = await open({ replicateBeforeReply: 1, replicateTimeoutMs: 50 });
    const socket = door.connect();
    socket.write('INCR n\r\nINCR n\r\n');
    expect(await receive(socket)).toMatch(
      /^-NOREPLICAS fewer than 1 other servers hold these changes after 50 ms \(--replicate-before-reply\)[^\r]*\r\n$/,
    );
    const reader = door.connect();
    reader.write('GET n\r\n');
    expect(await receive(reader, 7)).toBe('$1\r\n2\r\n');
  });
});
