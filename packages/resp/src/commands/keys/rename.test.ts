import { Batch, batchSince, Merge, OWN_ORIGIN } from '@quotadb/engine';
import { describe, expect, test } from 'vitest';
import { errors } from '../../errors/errors.js';
import { CommandRunner, TestLane } from '../../testing/index.js';

const FAR = '5000000000000';

describe('RENAME', () => {
  test('moves value and expiry, and overwrites both of the target', () => {
    const runner = new CommandRunner();
    runner.run(`SET a -42 PXAT ${FAR}`);
    runner.run('SET b 7');
    expect(runner.run('RENAME a b')).toBe('+OK\r\n');
    expect(runner.run('MGET a b')).toBe('*2\r\n$-1\r\n$3\r\n-42\r\n');
    expect(runner.run('PEXPIRETIME b')).toBe(`:${FAR}\r\n`);
    runner.run('SET c 1');
    expect(runner.run('RENAME c b')).toBe('+OK\r\n');
    expect(runner.run('TTL b')).toBe(':-1\r\n');
    expect(runner.run('RENAME none b')).toBe('-ERR no such key\r\n');
    expect(runner.run('RENAME b b')).toBe('+OK\r\n');
    expect(runner.run('GET b')).toBe('$1\r\n1\r\n');
  });

  test('where the target exists, RENAMENX changes nothing', () => {
    const runner = new CommandRunner();
    runner.run('MSET a 1 b 2');
    expect(runner.run('RENAMENX a b')).toBe(':0\r\n');
    expect(runner.run('RENAMENX a a')).toBe(':0\r\n');
    expect(runner.run('MGET a b')).toBe('*2\r\n$1\r\n1\r\n$1\r\n2\r\n');
    expect(runner.run('RENAMENX a c')).toBe(':1\r\n');
    expect(runner.run('MGET a c')).toBe('*2\r\n$-1\r\n$1\r\n1\r\n');
  });

  test.each(['RENAME total:a other', 'RENAME other total:a', 'RENAMENX total:a new', 'COPY other total:a REPLACE'])(
    'a grow-only namespace refuses it and nothing has changed: %s',
    (line) => {
      const runner = new CommandRunner({ growOnlyPrefixes: ['total:'] });
      runner.run('INCRBY total:a 5');
      runner.run('INCRBY other 3');
      expect(runner.run(line)).toBe(`-${errors.growOnly}\r\n`);
      expect(runner.run('MGET total:a other new')).toBe('*3\r\n$1\r\n5\r\n$1\r\n3\r\n$-1\r\n');
    },
  );

  test('a reserved key is refused as source and as target', () => {
    const session = new TestLane().open();
    session.call('SET', 'a', 1);
    for (const words of [
      ['RENAME', 'a', '\0QDx'],
      ['RENAME', '\0QDx', 'a'],
      ['COPY', 'a', '\0QDd\x01a'],
    ])
      expect(session.call(...words)).toBe(`-${errors.reservedKey}\r\n`);
    expect(session.call('GET', 'a')).toBe('$1\r\n1\r\n');
  });

  test('a target that there is no room for leaves the source as it was', () => {
    const runner = new CommandRunner();
    runner.run('SET a 1');
    expect(runner.run(`RENAME a ${'k'.repeat(65537)}`)).toBe(`-${errors.keyTooLong}\r\n`);
    expect(runner.run('GET a')).toBe('$1\r\n1\r\n');
  });
});

test('COPY leaves the source, and replaces only where that is asked for', () => {
  const runner = new CommandRunner();
  runner.run(`SET a 5 PXAT ${FAR}`);
  expect(runner.run('COPY a b')).toBe(':1\r\n');
  expect(runner.run('PEXPIRETIME b')).toBe(`:${FAR}\r\n`);
  runner.run('INCR a');
  expect(runner.run('COPY a b')).toBe(':0\r\n');
  expect(runner.run('COPY a b REPLACE')).toBe(':1\r\n');
  expect(runner.run('MGET a b')).toBe('*2\r\n$1\r\n6\r\n$1\r\n6\r\n');
  expect(runner.run('COPY a a')).toBe('-ERR source and destination objects are the same\r\n');
  expect(runner.run('COPY a b DB 1')).toBe('-ERR DB index is out of range\r\n');
});

test('what another region counted in the old name, and this one has not seen, stays there', () => {
  const [here, there] = [1, 2].map((byte) => new TestLane({}, [], byte));
  const [a, b] = [here.open(), there.open()];
  a.call('INCRBY', 'old', 5);
  b.call('INCRBY', 'old', 3);
  a.call('RENAME', 'old', 'new');
  const merge = new Merge(here.lane.engine);
  for (let shard = 0; shard < there.lane.engine.shardCount; shard++)
    merge.apply(batchSince(there.lane.engine, shard, OWN_ORIGIN, 0, new Batch()));
  expect(a.call('MGET', 'old', 'new')).toBe('*2\r\n$1\r\n3\r\n$1\r\n5\r\n');
});
