import type { UserRecord } from '@quotadb/config';
import { beforeEach, describe, expect, test } from 'vitest';
import { commands } from '../command-table/commands.js';
import { errors } from '../errors/errors.js';
import { TestLane, type TestSession } from '../testing/index.js';

let lane: TestLane;
let zero: TestSession;
let one: TestSession;
beforeEach(() => {
  lane = new TestLane({ databases: 3 });
  zero = lane.open();
  one = lane.open();
  expect(one.call('SELECT', 1)).toBe('+OK\r\n');
});

describe('a database', () => {
  test('has keys of its own, whatever command names them', () => {
    zero.call('MSET', 'a', 1, 'b', 2);
    expect(one.call('MGET', 'a', 'b')).toBe('*2\r\n$-1\r\n$-1\r\n');
    expect(one.call('INCRBY', 'a', 10)).toBe(':10\r\n');
    expect(one.call('MSET', 'b', 20, 'c', 30)).toBe('+OK\r\n');
    expect(one.call('EXPIRE', 'b', 100)).toBe(':1\r\n');
    expect(one.call('RENAME', 'c', 'd')).toBe('+OK\r\n');
    expect(one.call('DEL', 'a', 'none')).toBe(':1\r\n');
    expect(one.call('OBJECT', 'ENCODING', 'd')).toBe('$3\r\nint\r\n');
    expect(one.call('MEMORY', 'USAGE', 'a')).toBe('$-1\r\n');
    expect(zero.call('MGET', 'a', 'b', 'c', 'd')).toBe('*4\r\n$1\r\n1\r\n$1\r\n2\r\n$-1\r\n$-1\r\n');
    expect(zero.call('TTL', 'b')).toBe(':-1\r\n');
  });

  test('has keys of its own in scripts too, under the names that the script was given', () => {
    zero.call('SET', 'a', 1);
    const script = "return {KEYS[1], redis.call('INCRBY', KEYS[1], 5), redis.call('INCR', 'undeclared')}";
    for (const [name, times] of [
      ['EVAL', 1],
      ['EVAL', 2],
    ] as const) {
      expect(one.call(name, script, 1, 'a')).toBe(`*3\r\n$1\r\na\r\n:${5 * times}\r\n:${times}\r\n`);
    }
    expect(zero.call('MGET', 'a', 'undeclared')).toBe('*2\r\n$1\r\n1\r\n$-1\r\n');
    const selecting = "redis.call('SELECT', 2) return redis.call('INCR', KEYS[1])";
    expect(one.call('EVAL', selecting, 1, 'a')).toBe(':1\r\n');
    expect(one.call('GET', 'a')).toBe('$2\r\n10\r\n');
    one.call('MULTI');
    one.call('EVAL', script, 1, 'a');
    expect(one.call('EXEC')).toBe('*1\r\n*3\r\n$1\r\na\r\n:15\r\n:3\r\n');
  });

  test('has windows and rate limits of its own, and the quotas of all', () => {
    for (const session of [zero, one]) {
      expect(session.call('RATE.LIMIT', 'user', 1, 1000)).toMatch(/^\*5\r\n:1\r\n/);
      expect(session.call('RATE.LIMITALL', 1, 'x', 1, 1000, 'y', 1, 1000)).toMatch(/^\*3\r\n:1\r\n/);
      expect(session.call('WINDOW.INCRBY', 'w', 1000, 1)).toMatch(/^\*3\r\n:1\r\n/);
    }
    expect(one.call('RATE.LIMIT', 'user', 1, 1000)).toMatch(/^\*5\r\n:0\r\n/);
  });

  test('is what SCAN, KEYS, RANDOMKEY, DBSIZE and INFO keyspace show', () => {
    zero.call('MSET', 'a', 1, 'b', 2);
    one.call('SETEX', 'only', 100, 1);
    expect(one.call('KEYS', '*')).toBe('*1\r\n$4\r\nonly\r\n');
    expect(one.call('KEYS', 'o*')).toBe('*1\r\n$4\r\nonly\r\n');
    expect(one.call('SCAN', 0, 'COUNT', 100)).toBe('*2\r\n$1\r\n0\r\n*1\r\n$4\r\nonly\r\n');
    expect(zero.call('SCAN', 0, 'COUNT', 100)).not.toContain('only');
    for (let count = 0; count < 20; count++) {
      expect(one.call('RANDOMKEY')).toBe('$4\r\nonly\r\n');
      expect(zero.call('RANDOMKEY')).toMatch(/^\$1\r\n[ab]/);
    }
    expect(one.call('DBSIZE')).toBe(':1\r\n');
    expect(zero.call('DBSIZE')).toBe(':2\r\n');
    expect(zero.call('INFO', 'keyspace')).toContain('db0:keys=2,expires=0,avg_ttl=0\r\ndb1:keys=1,expires=1,');
  });

  test('RANDOMKEY finds the one key of a database among many of another', () => {
    for (let key = 0; key < 5000; key++) zero.call('SET', `k${key}`, 1);
    one.call('SET', 'needle', 1);
    expect(one.call('RANDOMKEY')).toBe('$6\r\nneedle\r\n');
  });

  test('FLUSHDB empties it, cells included, and no other; FLUSHALL empties all', () => {
    for (const session of [zero, one]) {
      session.call('SET', 'a', 1);
      session.call('RATE.LIMIT', 'user', 1, 1000);
      session.call('RATE.GCRA', 'bucket', 0, 1, 1000);
      session.call('WINDOW.INCRBY', 'w', 1000, 1);
    }
    expect(one.call('FLUSHDB')).toBe('+OK\r\n');
    expect(one.call('DBSIZE')).toBe(':0\r\n');
    expect(one.call('RATE.LIMIT', 'user', 1, 1000)).toMatch(/^\*5\r\n:1\r\n/);
    expect(one.call('RATE.GCRA', 'bucket', 0, 1, 1000)).toMatch(/^\*5\r\n:1\r\n/);
    expect(one.call('WINDOW.GET', 'w', 1000)).toMatch(/^\*3\r\n:0\r\n/);
    expect(zero.call('GET', 'a')).toBe('$1\r\n1\r\n');
    expect(zero.call('RATE.LIMIT', 'user', 1, 1000)).toMatch(/^\*5\r\n:0\r\n/);
    expect(zero.call('RATE.GCRA', 'bucket', 0, 1, 1000)).toMatch(/^\*5\r\n:0\r\n/);
    one.call('SET', 'a', 1);
    zero.call('FLUSHDB');
    expect(zero.call('RATE.LIMIT', 'user', 1, 1000)).toMatch(/^\*5\r\n:1\r\n/);
    expect(one.call('GET', 'a')).toBe('$1\r\n1\r\n');
    one.call('FLUSHALL');
    expect(lane.lane.engine.keyCount()).toBe(0);
  });

  test('takes keys from another: MOVE and COPY … DB', () => {
    zero.call('SET', 'a', 5, 'EX', 100);
    expect(zero.call('COPY', 'a', 'b', 'DB', 1)).toBe(':1\r\n');
    expect(zero.call('COPY', 'a', 'a', 'DB', 1)).toBe(':1\r\n');
    expect(zero.call('MOVE', 'a', 1)).toBe(':0\r\n');
    expect(zero.call('MOVE', 'a', 2)).toBe(':1\r\n');
    expect(zero.call('EXISTS', 'a')).toBe(':0\r\n');
    expect(one.call('TTL', 'b')).toBe(':100\r\n');
    expect(one.call('MOVE', 'b', 0)).toBe(':1\r\n');
    expect(zero.call('GET', 'b')).toBe('$1\r\n5\r\n');
    expect(one.call('MOVE', 'a', 1)).toBe(`-${errors.sameObject}\r\n`);
    expect(one.call('MOVE', 'a', 3)).toBe(`-${errors.databaseOutOfRange}\r\n`);
    expect(one.call('SWAPDB', 0, 1)).toMatch(/^-NOTSUPPORTED SWAPDB/);
  });

  test('is chosen inside a transaction for the commands behind it', () => {
    zero.send('MULTI\r\nSET a 1\r\nSELECT 2\r\nSET a 2\r\nGET a\r\n');
    expect(zero.call('EXEC')).toBe('*4\r\n+OK\r\n+OK\r\n+OK\r\n$1\r\n2\r\n');
    expect(zero.call('GET', 'a')).toBe('$1\r\n2\r\n');
    zero.call('SELECT', 0);
    expect(zero.call('GET', 'a')).toBe('$1\r\n1\r\n');
  });

  test('is 0 again after RESET, and shown by CLIENT LIST', () => {
    expect(one.call('CLIENT', 'INFO')).toContain(' db=1 ');
    one.call('RESET');
    expect(one.call('CLIENT', 'INFO')).toContain(' db=0 ');
    one.call('SET', 'a', 1);
    expect(zero.call('GET', 'a')).toBe('$1\r\n1\r\n');
  });

  test('the slow log has the names that the client wrote', () => {
    zero.call('CONFIG', 'SET', 'slowlog-log-slower-than', 0);
    one.call('SET', 'mine', 1);
    expect(zero.call('SLOWLOG', 'GET', 1)).toContain('$4\r\nmine\r\n');
  });

  test('a large request, a long key and many keys are mapped too', () => {
    const long = 'k'.repeat(60_000);
    const names = Array.from({ length: 3000 }, (_, index) => `${index}`.padStart(50, 'x'));
    one.call('MSET', ...[long, ...names].flatMap((name) => [name, 7]));
    expect(one.call('DBSIZE')).toBe(':3001\r\n');
    expect(one.call('GET', long)).toBe('$1\r\n7\r\n');
    expect(zero.call('DBSIZE')).toBe(':0\r\n');
  });
});

test('the prefixes of a user hold for the names within each database', () => {
  const record: UserRecord = {
    name: 'app',
    roles: ['read', 'write'],
    prefixes: ['app:'],
    passwords: ['unused'],
    tokens: [],
  };
  const guarded = new TestLane({ databases: 2, users: new Map([['app', record]]) });
  const session = guarded.open();
  session.client.become(guarded.lane.server.access.find('app'));
  session.call('SELECT', 1);
  expect(session.call('SET', 'app:a', 1)).toBe('+OK\r\n');
  expect(session.call('SET', 'other', 1)).toMatch(/^-NOPERM/);
  expect(session.call('COPY', 'app:a', 'other')).toMatch(/^-NOPERM/);
  expect(session.call('KEYS', '*')).toBe('*1\r\n$5\r\napp:a\r\n');
  expect(session.call('PING')).toBe('+PONG\r\n');
  expect(session.call('SET', '\0QDd\x01app:a', 1)).toMatch(/^-(NOPERM|ERR keys that begin)/);
});

describe('a SELECT that was refused', () => {
  test('leaves a connection that touches no keys, instead of those of another database', () => {
    const session = new TestLane().open();
    session.call('SET', 'a', 1);
    expect(session.call('SELECT', 1)).toBe(`-${errors.noDatabase(1, 1)}\r\n`);
    for (const words of [
      ['GET', 'a'],
      ['SET', 'a', 2],
      ['FLUSHDB'],
      ['KEYS', '*'],
      ['DBSIZE'],
      ['RATE.LIMIT', 'a', 1, 1],
    ])
      expect(session.call(...words)).toBe(`-${errors.databaseNotSelected}\r\n`);
    expect(session.call('PING')).toBe('+PONG\r\n');
    expect(session.call('SELECT', 'x')).toBe('-ERR value is not an integer or out of range\r\n');
    expect(session.call('SELECT', -1)).toBe(`-${errors.noDatabase(-1, 1)}\r\n`);
    expect(session.call('SELECT', 0)).toBe('+OK\r\n');
    expect(session.call('GET', 'a')).toBe('$1\r\n1\r\n');
  });

  test('so does one inside a transaction', () => {
    const session = new TestLane().open();
    session.send('MULTI\r\nSELECT 1\r\nSET a 2\r\n');
    expect(session.call('EXEC')).toBe(`*2\r\n-${errors.noDatabase(1, 1)}\r\n-${errors.databaseNotSelected}\r\n`);
  });
});

test('every command with keys opens those of its database, and no other key of the store', () => {
  const opened: string[] = [];
  const { engine } = lane.lane;
  const open = engine.openAny.bind(engine);
  engine.openAny = (input, start, length) => {
    opened.push(Buffer.from(input.bytes.subarray(start, start + length)).toString('latin1'));
    return open(input, start, length);
  };
  const all = commands.flatMap((command) => [
    { command, words: [command.name] },
    ...(command.subcommands ?? []).map((subcommand) => ({
      command: subcommand,
      words: [command.name, subcommand.name],
    })),
  ]);
  for (const { command, words } of all) {
    if (command.keys === undefined || command.group === 'quota' || command.run === undefined) continue;
    const count = Math.abs(command.arity);
    one.call(...words, ...Array.from({ length: count - words.length }, () => '1'));
    const strangers = opened.filter((key) => !key.includes('\0QDd\x01'));
    expect([words, strangers]).toEqual([words, []]);
  }
  expect(opened.length).toBeGreaterThan(20);
});
