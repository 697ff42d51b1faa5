import { Engine } from '@quotadb/engine';
import { describe, expect, test } from 'vitest';
import { errors } from '../../errors/errors.js';
import { CommandRunner } from '../../testing/index.js';

/** Refusals of the engine, as clients see them. */

const longest = 'k'.repeat(Engine.MAX_KEY_BYTES);
const tooLong = `${longest}k`;
const FAR = '5000000000000';

describe('a key that is too long', () => {
  test.each([
    ['INCR', ''],
    ['DECRBY', '5'],
    ['SET', '1'],
    ['SET', `1 PXAT ${FAR}`],
    ['SETNX', '1'],
    ['GETSET', '1'],
    ['SETEX', '100 1'],
    ['INCRBYEX', '1 100'],
    ['INCREX', 'EX 100'],
  ])('is refused by %s key %s', (name, rest) => {
    expect(new CommandRunner().run(`${name} ${tooLong} ${rest}`.trim())).toBe(`-${errors.keyTooLong}\r\n`);
  });

  test('does not exist to a read', () => {
    const runner = new CommandRunner();
    expect(runner.run(`GET ${tooLong}`)).toBe('$-1\r\n');
    expect(runner.run(`DEL ${tooLong}`)).toBe(':0\r\n');
    expect(runner.run(`EXPIRE ${tooLong} 100`)).toBe(':0\r\n');
    expect(runner.run(`TTL ${tooLong}`)).toBe(':-2\r\n');
  });

  test('takes nothing of an MSET with it', () => {
    const runner = new CommandRunner();
    runner.run(`SET old 5 PXAT ${FAR}`);
    expect(runner.run(`MSET old 6 new 7 old 8 ${tooLong} 9`)).toBe(`-${errors.keyTooLong}\r\n`);
    expect(runner.run('MGET old new')).toBe('*2\r\n$1\r\n5\r\n$-1\r\n');
    expect(runner.run('PEXPIRETIME old')).toBe(`:${FAR}\r\n`);
    expect(runner.run(`MSETNX new 7 ${tooLong} 9`)).toBe(`-${errors.keyTooLong}\r\n`);
    expect(runner.run('DBSIZE')).toBe(':1\r\n');
  });

  test('is one byte longer than one that works', () => {
    const runner = new CommandRunner();
    expect(runner.run(`INCR ${longest}`)).toBe(':1\r\n');
    expect(runner.run(`GET ${longest}`)).toBe('$1\r\n1\r\n');
  });
});

describe('a grow-only namespace', () => {
  function growOnly(): CommandRunner {
    const runner = new CommandRunner({ growOnlyPrefixes: ['total:'] });
    runner.run('INCRBY total:a 5');
    runner.run('SET other 1');
    return runner;
  }

  test.each([
    'DECR total:a',
    'DECRBY total:a 1',
    'INCRBY total:a -1',
    'SET total:a 9',
    'SET total:a 9 EX 100',
    'SETEX total:a 100 9',
    'GETSET total:a 9',
    'GETDEL total:a',
    'DEL total:a',
    'UNLINK other total:a',
    'MSET other 2 total:a 9',
    'EXPIRE total:a 0',
    'EXPIREAT total:a 1',
    'GETEX total:a EXAT 1',
    'INCRBYEX total:a -1 100',
    'INCREX total:a BYINT -1',
    'INCREX total:a EXAT 1',
  ])('refuses %s, and the key stays as it was', (line) => {
    const runner = growOnly();
    expect(runner.run(line)).toBe(`-${errors.growOnly}\r\n`);
    expect(runner.run('GET total:a')).toBe('$1\r\n5\r\n');
    expect(runner.run('TTL total:a')).toBe(':-1\r\n');
  });

  test('grows, and survives FLUSHALL', () => {
    const runner = growOnly();
    expect(runner.run('INCR total:a')).toBe(':6\r\n');
    expect(runner.run('INCREX total:a BYINT 4 UBOUND 10')).toBe('*2\r\n:10\r\n:4\r\n');
    expect(runner.run('FLUSHALL')).toBe('+OK\r\n');
    expect(runner.run('MGET total:a other')).toBe('*2\r\n$2\r\n10\r\n$-1\r\n');
  });

  test('MSET is all or nothing there too', () => {
    const runner = growOnly();
    runner.run('MSET other 2 another 3 total:a 9');
    expect(runner.run('MGET other another')).toBe('*2\r\n$1\r\n1\r\n$-1\r\n');
  });
});

describe('memory that is full', () => {
  /** Fills a small store with keys until one is refused. Others may still find room: in a half-full page, or bucket. */
  function full(line: (index: number) => string): { runner: CommandRunner; count: number } {
    const runner = new CommandRunner({ maxMemoryBytes: 4 * 1024 * 1024 });
    for (let count = 0; ; count++) {
      const reply = runner.run(line(count));
      if (reply.startsWith('-')) {
        expect(reply).toBe(`-${errors.outOfMemory}\r\n`);
        return { runner, count };
      }
    }
  }

  test('refuses new keys while those that exist go on', () => {
    const { runner, count } = full((index) => `INCR key:${index}`);
    expect(count).toBeGreaterThan(1000);
    expect(runner.run(`DBSIZE`)).toBe(`:${count}\r\n`);
    expect(runner.run('INCR key:0')).toBe(':2\r\n');
    expect(runner.run('SET key:1 7')).toBe('+OK\r\n');
    expect(runner.run('EXPIRE key:2 100')).toBe(':1\r\n');
    expect(runner.run('DECR key:3')).toBe(':0\r\n');
    expect(runner.run(`GET key:${count}`)).toBe('$-1\r\n');
  });

  test('refuses every way of making a key, and leaves nothing of it', () => {
    const { runner, count } = full((index) => `INCR key:${index}`);
    const refused = `key:${count}`;
    for (const line of [
      `INCR ${refused}`,
      `SET ${refused} 1`,
      `SETNX ${refused} 1`,
      `SETEX ${refused} 100 1`,
      `GETSET ${refused} 1`,
      `INCRBYEX ${refused} 1 100`,
      `INCREX ${refused} EX 100`,
      `MSET key:0 5 ${refused} 1`,
    ]) {
      expect(runner.run(line)).toBe(`-${errors.outOfMemory}\r\n`);
    }
    expect(runner.run('DBSIZE')).toBe(`:${count}\r\n`);
    expect(runner.run('GET key:0')).toBe('$1\r\n1\r\n');
  });

  test('never leaves a counter that was to expire without its expiry', () => {
    const { runner, count } = full((index) => `INCRBYEX key:${index} 1 1000`);
    for (let index = 0; index < count; index++) expect(runner.run(`TTL key:${index}`)).toBe(':1000\r\n');
    expect(runner.run(`EXISTS key:${count}`)).toBe(':0\r\n');
  });

  test('that comes free is used again', () => {
    const { runner, count } = full((index) => `INCR key:${index}`);
    runner.run('DEL key:0 key:1 key:2 key:3');
    expect(runner.run('FLUSHALL')).toBe('+OK\r\n');
    expect(runner.run(`INCR key:${count}`)).toBe(':1\r\n');
  });
});
