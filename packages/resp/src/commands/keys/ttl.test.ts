import { expect, test } from 'vitest';
import { CommandRunner } from '../../testing/index.js';

/** To the millisecond, which two running servers cannot be compared to. */

test.each([
  [2000, 2],
  [1501, 2],
  [1500, 2],
  [1499, 1],
  [500, 1],
  [499, 0],
  [1, 0],
])('with %i ms left TTL says %i', (leftMs, seconds) => {
  const runner = new CommandRunner();
  runner.run(`SET k 1 PX ${leftMs}`);
  expect(runner.run('TTL k')).toBe(`:${seconds}\r\n`);
  expect(runner.run('PTTL k')).toBe(`:${leftMs}\r\n`);
});

test.each([
  ['5000000000499', '5000000000'],
  ['5000000000500', '5000000001'],
])('a key that expires at %s ms has the time %s', (atMs, seconds) => {
  const runner = new CommandRunner();
  runner.run(`SET k 1 PXAT ${atMs}`);
  expect(runner.run('PEXPIRETIME k')).toBe(`:${atMs}\r\n`);
  expect(runner.run('EXPIRETIME k')).toBe(`:${seconds}\r\n`);
});

test('a key lives up to the millisecond it expires at, and not longer', () => {
  const runner = new CommandRunner();
  runner.run('SET k 1 PX 1000');
  runner.advance(999);
  expect(runner.run('PTTL k')).toBe(':1\r\n');
  expect(runner.run('GET k')).toBe('$1\r\n1\r\n');
  runner.advance(1);
  expect(runner.run('PTTL k')).toBe(':-2\r\n');
  expect(runner.run('GET k')).toBe('$-1\r\n');
});

test('the latest expiry is the largest number of milliseconds that is exact', () => {
  const runner = new CommandRunner();
  runner.run('SET k 1');
  expect(runner.run('PEXPIREAT k 9007199254740991')).toBe(':1\r\n');
  expect(runner.run('PEXPIRETIME k')).toBe(':9007199254740991\r\n');
  expect(runner.run('PEXPIREAT k 9007199254740992')).toBe("-ERR invalid expire time in 'pexpireat' command\r\n");
  expect(runner.run('EXPIRE k 9007199254740')).toBe("-ERR invalid expire time in 'expire' command\r\n");
});
