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

test('an expiry past the largest number of milliseconds that is exact becomes that one; Redis refuses past 64 bits', () => {
  const runner = new CommandRunner();
  runner.run('SET k 1');
  expect(runner.run('PEXPIREAT k 9007199254740991')).toBe(':1\r\n');
  expect(runner.run('PEXPIRETIME k')).toBe(':9007199254740991\r\n');
  for (const line of [
    'PEXPIREAT k 9007199254740992',
    'PEXPIREAT k 9223372036854775807',
    'EXPIRE k 9007199254740',
    'EXPIREAT k 9223372036854775',
    'SET k 1 PXAT 9223372036854775807',
    'SETEX k 9223370000000000 1',
    'GETEX k PX 9223370000000000000',
    'INCRBYEX new 1 9223370000000000',
  ]) {
    expect(runner.run('PERSIST k')).toBe(':1\r\n');
    expect(runner.run(line)).not.toMatch(/^-/);
    expect(runner.run(`PEXPIRETIME ${line.split(' ')[1]}`)).toBe(':9007199254740991\r\n');
  }
  expect(runner.run('PEXPIRE k 9223372036854775807')).toBe("-ERR invalid expire time in 'pexpire' command\r\n");
  expect(runner.run('EXPIREAT k 9223372036854776')).toBe("-ERR invalid expire time in 'expireat' command\r\n");
  expect(runner.run('SET k 1 EX 9223372036854775')).toBe("-ERR invalid expire time in 'set' command\r\n");
});
