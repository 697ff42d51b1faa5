import { createHash } from 'node:crypto';
import { describeWithEpoll } from '@quotadb/resp/testing';
import { afterEach, expect, test } from 'vitest';
import { startTestServer, TestClient, type TestServer } from '../testing/index.js';

const CONNECTIONS = 8;
const ROUNDS = 150;
const THRESHOLD_MS = 50;

let server: TestServer | undefined;
const clients: TestClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await server?.stop();
  server = undefined;
});

async function connect(count: number): Promise<TestClient[]> {
  const opened = await Promise.all(Array.from({ length: count }, () => TestClient.open(server!.port)));
  clients.push(...opened);
  return opened;
}

async function ask(client: TestClient, ...words: string[]): Promise<string> {
  const [{ wire }] = await client.send([words]);
  return wire;
}

describeWithEpoll('scripts on several lanes', () => {
  test.each([
    [
      'keys that it declares',
      "redis.call('set',KEYS[1],redis.call('get',KEYS[1])+1) redis.call('incr',KEYS[2])",
      'a',
      'b',
    ],
    ['keys that it does not', "redis.call('set','a',redis.call('get','a')+1) redis.call('incr','b')", 'c', 'd'],
    [
      'a key that it declares, then others',
      "redis.call('set',KEYS[1],redis.call('get',KEYS[1])+1) for i=1,20 do redis.call('exists','x'..i) end redis.call('incr','b')",
      'a',
      'b',
    ],
    [
      'others only with some arguments',
      "redis.call('set',KEYS[1],redis.call('get',KEYS[1])+1) if ARGV[1]~='0' then redis.call('incr','other'..ARGV[1]) end redis.call('incr',KEYS[2])",
      'a',
      'b',
    ],
  ])('no other client comes between the commands of a script: %s', async (_, source, ...keys) => {
    server = await startTestServer({ transport: 'epoll', laneCount: 3 });
    const connections = await connect(CONNECTIONS);
    await ask(connections[0], 'MSET', 'a', '0', 'b', '0');
    const replies = await Promise.all(
      connections.map(async (client, index) => {
        const commands = Array.from({ length: ROUNDS }, (__, round) => [
          ['EVAL', source, '2', ...keys, String(round % 5)],
          ['INCR', `noise${index}`],
          ['MGET', 'a', 'b'],
        ]).flat();
        return client.send(commands);
      }),
    );
    const failures = replies.flat().filter(({ type }) => type === '-');
    expect(failures).toEqual([]);
    // A reader never sees one of the two changed.
    for (const { children } of replies.flat().filter(({ type }) => type === '*')) {
      expect(children[0].text).toBe(children[1].text);
    }
    const total = String(CONNECTIONS * ROUNDS);
    expect(await ask(connections[0], 'MGET', 'a', 'b')).toBe(`*2\r\n$4\r\n${total}\r\n$4\r\n${total}\r\n`);
  });

  test('a script that one lane knows is known to all at once', async () => {
    server = await startTestServer({ transport: 'epoll', laneCount: 3 });
    const connections = await connect(CONNECTIONS);
    for (const [index, client] of connections.entries()) {
      const source = `return ${index}`;
      await ask(client, ...(index % 2 === 0 ? ['SCRIPT', 'LOAD', source] : ['EVAL', source, '0']));
      const digest = createHash('sha1').update(source).digest('hex');
      for (const other of connections) expect(await ask(other, 'EVALSHA', digest, '0')).toBe(`:${index}\r\n`);
    }
    await ask(connections[0], 'SCRIPT', 'FLUSH');
    const digest = createHash('sha1').update('return 1').digest('hex');
    for (const client of connections) expect(await ask(client, 'EVALSHA', digest, '0')).toMatch(/^-NOSCRIPT/);
  });

  test.each([1, 2])('a slow script gives way with BUSY and can be killed, on %i lanes', async (laneCount) => {
    server = await startTestServer({ transport: 'epoll', laneCount, busyReplyThresholdMs: THRESHOLD_MS });
    const [running, ...others] = await connect(5);
    await ask(running, 'SET', 'key', '1');
    const result = ask(running, 'EVAL', 'while true do end', '1', 'key');
    const late = await connect(1);
    for (const client of [...others, ...late])
      await expect.poll(() => ask(client, 'GET', 'key'), { interval: 1 }).toMatch(/^-BUSY Redis is busy/);
    expect(await ask(others[0], 'SCRIPT', 'KILL')).toBe('+OK\r\n');
    expect(await result).toMatch(/^-ERR Script killed by user with SCRIPT KILL\.\.\./);
    for (const client of [running, ...others, ...late]) expect(await ask(client, 'GET', 'key')).toBe('$1\r\n1\r\n');
    expect(await ask(others[0], 'SCRIPT', 'KILL')).toMatch(/^-NOTBUSY/);
  });

  test('a transaction that meets a slow script is over when its EXEC is refused', async () => {
    server = await startTestServer({ transport: 'epoll', laneCount: 1, busyReplyThresholdMs: THRESHOLD_MS });
    const [running, begun, late] = await connect(3);
    await ask(begun, 'MULTI');
    expect(await ask(begun, 'INCR', 'key')).toBe('+QUEUED\r\n');
    const result = ask(running, 'EVAL', 'while true do end', '0');
    await expect.poll(() => ask(late, 'GET', 'key'), { interval: 1 }).toMatch(/^-BUSY/);
    expect(await ask(late, 'MULTI')).toBe('+OK\r\n');
    expect(await ask(late, 'INCR', 'key')).toMatch(/^-BUSY/);
    for (const client of [begun, late])
      expect(await ask(client, 'EXEC')).toMatch(/^-EXECABORT Transaction discarded because of: BUSY Redis is busy/);
    expect(await ask(late, 'SCRIPT', 'KILL')).toBe('+OK\r\n');
    await result;
    for (const client of [begun, late]) expect(await ask(client, 'GET', 'key')).toBe('$-1\r\n');
  });

  test.each([1, 2])('a slow script that has written cannot be killed, on %i lanes', async (laneCount) => {
    server = await startTestServer({ transport: 'epoll', laneCount, busyReplyThresholdMs: THRESHOLD_MS });
    const [running, other] = await connect(2);
    const source = `
      redis.call('set', KEYS[1], 5)
      local i = 0
      while i < 4e7 do i = i + 1 end
      return redis.call('incr', KEYS[1])`;
    const result = ask(running, 'EVAL', source, '1', 'key');
    await expect.poll(() => ask(other, 'SCRIPT', 'KILL'), { interval: 1 }).toMatch(/^-UNKILLABLE/);
    expect(await ask(other, 'MULTI')).toBe('+OK\r\n');
    expect(await ask(other, 'DISCARD')).toBe('+OK\r\n');
    expect(await result).toBe(':6\r\n');
    expect(await ask(other, 'GET', 'key')).toBe('$1\r\n6\r\n');
  });
});
