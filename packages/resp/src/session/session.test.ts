import { expect, test } from 'vitest';
import { commands } from '../command-table/commands.js';
import { encodeCommand, TestLane } from '../testing/index.js';
import type { Command } from './command.js';
import { Session } from './session.js';

test('the commands of one read are answered in order', () => {
  const session = new TestLane().open();
  const pipeline = `${encodeCommand('INCR', 'a').repeat(2)}${encodeCommand('GET', 'a')}PING\r\n`;
  expect(session.send(pipeline)).toBe(':1\r\n:2\r\n$1\r\n2\r\n+PONG\r\n');
});

test('a command may be cut anywhere, and a connection that stops in the middle holds up no other', () => {
  const lane = new TestLane();
  const text = `${encodeCommand('SET', 'key', '12')}${encodeCommand('INCRBY', 'key', '30')}GET key\r\n`;
  for (let cut = 1; cut < text.length; cut++) {
    const session = lane.open();
    const other = lane.open();
    const before = session.send(text.slice(0, cut));
    expect(other.call('PING')).toBe('+PONG\r\n');
    expect(before + session.send(text.slice(cut))).toBe('+OK\r\n:42\r\n$2\r\n42\r\n');
  }
});

test('an unknown command is refused in the words of Redis', () => {
  const session = new TestLane().open();
  expect(session.call('foo', 'a', 'b')).toBe("-ERR unknown command 'foo', with args beginning with: 'a' 'b' \r\n");
  expect(session.call('foo')).toBe("-ERR unknown command 'foo', with args beginning with: \r\n");
  expect(session.call('f\r\n+OK')).toBe("-ERR unknown command 'f  +OK', with args beginning with: \r\n");
  const long = session.call('foo', 'x'.repeat(200), 'y');
  expect(long).toBe(`-ERR unknown command 'foo', with args beginning with: '${'x'.repeat(128)}' \r\n`);
  expect(session.call('lpush', 'list', '1')).toMatch(/^-ERR unknown command 'lpush'/);
  expect(session.call('CONFIG', 'foo')).toBe("-ERR unknown subcommand 'foo'. Try CONFIG HELP.\r\n");
});

test('a wrong number of arguments is refused by name', () => {
  const session = new TestLane().open();
  expect(session.call('GET')).toBe("-ERR wrong number of arguments for 'get' command\r\n");
  expect(session.call('PING', 'a', 'b')).toBe("-ERR wrong number of arguments for 'ping' command\r\n");
  expect(session.call('CLIENT')).toBe("-ERR wrong number of arguments for 'client' command\r\n");
  expect(session.call('client', 'id', 'x')).toBe("-ERR wrong number of arguments for 'client|id' command\r\n");
});

test('a command that Redis does not have says how it is used when arguments are missing', () => {
  const session = new TestLane().open();
  const ours = commands.filter(({ since, arity }) => /^(?:quotadb|0\.)/.test(since) && Math.abs(arity) > 1);
  expect(ours.length).toBeGreaterThan(20);
  for (const { name, syntax } of ours) {
    const usage = `${name.toUpperCase()} ${syntax}`.trimEnd();
    expect(Buffer.from(session.call(name), 'latin1').toString()).toBe(
      `-ERR wrong number of arguments for '${name}' command: ${usage}\r\n`,
    );
  }
});

test('a broken protocol is answered once and ends the conversation', () => {
  const session = new TestLane().open();
  expect(session.send('PING\r\n*1\r\n$x\r\nPING\r\n')).toBe('+PONG\r\n-ERR Protocol error: invalid bulk length\r\n');
  expect(session.client.closing).toBe(true);
  expect(session.send('PING\r\n')).toBe('');
});

test('nothing is run behind QUIT', () => {
  const lane = new TestLane();
  const session = lane.open();
  expect(session.send('QUIT\r\nINCR a\r\n')).toBe('+OK\r\n');
  expect(session.client.closing).toBe(true);
  expect(lane.open().call('EXISTS', 'a')).toBe(':0\r\n');
});

test('a command that waits delays its own connection and no other, and the commands behind it follow', () => {
  const lane = new TestLane();
  const session = lane.open();
  const other = lane.open();
  expect(session.send('INCR a\r\nDEBUG SLEEP 0.5\r\nINCR a\r\n')).toBe(':1\r\n');
  expect(session.session.waitMs).toBe(500);
  expect(session.client.blocked).toBe(true);
  expect(session.send('INCR a\r\n')).toBe('');
  expect(other.call('INCR', 'a')).toBe(':2\r\n');
  lane.clock.advance(500);
  expect(session.resume()).toBe('+OK\r\n:3\r\n:4\r\n');
  expect(session.session.waitMs).toBe(Session.NOT_WAITING);
});

test('the input that arrives while a command waits is bounded', () => {
  const lane = new TestLane({ queryBufferLimitBytes: 100_000 });
  const session = lane.open();
  session.send('DEBUG SLEEP 100\r\n');
  for (let piece = 0; piece < 20 && !session.client.closing; piece++) session.send('x'.repeat(10_000));
  expect(session.client.closing).toBe(true);
  expect(session.client.bufferedInputBytes).toBeLessThanOrEqual(110_000);
  expect(lane.lane.server.statistics.queryLimitDisconnections).toBe(1);
});

test('an unfinished command past client-query-buffer-limit closes its connection', () => {
  const lane = new TestLane({ queryBufferLimitBytes: 1_000_000 });
  const session = lane.open();
  session.send('*2\r\n$3\r\nGET\r\n$500000000\r\n');
  for (let piece = 0; piece < 11; piece++) session.send('x'.repeat(100_000));
  expect(session.client.closing).toBe(true);
});

test('a command larger than the shared input is taken whole, in one piece or in many', () => {
  const lane = new TestLane();
  const keys = Array.from({ length: 20_000 }, (_, index) => `key-number-${index}`);
  const text = encodeCommand('EXISTS', ...keys, keys[0]) + encodeCommand('PING');
  expect(lane.open().call('SET', keys[0], 1)).toBe('+OK\r\n');
  expect(lane.open().send(text)).toBe(':2\r\n+PONG\r\n');
  const session = lane.open();
  let replies = '';
  for (let start = 0; start < text.length; start += 7001) replies += session.send(text.slice(start, start + 7001));
  expect(replies).toBe(':2\r\n+PONG\r\n');
  expect(session.client.bufferedInputBytes).toBe(0);
});

test('a pipeline of large replies is answered in turns, so that it never lies in memory as a whole', () => {
  const lane = new TestLane();
  const session = lane.open();
  const message = 'm'.repeat(1000);
  const count = 1000;
  const text = encodeCommand('ECHO', message).repeat(count);
  let received = 0;
  for (let start = 0; start < text.length; start += 65_536) {
    session.session.receive(Buffer.from(text.slice(start, start + 65_536)));
    for (;;) {
      expect(lane.lane.reply.length).toBeLessThan(Session.TURN_OUTPUT_BYTES + 2 * message.length);
      received += lane.lane.reply.length;
      lane.lane.reply.reset();
      if (!session.session.hasMore) break;
      session.session.resume();
    }
  }
  expect(received).toBe(count * `$1000\r\n${message}\r\n`.length);
});

test('costly commands give way to other connections after a while', () => {
  const lane = new TestLane({}, [
    {
      ...ECHO_LIKE,
      name: 'costly',
      run({ reply }) {
        lane.clock.advance(3);
        reply.ok();
      },
    },
  ]);
  const session = lane.open();
  session.session.receive(Buffer.from('COSTLY\r\n'.repeat(5)));
  expect(session.session.hasMore).toBe(true);
  expect(lane.lane.reply.length).toBe('+OK\r\n'.length * 2);
  lane.lane.reply.reset();
  expect(session.resume()).toBe('+OK\r\n+OK\r\n');
  expect(session.resume()).toBe('+OK\r\n');
  expect(session.session.hasMore).toBe(false);
  expect(lane.lane.server.statistics.longestTurnMicroseconds).toBe(6000);
});

const ECHO_LIKE: Omit<Command, 'name' | 'run'> = {
  arity: -1,
  flags: [],
  group: 'server',
  summary: '',
  since: '',
  complexity: 'O(N)',
  syntax: '',
};

test('a command that throws costs its own connection and is reported; others go on', () => {
  const lane = new TestLane({}, [
    {
      ...ECHO_LIKE,
      name: 'broken',
      run({ reply }) {
        reply.array(3);
        throw new Error('a bug');
      },
    },
  ]);
  const session = lane.open();
  const other = lane.open();
  expect(session.call('BROKEN')).toBe('-ERR internal error\r\n');
  expect(session.client.closing).toBe(true);
  expect(lane.faults).toHaveLength(1);
  expect(other.call('INCR', 'a')).toBe(':1\r\n');
});

test('time comes from the clock, once a turn', () => {
  const lane = new TestLane();
  const session = lane.open();
  session.send('SET a 1 PX 1000\r\n');
  lane.clock.advance(999);
  expect(session.call('PTTL', 'a')).toBe(':1\r\n');
  lane.clock.advance(1);
  expect(session.call('EXISTS', 'a')).toBe(':0\r\n');
});

test('calls, refusals and failures are counted apart', () => {
  const lane = new TestLane();
  const session = lane.open();
  session.send('INCR a\r\nINCR a\r\nINCR\r\nSET s x\r\nSET s 9223372036854775807\r\nINCR s\r\n');
  const info = session.call('INFO', 'commandstats', 'errorstats', 'stats');
  expect(info).toMatch(/cmdstat_incr:calls=3,.*rejected_calls=1,failed_calls=1\r\n/);
  expect(info).toMatch(/cmdstat_set:calls=2,.*rejected_calls=0,failed_calls=1\r\n/);
  expect(info).toContain('errorstat_ERR:count=2\r\n');
  expect(info).toContain('errorstat_NOTINTEGER:count=1\r\n');
  expect(info).toContain('total_error_replies:3\r\n');
  session.call('CONFIG', 'RESETSTAT');
  expect(session.call('INFO', 'commandstats')).not.toContain('cmdstat_incr');
});

test('a client that speaks HTTP is closed without an answer, and one of a minute is logged', () => {
  const lane = new TestLane();
  for (let attempt = 0; attempt < 5; attempt++) {
    const session = lane.open();
    expect(session.send('POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nINCR a\r\n')).toBe('');
    expect(session.client.closing).toBe(true);
  }
  expect(lane.warnings).toEqual([expect.stringMatching(/SECURITY ATTACK detected: 192\.0\.2\.1:\d+ sent HTTP or TLS/)]);
  lane.clock.advance(60_000);
  lane.open().send('GET / HTTP/1.1\r\n\r\n');
  expect(lane.warnings[1]).toContain('(and 4 more since the last message)');
  expect(lane.open().send('GET a\r\n')).toBe('$-1\r\n');
});

test('lines behind a turn that gives way are searched for HTTP once, and found before they run', () => {
  const lane = new TestLane();
  const session = lane.open();
  expect(session.send(`DEBUG SLEEP 1\r\n${'INCR a\r\n'.repeat(100)}POST / HTTP/1.1\r\n`)).toBe('');
  expect(session.client.closing).toBe(true);
  expect(lane.open().send('GET a\r\n')).toBe('$-1\r\n');
});
