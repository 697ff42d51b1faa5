import { expect, test } from 'vitest';
import {
  describeWithEpoll,
  encodeCommand,
  eventually,
  infoNumber,
  TestClient,
  type TestServer,
  useTestServers,
} from '../testing/index.js';

const LANES = 4;

const start = useTestServers({ transport: 'epoll', laneCount: LANES });

function open({ port }: TestServer, count: number): Promise<TestClient[]> {
  return Promise.all(Array.from({ length: count }, () => TestClient.open(port)));
}

function closeAll(clients: readonly TestClient[]): void {
  for (const client of clients) client.close();
}

/** 1, 2, 3 … as many as there are. */
function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** A command that keeps a lane busy for a few milliseconds, in a transaction too. */
const EXISTS_MANY = encodeCommand('EXISTS', ...Array.from({ length: 10_000 }, (_, key) => `key-0-${key}`));

async function connectionsPerLane(client: TestClient): Promise<number[]> {
  const text = await client.call('INFO', 'clients');
  return [...text.matchAll(/^quotadb_lane_\d+:connections=(\d+),/gm)].map(([, count]) => Number(count));
}

async function listedIds(client: TestClient): Promise<number[]> {
  return [...(await client.call('CLIENT', 'LIST')).matchAll(/^(?:\$\d+\r\n)?id=(\d+) /gm)].map(([, id]) => Number(id));
}

describeWithEpoll('one key under all lanes', () => {
  const CLIENTS = 40;
  const ROUNDS = 500;

  test('every increment counts once and is answered with the value right after it', async () => {
    const clients = await open(await start(), CLIENTS);
    for (const client of clients) client.write(`${encodeCommand('INCR', 'hot').repeat(ROUNDS)}QUIT\r\n`);
    const answers = await Promise.all(
      clients.map(async (client) =>
        [...(await client.rest()).matchAll(/:(\d+)\r\n/g)].map(([, value]) => Number(value)),
      ),
    );
    for (const values of answers) {
      expect(values).toHaveLength(ROUNDS);
      expect(values).toEqual([...values].sort((a, b) => a - b));
    }
    expect(answers.flat().sort((a, b) => a - b)).toEqual(upTo(CLIENTS * ROUNDS));
  });

  test('also one command at a time, and with transactions in between', async () => {
    const clients = await open(await start(), CLIENTS);
    const rounds = 50;
    const answers = await Promise.all(
      clients.map(async (client, index) => {
        const values: number[] = [];
        for (let round = 0; round < rounds; round++) {
          if (index % 2 === 0) {
            values.push(Number((await client.call('INCR', 'hot')).slice(1)));
          } else {
            client.write('MULTI\r\nINCR hot\r\nEXPIRE hot 100\r\nINCR hot\r\nEXEC\r\n');
            for (const expected of ['+OK\r\n', '+QUEUED\r\n', '+QUEUED\r\n', '+QUEUED\r\n']) {
              expect(await client.reply()).toBe(expected);
            }
            const found = /^\*3\r\n:(\d+)\r\n:1\r\n:(\d+)\r\n$/.exec(await client.reply());
            // Nothing comes in between.
            expect(Number(found?.[2])).toBe(Number(found?.[1]) + 1);
            values.push(Number(found?.[1]), Number(found?.[2]));
          }
        }
        expect(values).toEqual([...values].sort((a, b) => a - b));
        return values;
      }),
    );
    expect(answers.flat().sort((a, b) => a - b)).toEqual(upTo(rounds * CLIENTS * 1.5));
    expect(await clients[0].call('TTL', 'hot')).toMatch(/^:(100|9\d)\r\n$/);
    closeAll(clients);
  });

  test('keys changed together are never seen apart', async () => {
    const clients = await open(await start(), 16);
    const [reader, ...writers] = clients;
    let writing = true;
    const written = Promise.all(
      writers.map(async (writer) => {
        for (let round = 0; round < 100; round++) {
          writer.write('MULTI\r\nINCR a\r\nINCR b\r\nEXEC\r\nMSET c 1 d 1\r\nDEL c d\r\n');
          for (let reply = 0; reply < 6; reply++) await writer.reply();
        }
      }),
    ).then(() => {
      writing = false;
    });
    while (writing) {
      expect(await reader.call('EXISTS', 'c', 'd')).toMatch(/^:[02]\r\n$/);
      const found = /^\*2\r\n\$-?\d+(?:\r\n(\d+))?\r\n\$-?\d+(?:\r\n(\d+))?\r\n$/.exec(
        await reader.call('MGET', 'a', 'b'),
      );
      expect(found?.[1]).toBe(found?.[2]);
    }
    await written;
    expect(await reader.call('GET', 'b')).toBe('$4\r\n1500\r\n');
    closeAll(clients);
  });
});

describeWithEpoll('connections and lanes', () => {
  test('connections are spread evenly, and those that come later fill up what has become free', async () => {
    const running = await start();
    const clients = await open(running, 40);
    await eventually(async () => expect(await connectionsPerLane(clients[0])).toEqual([10, 10, 10, 10]));
    const survivors = clients.slice(0, 3);
    closeAll(clients.slice(3));
    await eventually(async () => expect(await infoNumber(survivors[0], 'connected_clients')).toBe(3));
    const later = await open(running, 17);
    await eventually(async () => expect(await connectionsPerLane(survivors[0])).toEqual([5, 5, 5, 5]));
    closeAll([...survivors, ...later]);
  });

  test('no more than maxclients are served by all lanes together, also when that is changed', async () => {
    const running = await start({ maxClients: 10 });
    const clients = await open(running, 10);
    await Promise.all(clients.map((client) => client.call('PING')));
    const refused = await open(running, 5);
    for (const client of refused) expect(await client.rest()).toBe('-ERR max number of clients reached\r\n');
    expect(await infoNumber(clients[3], 'rejected_connections')).toBe(5);
    expect(await clients[5].call('CONFIG', 'SET', 'maxclients', 12)).toBe('+OK\r\n');
    const more = await open(running, 2);
    for (const client of more) expect(await client.call('PING')).toBe('+PONG\r\n');
    expect(await (await TestClient.open(running.port)).reply()).toBe('-ERR max number of clients reached\r\n');
    closeAll([...clients, ...more]);
  });

  test('connections that never say anything are counted, listed, and closed by the timeout', async () => {
    const running = await start({ timeoutSeconds: 1 });
    const silent = await open(running, 12);
    const watcher = await TestClient.open(running.port);
    await eventually(async () => expect(await infoNumber(watcher, 'connected_clients')).toBe(13));
    expect(new Set(await listedIds(watcher)).size).toBe(13);
    let left = silent.length;
    for (const client of silent) void client.closed.then(() => left--);
    await eventually(async () => {
      // Keeps the watcher from being silent.
      expect(await watcher.call('PING')).toBe('+PONG\r\n');
      expect(left).toBe(0);
    });
    watcher.close();
  });

  test('a lane that is busy for long delays no new connection', async () => {
    const running = await start();
    const clients = await open(running, 4);
    for (let batch = 0; batch < 5; batch++) {
      await clients[0].call('MSET', ...Array.from({ length: 10_000 }, (_, key) => [`key-${batch}-${key}`, 1]).flat());
    }
    // Whichever lane it is that is kept busy, three of the next four connections go to the others.
    for (const busy of clients) {
      busy.write(`MULTI\r\n${EXISTS_MANY.repeat(120)}`);
      for (let reply = 0; reply < 121; reply++) await busy.reply();
      let isDone = false;
      const executed = busy.call('EXEC').then(() => {
        isDone = true;
      });
      const newcomers = await open(running, 4);
      const served = await Promise.any(newcomers.map((client) => client.call('PING')));
      expect(served).toBe('+PONG\r\n');
      expect(isDone).toBe(false);
      await executed;
      closeAll(newcomers);
      await eventually(async () => expect(await infoNumber(busy, 'connected_clients')).toBe(4));
    }
    closeAll(clients);
  });

  test('a long command in one lane, or a long transaction, does not stop the others', async () => {
    const running = await start();
    const [busy, ...others] = await open(running, 8);
    for (let batch = 0; batch < 5; batch++) {
      await busy.call('MSET', ...Array.from({ length: 10_000 }, (_, key) => [`key-${batch}-${key}`, 1]).flat());
    }
    let isDone = false;
    busy.write('KEYS none\r\n'.repeat(80));
    const finished = (async () => {
      for (let reply = 0; reply < 80; reply++) await busy.reply();
      isDone = true;
    })();
    await Promise.all(others.map((client) => client.call('INCR', 'other')));
    await Promise.all(others.map((client) => client.call('INCR', 'other')));
    expect(isDone).toBe(false);
    await finished;

    busy.write(`MULTI\r\n${EXISTS_MANY.repeat(60)}`);
    for (let reply = 0; reply < 61; reply++) await busy.reply();
    // While EXEC runs no other client may touch a key, but commands without keys do not wait.
    const executed = busy.call('EXEC');
    const answered = await Promise.race([...others.map((client) => client.call('PING')), executed]);
    expect(answered).toBe('+PONG\r\n');
    expect(await executed).toBe(`*60\r\n${':10000\r\n'.repeat(60)}`);
    closeAll([busy, ...others]);
  });
});

describeWithEpoll('what is asked of one lane is answered for all', () => {
  test('INFO adds up, and CONFIG RESETSTAT takes all back', async () => {
    const clients = await open(await start(), 12);
    for (const client of clients) {
      await client.call('INCR', 'a');
      await client.call('GET', 'a');
      await client.call('GET', 'none');
      await client.call('nonsense');
    }
    const text = await clients[7].call('INFO', 'everything');
    expect(text).toContain('connected_clients:12\r\n');
    expect(text).toContain('total_connections_received:12\r\n');
    expect(text).toContain('cmdstat_incr:calls=12,');
    expect(text).toContain('keyspace_hits:12\r\n');
    expect(text).toContain('keyspace_misses:12\r\n');
    expect(text).toContain('errorstat_ERR:count=12\r\n');
    expect(text).toContain('quotadb_lanes:4\r\n');
    expect(text).toContain('multiplexing_api:epoll\r\n');
    expect(await clients[2].call('CONFIG', 'RESETSTAT')).toBe('+OK\r\n');
    const after = await clients[5].call('INFO', 'everything');
    expect(after).not.toContain('cmdstat_incr');
    expect(after).toContain('total_connections_received:0\r\n');
    expect(after).toContain('keyspace_hits:0\r\n');
    closeAll(clients);
  });

  test('CLIENT LIST lists every client, with its own id, and CLIENT KILL finds each', async () => {
    const clients = await open(await start(), 24);
    const ids = await Promise.all(clients.map(async (client) => Number((await client.call('CLIENT', 'ID')).slice(1))));
    expect(new Set(ids).size).toBe(24);
    expect(await listedIds(clients[9])).toEqual([...ids].sort((a, b) => a - b));
    for (const index of [1, 2, 3, 4, 5, 6, 7, 8]) {
      expect(await clients[0].call('CLIENT', 'KILL', 'ID', ids[index])).toBe(':1\r\n');
      await clients[index].closed;
    }
    expect(await clients[0].call('CLIENT', 'KILL', 'ID', ids[1])).toBe(':0\r\n');
    expect(await clients[0].call('CLIENT', 'KILL', 'TYPE', 'normal')).toBe(':15\r\n');
    await Promise.all(clients.slice(1).map((client) => client.closed));
    expect(await listedIds(clients[0])).toEqual([ids[0]]);
    clients[0].close();
  });

  test('CONFIG SET holds for every lane as soon as it is answered', async () => {
    const server = await start();
    const clients = await open(server, 8);
    for (const [round, setter] of clients.entries()) {
      expect(await setter.call('CONFIG', 'SET', 'slowlog-max-len', 1000 + round)).toBe('+OK\r\n');
      const replies = await Promise.all(clients.map((client) => client.call('CONFIG', 'GET', 'slowlog-max-len')));
      for (const reply of replies) expect(reply).toContain(`\r\n${1000 + round}\r\n`);
    }
    await clients[0].call('CONFIG', 'SET', 'requirepass', 'secret');
    const newcomer = await open(server, 4);
    for (const client of newcomer) expect(await client.call('PING')).toMatch(/^-NOAUTH/);
    closeAll([...clients, ...newcomer]);
  });

  test('SLOWLOG shows the slow commands of all lanes, newest first, and resets them all', async () => {
    const clients = await open(await start({ slowlogSlowerThanMicroseconds: 0 }), 8);
    for (const [index, client] of clients.entries()) await client.call('ECHO', `from-${index}`);
    const text = await clients[3].call('SLOWLOG', 'GET', '-1');
    const order = [...text.matchAll(/from-(\d)/g)].map(([, index]) => Number(index));
    expect(order).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
    expect(Number((await clients[0].call('SLOWLOG', 'LEN')).slice(1))).toBeGreaterThanOrEqual(8);
    await clients[1].call('CONFIG', 'SET', 'slowlog-log-slower-than', -1);
    expect(await clients[4].call('SLOWLOG', 'RESET')).toBe('+OK\r\n');
    for (const client of clients) expect(await client.call('SLOWLOG', 'LEN')).toBe(':0\r\n');
    closeAll(clients);
  });

  test('LATENCY shows slow events of any lane, and resets them in all', async () => {
    const clients = await open(await start({ latencyThresholdMs: 1 }), 4);
    for (let batch = 0; batch < 5; batch++) {
      await clients[0].call('MSET', ...Array.from({ length: 10_000 }, (_, key) => [`key-${batch}-${key}`, 1]).flat());
    }
    for (const client of clients) await client.call('KEYS', 'none');
    for (const client of clients) expect(await client.call('LATENCY', 'LATEST')).toContain('$7\r\ncommand\r\n');
    await clients[3].call('CONFIG', 'SET', 'latency-monitor-threshold', 0);
    expect(await clients[2].call('LATENCY', 'RESET', 'command')).toBe(':1\r\n');
    for (const client of clients) expect(await client.call('LATENCY', 'LATEST')).not.toContain('command');
    closeAll(clients);
  });

  test('inside MULTI the answer is that of its own lane, and changes reach all lanes soon after', async () => {
    const clients = await open(await start(), 8);
    await Promise.all(clients.map((client) => client.call('PING')));
    const [client] = clients;
    client.write('MULTI\r\nCLIENT LIST\r\nINFO clients\r\nCONFIG SET slowlog-max-len 77\r\nINCR a\r\nEXEC\r\n');
    for (let reply = 0; reply < 5; reply++) await client.reply();
    const text = await client.reply();
    expect(text).toContain('connected_clients:2\r\n');
    expect(text.match(/\bid=\d+/g)).toHaveLength(2);
    expect(text).toMatch(/\+OK\r\n:1\r\n$/);
    await eventually(async () => {
      const replies = await Promise.all(clients.map((other) => other.call('CONFIG', 'GET', 'slowlog-max-len')));
      for (const reply of replies) expect(reply).toContain('\r\n77\r\n');
    });
    closeAll(clients);
  });

  test('questions from many connections at once, and commands behind them, are answered in order', async () => {
    const clients = await open(await start(), 16);
    await Promise.all(
      clients.map(async (client, index) => {
        client.write('CLIENT LIST\r\nPING a\r\nINFO clients\r\nPING b\r\n'.repeat(20));
        for (let round = 0; round < 20; round++) {
          expect(await client.reply()).toContain('id=');
          expect(await client.reply()).toBe('$1\r\na\r\n');
          expect(await client.reply()).toContain('connected_clients:');
          expect(await client.reply(), `client ${index}`).toBe('$1\r\nb\r\n');
        }
      }),
    );
    closeAll(clients);
  });

  test('a client that says goodbye right behind its question gets the answer', async () => {
    const running = await start();
    for (let round = 0; round < 10; round++) {
      const client = await TestClient.open(running.port);
      client.socket.allowHalfOpen = true;
      client.socket.end('INFO clients\r\nPING\r\n');
      expect(await client.rest()).toMatch(/quotadb_lane_3:.*\+PONG\r\n$/s);
    }
  });
});
