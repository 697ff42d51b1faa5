import { describeWithRedis, type RedisServer, startRedis } from '@quotadb/wire/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestServer, TestClient, type TestServer } from '../testing/index.js';

/**
 * Connection, server and transaction commands against a real Redis, byte by byte. Each line is a conversation on a
 * connection of its own. (Keys and counters have their own, larger, comparison in src/differential.)
 */
const conversations: readonly (readonly string[])[] = [
  ['PING', 'PING a', 'PING a b', 'ECHO a', 'ECHO', 'SELECT 0', 'SELECT x'],
  ['foo a b', 'foo', 'FOO "a\\r\\nb"', 'client', 'client foo', 'client setname', 'config', 'config foo', 'get'],
  ['EXEC', 'DISCARD', 'MULTI', 'MULTI', 'WATCH a', 'UNWATCH', 'EXEC', 'EXEC extra', 'MULTI', 'EXEC extra', 'EXEC'],
  ['MULTI', 'GET', 'PING', 'EXEC', 'MULTI', 'foo', 'EXEC', 'MULTI', 'client foo', 'DISCARD', 'EXEC'],
  ['MULTI', 'PING', 'WAIT 1 0', 'DEBUG SLEEP 0', 'SELECT 0', 'ECHO x', 'EXEC', 'MULTI', 'RESET', 'EXEC'],
  ['HELLO 4', 'HELLO x', 'HELLO 2 foo', 'HELLO 2 AUTH a', 'HELLO 2 SETNAME "a b"', 'HELLO 2 AUTH other x'],
  ['AUTH x', 'AUTH a b', 'AUTH default b', 'AUTH a b c'],
  ['RESET', 'CLIENT SETNAME me', 'CLIENT GETNAME', 'RESET', 'CLIENT GETNAME', 'CLIENT SETNAME "a b"'],
  ['CLIENT REPLY foo', 'CLIENT NO-EVICT foo', 'CLIENT NO-EVICT on', 'CLIENT ID x', 'CLIENT UNPAUSE'],
  ['CLIENT KILL foo', 'CLIENT KILL ID 1 2', 'CLIENT KILL ID x', 'CLIENT KILL ID 0', 'CLIENT KILL ID 9999'],
  ['CLIENT KILL TYPE foo', 'CLIENT KILL USER foo', 'CLIENT KILL SKIPME foo', 'CLIENT KILL foo bar', 'CLIENT KILL ID'],
  ['CLIENT LIST TYPE foo', 'CLIENT LIST TYPE pubsub', 'CLIENT LIST ID x', 'CLIENT LIST ID 9999', 'CLIENT LIST foo'],
  ['CLIENT PAUSE x', 'CLIENT PAUSE -1', 'CLIENT PAUSE 0 foo', 'CLIENT PAUSE 0', 'CLIENT PAUSE 1 write', 'CLIENT PAUSE'],
  ['CLIENT UNBLOCK x', 'CLIENT UNBLOCK 99999', 'CLIENT UNBLOCK 1 foo', 'CLIENT UNBLOCK 99999 error', 'CLIENT UNBLOCK'],
  ['CLIENT TRACKING foo', 'CLIENT TRACKING off', 'CLIENT TRACKINGINFO', 'CLIENT GETREDIR', 'CLIENT CACHING yes'],
  ['ROLE', 'ROLE x', 'MODULE LIST', 'MODULE foo', 'READONLY', 'READWRITE', 'ASKING', 'READONLY x'],
  ['CLUSTER', 'CLUSTER INFO', 'CLUSTER SLOTS', 'CLUSTER SHARDS', 'CLUSTER KEYSLOT', 'CLUSTER KEYSLOT a', 'CLUSTER foo'],
  [
    'CLUSTER HELP',
    'CLUSTER MYID x',
    'CLUSTER NODES',
    'LATENCY HISTOGRAM nosuch',
    'LATENCY HISTOGRAM xadd',
    'MONITOR x',
  ],
  ['WAIT 0 0', 'WAIT 1 10', 'WAIT x 0', 'WAIT 0 x', 'WAIT 0 -1', 'WAIT -1 0', 'WAIT 0 99999999999999999999'],
  ['SCRIPT FLUSH', 'SCRIPT FLUSH foo', 'SCRIPT EXISTS a b', 'SCRIPT foo', 'EVALSHA abc 0'],
  ['FUNCTION LIST', 'FUNCTION LIST foo', 'FUNCTION LIST LIBRARYNAME x', 'FUNCTION FLUSH', 'FUNCTION FLUSH foo'],
  ['DEBUG', 'DEBUG SLEEP 0', 'DEBUG SLEEP x', 'DEBUG SLEEP', 'DEBUG foo', 'DEBUG OBJECT none', 'ACL WHOAMI'],
  [
    'CONFIG GET',
    'CONFIG GET none',
    'CONFIG GET save',
    'CONFIG GET appendonl*',
    'CONFIG GET maxmemory-policy',
    'CONFIG RESETSTAT',
  ],
  ['CONFIG SET foo bar', 'CONFIG SET maxclients x', 'CONFIG SET maxclients 0', 'CONFIG SET timeout -1'],
  ['CONFIG SET maxclients', 'CONFIG SET timeout 0 maxclients', 'CONFIG SET timeout 0 timeout 0'],
  ['CONFIG SET client-output-buffer-limit "foo 1 2 3"', 'CONFIG SET client-output-buffer-limit "normal 1 x 3"'],
  ['CONFIG SET maxmemory 1xb', 'CONFIG SET slowlog-max-len x', 'CONFIG GET slowlog-max-len'],
  ['SLOWLOG RESET', 'SLOWLOG GET', 'SLOWLOG GET 1', 'SLOWLOG GET x', 'SLOWLOG GET -2', 'SLOWLOG LEN', 'SLOWLOG foo'],
  ['LATENCY LATEST', 'LATENCY HISTORY foo', 'LATENCY HISTORY', 'LATENCY RESET', 'LATENCY RESET a b'],
  ['MEMORY USAGE none', 'MEMORY USAGE none SAMPLES -1', 'MEMORY USAGE none SAMPLES x', 'MEMORY USAGE none foo'],
  ['MEMORY USAGE', 'MEMORY PURGE', 'MEMORY foo', 'TIME x'],
  ['COMMAND INFO foo', 'COMMAND DOCS foo', 'COMMAND LIST foo', 'COMMAND LIST FILTERBY MODULE x', 'COMMAND foo'],
  ['COMMAND GETKEYS GET a', 'COMMAND GETKEYS MSET a 1 b 2', 'COMMAND GETKEYS PING a', 'COMMAND GETKEYS foo a'],
  ['COMMAND GETKEYS GET a b', 'COMMAND GETKEYSANDFLAGS GET a', 'COMMAND INFO get|foo client|id', 'COMMAND INFO get'],
  ['INFO foo', 'INFO modules', 'QUIT'],
];

describeWithRedis('answers in the words of Redis', () => {
  let redis: RedisServer;
  let ours: TestServer;
  beforeAll(async () => {
    [redis, ours] = await Promise.all([startRedis(['--enable-debug-command', 'yes']), startTestServer()]);
  });
  afterAll(async () => {
    await Promise.all([redis?.stop(), ours?.stop()]);
  });

  for (const protocol of [2, 3]) {
    test.each(conversations.map((lines) => [lines[0], lines] as const))(`RESP${protocol}: %s …`, async (_, lines) => {
      expect(await converse(ours.port, protocol, lines)).toEqual(await converse(redis.port, protocol, lines));
    });
  }
});

/** Why a setting was refused: ours names the value and the range. Clients know the refusal by the words before it. */
const REASON = /(CONFIG SET failed \(possibly related to argument '[^']*'\)) - [^\r]*/;

async function converse(port: number, protocol: number, lines: readonly string[]): Promise<string[]> {
  const client = await TestClient.open(port);
  await client.call('HELLO', protocol);
  const replies: string[] = [];
  for (const line of lines) {
    client.write(`${line}\r\n`);
    replies.push(`${line} → ${(await client.reply()).replace(REASON, '$1 - its reason')}`);
  }
  client.close();
  return replies;
}
