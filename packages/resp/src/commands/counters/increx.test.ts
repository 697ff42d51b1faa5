import { beforeEach, describe, expect, test } from 'vitest';
import { CommandRunner } from '../../testing/index.js';

/** The behaviour of Redis 8.8, which is newer than the Redis that the differential tests can rely on. */

const HIGHEST = '9223372036854775807';
const LOWEST = '-9223372036854775808';
const FAR = '5000000000000';

let runner: CommandRunner;
beforeEach(() => {
  runner = new CommandRunner();
});

function run(line: string): string {
  return runner.run(line);
}

function pair(value: string | number, applied: string | number): string {
  return `*2\r\n:${value}\r\n:${applied}\r\n`;
}

describe('the value', () => {
  test('adds one by default, from 0 where there is no key', () => {
    expect(run('INCREX k')).toBe(pair(1, 1));
    expect(run('INCREX k BYINT 41')).toBe(pair(42, 41));
    expect(run('increx k byint -50')).toBe(pair(-8, -50));
    expect(run('GET k')).toBe('$2\r\n-8\r\n');
  });

  test('stays as it was where a bound would be passed', () => {
    run('SET k 7');
    expect(run('INCREX k BYINT 10 LBOUND 0 UBOUND 10')).toBe(pair(7, 0));
    expect(run('INCREX k BYINT -20 LBOUND 0 UBOUND 10')).toBe(pair(7, 0));
    expect(run('INCREX k BYINT 3 LBOUND 0 UBOUND 10')).toBe(pair(10, 3));
    expect(run('INCREX k UBOUND 10')).toBe(pair(10, 0));
  });

  test('ends at the bound with SATURATE', () => {
    run('SET k 7');
    expect(run('INCREX k BYINT 10 LBOUND 0 UBOUND 10 SATURATE')).toBe(pair(10, 3));
    expect(run('INCREX k BYINT -20 LBOUND 0 UBOUND 10 SATURATE')).toBe(pair(0, -10));
    expect(run('INCREX k BYINT 1 UBOUND -5 SATURATE')).toBe(pair(-5, -5));
    expect(run('GET k')).toBe('$2\r\n-5\r\n');
  });

  test('does not leave 64 bits: that is a bound as well, and no error', () => {
    run(`SET k ${HIGHEST}`);
    expect(run('INCREX k')).toBe(pair(HIGHEST, 0));
    run('SET k 9223372036854775800');
    expect(run('INCREX k BYINT 9223372036854775800 SATURATE')).toBe(pair(HIGHEST, 7));
    run('SET k -9223372036854775800');
    expect(run(`INCREX k BYINT ${LOWEST} SATURATE`)).toBe(pair(LOWEST, -8));
    run(`SET k ${HIGHEST}`);
    expect(run(`INCREX k UBOUND ${LOWEST} SATURATE`)).toBe('-ERR applied increment would overflow\r\n');
    expect(run('GET k')).toBe(`$19\r\n${HIGHEST}\r\n`);
  });

  test('an applied increment, even of 0, makes the key, and a declined one does not', () => {
    expect(run('INCREX k BYINT 15 UBOUND 10 EX 100')).toBe(pair(0, 0));
    expect(run('EXISTS k')).toBe(':0\r\n');
    expect(run('INCREX k UBOUND 0 SATURATE')).toBe(pair(0, 0));
    expect(run('EXISTS k')).toBe(':1\r\n');
  });
});

describe('the expiry', () => {
  test.each([
    ['EX 100', 100],
    ['PX 100000', 100],
  ])('is set by %s', (option, seconds) => {
    expect(run(`INCREX k ${option}`)).toBe(pair(1, 1));
    expect(run('TTL k')).toBe(`:${seconds}\r\n`);
  });

  test.each(['EXAT 5000000000', `PXAT ${FAR}`])('is set by %s', (option) => {
    run(`INCREX k ${option}`);
    expect(run('PEXPIRETIME k')).toBe(`:${FAR}\r\n`);
  });

  test('stays without an option, and goes with PERSIST', () => {
    run(`SET k 5 PXAT ${FAR}`);
    run('INCREX k');
    expect(run('PEXPIRETIME k')).toBe(`:${FAR}\r\n`);
    expect(run('INCREX k PERSIST')).toBe(pair(7, 1));
    expect(run('TTL k')).toBe(':-1\r\n');
  });

  test('with ENX is set only where there is none', () => {
    expect(run(`INCREX k PXAT ${FAR} ENX`)).toBe(pair(1, 1));
    expect(run('INCREX k EX 10 ENX')).toBe(pair(2, 1));
    expect(run('PEXPIRETIME k')).toBe(`:${FAR}\r\n`);
    run('SET k 10');
    expect(run(`INCREX k ENX PXAT ${FAR}`)).toBe(pair(11, 1));
    expect(run('PEXPIRETIME k')).toBe(`:${FAR}\r\n`);
  });

  test('is not changed by an increment that a bound declines', () => {
    run(`SET k 10 PXAT ${FAR}`);
    expect(run('INCREX k UBOUND 10 EX 100')).toBe(pair(10, 0));
    expect(run('INCREX k UBOUND 10 PERSIST')).toBe(pair(10, 0));
    expect(run('PEXPIRETIME k')).toBe(`:${FAR}\r\n`);
  });

  test('is set by an increment that SATURATE applies', () => {
    run('SET k 10');
    expect(run(`INCREX k BYINT 100 UBOUND 15 SATURATE PXAT ${FAR}`)).toBe(pair(15, 5));
    expect(run('PEXPIRETIME k')).toBe(`:${FAR}\r\n`);
  });

  test('in the past deletes the key, and replies with the value', () => {
    run('SET k 10');
    expect(run('INCREX k EXAT 1')).toBe(pair(11, 1));
    expect(run('EXISTS k')).toBe(':0\r\n');
    expect(run('INCREX k PXAT 1')).toBe(pair(1, 1));
    expect(run('EXISTS k')).toBe(':0\r\n');
  });

  test('in the past deletes nothing that ENX protects', () => {
    run(`SET k 10 PXAT ${FAR}`);
    expect(run('INCREX k EXAT 1 ENX')).toBe(pair(11, 1));
    expect(run('GET k')).toBe('$2\r\n11\r\n');
    expect(run('PEXPIRETIME k')).toBe(`:${FAR}\r\n`);
  });
});

describe('refusals that leave the key as it was', () => {
  test.each([
    'BYINT',
    'FOO',
    'BYINT 1 FOO',
    'BYINT 1 BYINT 2',
    'BYINT 1 BYFLOAT 1.5',
    'LBOUND 0 LBOUND 1',
    'UBOUND 9 UBOUND 8',
    'UBOUND',
    'SATURATE SATURATE',
    'ENX ENX EX 10',
    'PERSIST PERSIST',
    'PERSIST ENX',
    'ENX PERSIST',
    'EX 10 PERSIST',
    'PERSIST EX 10',
    'EX 10 EX 20',
    'EX 10 PX 20',
    'EX 10 EXAT 5000000000',
    'EX',
  ])('the syntax of %s', (options) => {
    run('SET k 5');
    expect(run(`INCREX k ${options}`)).toBe('-ERR syntax error\r\n');
    expect(run('GET k')).toBe('$1\r\n5\r\n');
  });

  test.each([
    ['BYINT abc', 'ERR Increment is not an integer or out of range'],
    ['BYINT 9223372036854775808', 'ERR Increment is not an integer or out of range'],
    ['LBOUND 1.5', 'ERR LBOUND is not an integer or out of range'],
    ['UBOUND abc', 'ERR UBOUND is not an integer or out of range'],
    ['LBOUND 10 UBOUND 5', "ERR LBOUND can't be greater than UBOUND"],
    ['LBOUND 10 UBOUND 5 SATURATE', "ERR LBOUND can't be greater than UBOUND"],
    ['ENX', 'ERR ENX flag requires an expiration'],
    ['BYFLOAT 1.5', 'NOTINTEGER BYFLOAT is refused: counters hold integers. Count in the smallest unit'],
    ['EX 0', "ERR invalid expire time in 'increx' command"],
    ['PX -1', "ERR invalid expire time in 'increx' command"],
    ['EXAT 9223372036854775807', "ERR invalid expire time in 'increx' command"],
    ['EX abc', 'ERR value is not an integer or out of range'],
  ])('%s', (options, error) => {
    run('SET k 5');
    expect(run(`INCREX k ${options}`)).toBe(`-${error}\r\n`);
    expect(run('GET k')).toBe('$1\r\n5\r\n');
  });

  test('no key at all', () => {
    expect(run('INCREX')).toBe("-ERR wrong number of arguments for 'increx' command\r\n");
  });
});
