import { beforeEach, describe, expect, test } from 'vitest';
import { commands } from '../../command-table/commands.js';
import { TestLane, type TestSession } from '../../testing/index.js';

let lane: TestLane;
let session: TestSession;
beforeEach(() => {
  lane = new TestLane();
  session = lane.open();
});

describe('CONFIG', () => {
  test('GET takes several patterns and answers each parameter once', () => {
    expect(session.call('CONFIG', 'GET', 'maxclients', 'MAXCLIENT*', 'save')).toBe(
      '*4\r\n$10\r\nmaxclients\r\n$5\r\n10000\r\n$4\r\nsave\r\n$0\r\n\r\n',
    );
    expect(session.call('CONFIG', 'GET', 'maxmemory')).toContain(String(512 * 1024 * 1024));
  });

  test('SET changes parameters that are not fixed, all or none', () => {
    expect(session.call('CONFIG', 'SET', 'maxclients', 7, 'timeout', 30)).toBe('+OK\r\n');
    expect(lane.config).toMatchObject({ maxClients: 7, timeoutSeconds: 30 });
    expect(session.call('CONFIG', 'SET', 'maxclients', 8, 'timeout', -1)).toMatch(
      /^-ERR CONFIG SET failed \(possibly related to argument 'timeout'\)/,
    );
    expect(lane.config.maxClients).toBe(7);
    expect(session.call('CONFIG', 'SET', 'client-output-buffer-limit', 'normal 2mb 1mb 5')).toBe('+OK\r\n');
    expect(session.call('CONFIG', 'GET', 'client-output-buffer-limit')).toContain('normal 2097152 1048576 5');
  });

  test('SET refuses fixed parameters, except with the value they have', () => {
    expect(session.call('CONFIG', 'SET', 'appendonly', 'yes')).toMatch(/can't set immutable config/);
    expect(session.call('CONFIG', 'SET', 'appendonly', 'no', 'save', '')).toBe('+OK\r\n');
    expect(session.call('CONFIG', 'SET', 'maxmemory', '1gb')).toMatch(/can't set immutable config/);
    expect(session.call('CONFIG', 'SET', 'maxmemory', '512mb')).toBe('+OK\r\n');
    expect(session.call('CONFIG', 'REWRITE')).toMatch(/^-ERR Rewriting config file/);
  });

  test('SET does not open a public server', () => {
    const open = new TestLane({ host: '0.0.0.0', password: 'secret' });
    const admin = open.open();
    admin.call('AUTH', 'secret');
    expect(admin.call('CONFIG', 'SET', 'requirepass', '')).toMatch(/can be reached from other machines/);
    expect(open.config.password).toBe('secret');
  });
});

describe('INFO', () => {
  test('without arguments it has the usual sections, with "everything" all of them', () => {
    const titles = (text: string) => [...text.matchAll(/^# (\w+)\r$/gm)].map(([, title]) => title);
    const usual = titles(session.call('INFO'));
    expect(usual).toEqual(
      expect.arrayContaining(['Server', 'Clients', 'Memory', 'Persistence', 'Stats', 'Replication', 'CPU', 'Keyspace']),
    );
    expect(usual).not.toContain('Commandstats');
    expect(titles(session.call('INFO', 'default'))).toEqual(usual);
    expect(titles(session.call('INFO', 'everything'))).toContain('Commandstats');
    expect(titles(session.call('INFO', 'all'))).toContain('Commandstats');
    expect(titles(session.call('INFO', 'keyspace', 'SERVER', 'nonsense'))).toEqual(['Server', 'Keyspace']);
    expect(session.call('INFO', 'nonsense')).toBe('$0\r\n\r\n');
  });

  test('counts keys and those that expire', () => {
    session.send('SET a 1\r\nSET b 1 EX 10\r\n');
    expect(session.call('INFO', 'keyspace')).toContain('db0:keys=2,expires=1,avg_ttl=0\r\n');
  });

  test('counts reads that found a key and reads that did not', () => {
    session.send('SET a 1\r\nGET a\r\nGET b\r\nMGET a b c\r\n');
    expect(session.call('INFO', 'stats')).toMatch(/keyspace_hits:2\r\nkeyspace_misses:3\r\n/);
  });

  test('every line is a name and a value', () => {
    const [, ...lines] = session.call('INFO', 'everything').split('\r\n');
    for (const line of lines) expect(line).toMatch(/^(# \w+|[a-z0-9_|-]+:.*|)$/i);
  });

  test('is verbatim text in RESP3', () => {
    session.call('HELLO', 3);
    expect(session.call('INFO', 'server')).toMatch(/^=\d+\r\ntxt:# Server\r\n/);
  });
});

describe('COMMAND', () => {
  test('COUNT and LIST agree with the table', () => {
    expect(session.call('COMMAND', 'COUNT')).toBe(`:${commands.length}\r\n`);
    const list = session.call('COMMAND', 'LIST');
    for (const { name } of commands) expect(list).toContain(`\r\n${name}\r\n`);
    expect(session.call('COMMAND')).toMatch(new RegExp(`^\\*${commands.length}\r\n`));
  });

  test('INFO describes subcommands too, and replies nil for unknown ones', () => {
    expect(session.call('COMMAND', 'INFO', 'incr')).toMatch(/^\*1\r\n\*10\r\n\$4\r\nincr\r\n:2\r\n/);
    expect(session.call('COMMAND', 'INFO', 'client|kill')).toMatch(/^\*1\r\n\*10\r\n\$11\r\nclient\|kill\r\n:-3\r\n/);
    expect(session.call('COMMAND', 'INFO', 'lpush')).toBe('*1\r\n$-1\r\n');
  });

  test('DOCS has every command', () => {
    const docs = session.call('COMMAND', 'DOCS');
    for (const { summary } of commands) expect(docs).toContain(summary);
    expect(session.call('COMMAND', 'DOCS', 'nonsense')).toBe('*0\r\n');
  });

  test('GETKEYS finds the keys', () => {
    expect(session.call('COMMAND', 'GETKEYS', 'MSET', 'a', 1, 'b', 2)).toBe('*2\r\n$1\r\na\r\n$1\r\nb\r\n');
    expect(session.call('COMMAND', 'GETKEYS', 'MGET', 'a', 'b', 'c')).toBe('*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n');
    expect(session.call('COMMAND', 'GETKEYS', 'MEMORY', 'USAGE', 'k')).toBe('*1\r\n$1\r\nk\r\n');
    expect(session.call('COMMAND', 'GETKEYS', 'PING', 'x')).toBe('-ERR The command has no key arguments\r\n');
  });
});

describe('SLOWLOG', () => {
  test('keeps commands that took long, newest first, and cuts long arguments', () => {
    session.call('CONFIG', 'SET', 'slowlog-log-slower-than', 0, 'slowlog-max-len', 3);
    session.call('SLOWLOG', 'RESET');
    session.call('CLIENT', 'SETNAME', 'me');
    session.call('ECHO', 'x'.repeat(200));
    session.call('EXISTS', ...Array.from({ length: 40 }, (_, index) => `k${index}`));
    expect(session.call('SLOWLOG', 'LEN')).toBe(':3\r\n');
    const log = session.call('SLOWLOG', 'GET', 3);
    expect(log).toMatch(/^\*3\r\n\*6\r\n:\d+\r\n:1700000000\r\n:0\r\n\*2\r\n\$7\r\nSLOWLOG\r\n\$3\r\nLEN\r\n/);
    expect(log).toContain('... (10 more arguments)');
    expect(log).toContain(`${'x'.repeat(128)}... (72 more bytes)`);
    expect(log).toContain('$2\r\nme\r\n');
    session.call('CONFIG', 'SET', 'slowlog-log-slower-than', -1);
    session.call('SLOWLOG', 'RESET');
    session.call('PING');
    expect(session.call('SLOWLOG', 'LEN')).toBe(':0\r\n');
  });
});

describe('WAIT and WAITAOF of a server without peers and without a disk', () => {
  test('waiting for no replica returns at once', () => {
    expect(session.call('WAIT', 0, 0)).toBe(':0\r\n');
    expect(session.call('WAITAOF', 0, 0, 0)).toBe('*2\r\n:0\r\n:0\r\n');
  });

  test('waiting for a replica that is not there takes the whole timeout, without end if it is 0', () => {
    expect(session.call('WAIT', 1, 250)).toBe('');
    expect(session.session.waitMs).toBe(250);
    expect(session.resume()).toBe(':0\r\n');
    expect(session.call('WAITAOF', 0, 1, 250)).toBe('');
    expect(session.resume()).toBe('*2\r\n:0\r\n:0\r\n');
    expect(session.call('WAIT', 1, 0)).toBe('');
    expect(session.session.waitMs).toBe(Number.POSITIVE_INFINITY);
  });

  test('the disk that is not there cannot be waited for', () => {
    expect(session.call('WAITAOF', 1, 0, 0)).toBe(
      '-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n',
    );
    expect(session.call('WAITAOF', 2, 0, 0)).toMatch(/^-ERR value is out of range/);
    expect(session.call('WAIT', 1, -1)).toBe('-ERR timeout is negative\r\n');
  });
});

test('LATENCY keeps the events that took long', () => {
  const { latency } = lane.lane.server;
  expect(session.call('LATENCY', 'LATEST')).toBe('*0\r\n');
  latency.record('expire-cycle', 5_000, 12);
  latency.record('expire-cycle', 6_000, 10);
  latency.record('expire-cycle', 6_500, 11);
  expect(session.call('LATENCY', 'LATEST')).toBe('*1\r\n*4\r\n$12\r\nexpire-cycle\r\n:6\r\n:11\r\n:12\r\n');
  expect(session.call('LATENCY', 'HISTORY', 'expire-cycle')).toBe('*2\r\n*2\r\n:5\r\n:12\r\n*2\r\n:6\r\n:11\r\n');
  session.call('CONFIG', 'SET', 'latency-monitor-threshold', 10);
  expect(session.call('LATENCY', 'DOCTOR')).toContain(
    'expire-cycle: 2 slow seconds, 12 ms on average, 12 ms at worst.',
  );
  expect(session.call('LATENCY', 'RESET', 'nonsense')).toBe(':0\r\n');
  expect(session.call('LATENCY', 'RESET')).toBe(':1\r\n');
});

test('MEMORY USAGE returns the memory of a key', () => {
  session.call('SET', 'a', 1);
  expect(session.call('MEMORY', 'USAGE', 'a')).toMatch(/^:[1-9]\d*\r\n$/);
  expect(session.call('MEMORY', 'USAGE', 'none')).toBe('$-1\r\n');
  expect(session.call('MEMORY', 'DOCTOR')).toContain('all is well');
  expect(session.call('MEMORY', 'STATS')).toContain('keys.count\r\n:1\r\n');
});

test('TIME is the clock of the server', () => {
  lane.clock.advance(123);
  expect(session.call('TIME')).toBe('*2\r\n$10\r\n1700000000\r\n$6\r\n123000\r\n');
});

test('DEBUG knows SLEEP and OBJECT and refuses the rest', () => {
  session.call('SET', 'a', 1);
  expect(session.call('DEBUG', 'OBJECT', 'a')).toMatch(/^\+Value at:\S+ refcount:1 encoding:int serializedlength:\d+ /);
  expect(session.call('DEBUG', 'OBJECT', 'b')).toBe('-ERR no such key\r\n');
  expect(session.call('DEBUG', 'JMAP')).toMatch(/^-ERR unknown subcommand or wrong number of arguments for 'JMAP'/);
});

test('functions and publish/subscribe are refused clearly, or answered as by a server that has none', () => {
  expect(session.call('FCALL', 'f', 0)).toMatch(/^-NOTSUPPORTED functions are not supported/);
  expect(session.call('SUBSCRIBE', 'channel')).toBe('-NOTSUPPORTED publish/subscribe is not supported\r\n');
  expect(session.call('FUNCTION', 'LIST')).toBe('*0\r\n');
});

test('HELP lists every subcommand of every command that has some', () => {
  for (const { name, subcommands } of commands) {
    // CLUSTER HELP is refused as in Redis.
    if (subcommands === undefined || name === 'cluster') continue;
    const help = session.call(name, 'HELP').toUpperCase();
    for (const subcommand of subcommands) expect(help).toContain(`+${subcommand.name.toUpperCase()}`);
  }
});
