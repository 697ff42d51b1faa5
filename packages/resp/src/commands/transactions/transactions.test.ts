import { beforeEach, expect, test } from 'vitest';
import { errors } from '../../errors/errors.js';
import { encodeCommand, TestLane, type TestSession } from '../../testing/index.js';

let lane: TestLane;
let session: TestSession;
beforeEach(() => {
  lane = new TestLane();
  session = lane.open();
});

test('commands between MULTI and EXEC are kept, then run and answered together', () => {
  expect(session.call('MULTI')).toBe('+OK\r\n');
  expect(session.call('INCR', 'a')).toBe('+QUEUED\r\n');
  expect(session.call('EXPIRE', 'a', 10)).toBe('+QUEUED\r\n');
  expect(lane.open().call('EXISTS', 'a')).toBe(':0\r\n');
  expect(session.call('EXEC')).toBe('*2\r\n:1\r\n:1\r\n');
  expect(session.call('TTL', 'a')).toBe(':10\r\n');
  expect(session.call('EXEC')).toBe('-ERR EXEC without MULTI\r\n');
});

test('the arguments that were kept outlive the input they came in', () => {
  session.call('MULTI');
  session.call('SET', 'first-key', '111');
  lane.open().call('ECHO', 'x'.repeat(500));
  session.call('MSET', 'second', '222', 'third', '333');
  lane.open().call('ECHO', 'y'.repeat(500));
  expect(session.call('EXEC')).toBe('*2\r\n+OK\r\n+OK\r\n');
  expect(session.call('MGET', 'first-key', 'second', 'third')).toBe('*3\r\n$3\r\n111\r\n$3\r\n222\r\n$3\r\n333\r\n');
});

test('an empty transaction answers with nothing', () => {
  session.call('MULTI');
  expect(session.call('EXEC')).toBe('*0\r\n');
});

test('a command that fails inside EXEC does not stop those behind it', () => {
  session.send('MULTI\r\nSET a x\r\nINCR b\r\n');
  expect(session.call('EXEC')).toBe(`*2\r\n-${errors.valueNotAnInteger("'x'")}\r\n:1\r\n`);
});

test.each([
  ['an unknown command', 'nonsense'],
  ['a wrong number of arguments', 'GET'],
  ['an unknown subcommand', 'CONFIG foo'],
])('%s while queueing discards the whole transaction', (_, line) => {
  session.call('MULTI');
  session.call('INCR', 'a');
  expect(session.send(`${line}\r\n`)).toMatch(/^-ERR /);
  expect(session.call('INCR', 'a')).toBe('+QUEUED\r\n');
  expect(session.call('EXEC')).toBe('-EXECABORT Transaction discarded because of previous errors.\r\n');
  expect(session.call('EXISTS', 'a')).toBe(':0\r\n');
});

test('EXEC with arguments ends the transaction', () => {
  session.send('MULTI\r\nINCR a\r\n');
  expect(session.call('EXEC', 'now')).toBe(
    "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command\r\n",
  );
  expect(session.call('EXEC')).toBe('-ERR EXEC without MULTI\r\n');
});

test('DISCARD drops the commands', () => {
  expect(session.call('DISCARD')).toBe('-ERR DISCARD without MULTI\r\n');
  session.send('MULTI\r\nINCR a\r\n');
  expect(session.call('DISCARD')).toBe('+OK\r\n');
  expect(session.call('INCR', 'a')).toBe(':1\r\n');
});

test('MULTI inside MULTI and WATCH are refused without spoiling the transaction', () => {
  session.send('MULTI\r\nINCR a\r\n');
  expect(session.call('MULTI')).toBe('-ERR MULTI calls can not be nested\r\n');
  expect(session.call('WATCH', 'a')).toBe('-ERR WATCH inside MULTI is not allowed\r\n');
  expect(session.call('EXEC')).toBe('*1\r\n:1\r\n');
});

test('WATCH is refused clearly; UNWATCH has nothing to do', () => {
  expect(session.call('WATCH', 'a')).toMatch(/^-NOTSUPPORTED WATCH is not supported/);
  expect(session.call('UNWATCH')).toBe('+OK\r\n');
});

test('nothing waits inside EXEC', () => {
  session.send('MULTI\r\nWAIT 1 0\r\nDEBUG SLEEP 100\r\nINCR a\r\n');
  expect(session.call('EXEC')).toBe('*3\r\n:0\r\n+OK\r\n:1\r\n');
  expect(session.client.blocked).toBe(false);
});

test('QUIT and RESET do not wait for EXEC', () => {
  session.send('MULTI\r\nINCR a\r\n');
  expect(session.call('RESET')).toBe('+RESET\r\n');
  expect(session.call('EXEC')).toBe('-ERR EXEC without MULTI\r\n');
  session.send('MULTI\r\n');
  expect(session.call('QUIT')).toBe('+OK\r\n');
  expect(session.client.closing).toBe(true);
});

test('commands kept for EXEC are bounded like any other input', () => {
  const small = new TestLane({ queryBufferLimitBytes: 50_000 });
  const client = small.open();
  client.call('MULTI');
  const text = encodeCommand('SET', 'key', '1');
  let queued = 0;
  while (!client.client.closing && queued < 1000) {
    client.send(text);
    queued++;
  }
  expect(client.client.closing).toBe(true);
});

test('a transaction that is spoilt keeps nothing more', () => {
  session.send('MULTI\r\nGET\r\n');
  for (let count = 0; count < 10; count++) session.call('SET', 'key', '1');
  expect(session.client.transaction?.commands).toHaveLength(0);
});

test('EXEC with an error in it is no failed EXEC', () => {
  session.send('MULTI\r\nSET a x\r\nEXEC\r\n');
  const info = session.call('INFO', 'commandstats');
  expect(info).toMatch(/cmdstat_exec:calls=1,.*failed_calls=0/);
  expect(info).toMatch(/cmdstat_set:calls=1,.*failed_calls=1/);
});
