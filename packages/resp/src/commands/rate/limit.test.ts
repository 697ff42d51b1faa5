import { Batch, batchSince, OWN_ORIGIN } from '@quotadb/engine';
import { beforeEach, describe, expect, test } from 'vitest';
import { TestLane } from '../../testing/index.js';

const WINDOW_MS = 10_000;

let lane: TestLane;
let call: (...words: (string | number)[]) => string;
beforeEach(() => {
  lane = new TestLane();
  const session = lane.open();
  call = (...words) => {
    const reply = session.call(...words);
    expect(lane.faults).toEqual([]);
    return reply;
  };
});

/** How many cells other regions could see. */
function publishedCells(): number {
  const { engine } = lane.lane;
  const shards = Array.from({ length: engine.shardCount }, (_, shard) => shard);
  return shards.reduce((sum, shard) => sum + batchSince(engine, shard, OWN_ORIGIN, 0, new Batch()).count, 0);
}

describe('RATE.LIMIT', () => {
  test('replies whether it is allowed, the limit, what remains, when the window ends and when to try again', () => {
    expect(call('RATE.LIMIT', 'k', 2, WINDOW_MS)).toBe('*5\r\n:1\r\n:2\r\n:1\r\n:10000\r\n:0\r\n');
    expect(call('RATE.LIMIT', 'k', 2, WINDOW_MS, 2)).toBe('*5\r\n:0\r\n:2\r\n:1\r\n:10000\r\n:20000\r\n');
  });

  test('takes windows as people write them, and the same one in milliseconds is the same', () => {
    call('RATE.LIMIT', 'k', 2, '10s');
    expect(call('RATE.LIMIT', 'k', 2, 10_000)).toMatch(/^\*5\r\n:1\r\n:2\r\n:0\r\n/);
    expect(call('RATE.PEEK', 'k', 2, '10000ms')).toMatch(/^\*5\r\n:0\r\n/);
    expect(call('RATE.LIMITALL', 1, 'k', 2, '10S', 'other', 5, '250ms')).toMatch(/^\*3\r\n:0\r\n/);
    expect(call('RATE.CELLS', 'k', '10s')).toContain(':2\r\n');
  });

  test.each([
    [['k', 'x', 1000], "ERR limit is not an integer or out of range: 'x'. Give 0 to 9007199254740991"],
    [['k', 10, 'x'], "ERR 'x' is no window: write milliseconds from 1000 on, or 250ms, 60s, 5m, 1h30m, 1d or 2w"],
    [['k', 3, 60], 'ERR the window 60 has no unit: write 60s or 60ms'],
    [['k', 3, 999], 'ERR the window 999 has no unit: write 999s or 999ms'],
    [['k', 3, '0s'], "ERR window is out of range, must be from 1 to 140737488355327 milliseconds: '0s'"],
    [['k', 10, 1000, 'x'], "ERR cost is not an integer or out of range: 'x'. Give 0 to 9007199254740991"],
    [['k', -1, 1000], "ERR limit is not an integer or out of range: '-1'. Give 0 to 9007199254740991"],
    [
      ['k', '9007199254740992', 1000],
      "ERR limit is not an integer or out of range: '9007199254740992'. Give 0 to 9007199254740991",
    ],
    [['k', 10, 0], "ERR window is out of range, must be from 1 to 140737488355327 milliseconds: '0'"],
    [['k', 10, 1000, -1], "ERR cost is not an integer or out of range: '-1'. Give 0 to 9007199254740991"],
    [
      ['k', 10, 1000, 1, 1],
      "ERR syntax error: '1', argument 5, is not understood here: PUBLISH and a percentage may follow, once",
    ],
    [['k'.repeat(65_513), 10, 1000], 'ERR key is too long: at most 65512 bytes in windows and limits'],
  ])('%j is refused', (words, error) => {
    expect(call('RATE.LIMIT', ...words)).toBe(`-${error}\r\n`);
    expect(call('RATE.PEEK', ...words)).toBe(`-${error}\r\n`);
    expect(lane.lane.engine.keyCount()).toBe(0);
  });
});

test('RATE.PEEK replies as RATE.LIMIT would, and counts nothing', () => {
  for (let count = 0; count < 5; count++)
    expect(call('RATE.PEEK', 'k', 3, WINDOW_MS)).toBe('*5\r\n:1\r\n:3\r\n:3\r\n:10000\r\n:0\r\n');
});

test('RATE.ADD counts requests admitted elsewhere, past the limit too; RATE.CELLS shows them', () => {
  expect(call('RATE.ADD', 'k', 10, WINDOW_MS, 7)).toBe('*5\r\n:1\r\n:10\r\n:3\r\n:10000\r\n:0\r\n');
  expect(call('RATE.ADD', 'k', 10, WINDOW_MS, 7)).toMatch(/^\*5\r\n:0\r\n:10\r\n:0\r\n/);
  expect(call('RATE.CELLS', 'k', WINDOW_MS)).toBe(`*5\r\n:${lane.clock.now()}\r\n:14\r\n:0\r\n:0\r\n:0\r\n`);
});

describe('the publish threshold', () => {
  beforeEach(() => {
    const { engine } = lane.lane;
    engine.startRelaying();
    for (let shard = 0; shard < engine.shardCount; shard++) engine.acknowledge(shard, 0);
  });

  test('of a limit is given with it', () => {
    call('RATE.LIMIT', 'k', 100, WINDOW_MS, 30, 'PUBLISH', 40);
    expect(publishedCells()).toBe(0);
    call('RATE.ADD', 'k', 100, WINDOW_MS, 10, 'publish', 40);
    expect(publishedCells()).toBe(1);
    call('RATE.LIMIT', 'all', 100, WINDOW_MS, 1, 'PUBLISH', 0);
    expect(publishedCells()).toBe(2);
    for (const [words, mistake] of [
      [['PUBLISH'], "nothing comes after 'PUBLISH'"],
      [['PUBLISH', 1, 2], "'2', argument 7, is not understood here"],
      [['PUBLISHED', 1], "'PUBLISHED', argument 5, is not understood here"],
    ] as const)
      expect(call('RATE.LIMIT', 'k', 100, WINDOW_MS, 1, ...words)).toBe(
        `-ERR syntax error: ${mistake}: PUBLISH and a percentage may follow, once\r\n`,
      );
    for (const percent of [-1, 101])
      expect(call('RATE.LIMIT', 'k', 100, WINDOW_MS, 1, 'PUBLISH', percent)).toBe(
        `-ERR PUBLISH is not an integer or out of range: '${percent}'. Give 0 to 100\r\n`,
      );
  });

  test('can be changed while the server runs', () => {
    expect(call('CONFIG', 'SET', 'rate-publish-threshold', 50)).toBe('+OK\r\n');
    call('RATE.LIMIT', 'k', 100, WINDOW_MS, 49);
    expect(publishedCells()).toBe(0);
    call('RATE.LIMIT', 'k', 100, WINDOW_MS, 1);
    expect(publishedCells()).toBe(1);
  });

  test('FLUSHALL removes unpublished counts', () => {
    call('RATE.LIMIT', 'k', 100, WINDOW_MS, 10);
    call('FLUSHALL');
    expect(call('RATE.PEEK', 'k', 100, WINDOW_MS)).toMatch(/^\*5\r\n:1\r\n:100\r\n:100\r\n/);
  });
});

describe('RATE.LIMITALL', () => {
  test('replies whether all allow, and what RATE.LIMIT would for each', () => {
    expect(call('RATE.LIMITALL', 2, 'a', 10, WINDOW_MS, 'b', 20, 1000)).toBe(
      '*3\r\n:1\r\n*5\r\n:1\r\n:10\r\n:8\r\n:10000\r\n:0\r\n*5\r\n:1\r\n:20\r\n:18\r\n:1000\r\n:0\r\n',
    );
    expect(call('RATE.LIMITALL', 9, 'a', 10, WINDOW_MS, 'c', 20, 1000)).toBe(
      '*3\r\n:0\r\n*5\r\n:0\r\n:10\r\n:8\r\n:10000\r\n:15000\r\n*5\r\n:1\r\n:20\r\n:20\r\n:1000\r\n:0\r\n',
    );
  });

  test('without memory for one of the cells replies with an error', () => {
    lane = new TestLane({ maxMemoryBytes: 4 * 1024 * 1024 });
    const session = lane.open();
    for (let key = 0; session.call('INCR', `${'k'.repeat(50_000)}${key}`) === ':1\r\n'; key++);
    expect(session.call('RATE.LIMITALL', 1, 'n'.repeat(60_000), 10, WINDOW_MS)).toMatch(/^-OOM/);
  });

  test.each([
    [
      [1, 'a', 10, 1000, 'b'],
      'ERR syntax error: each limit is three words, key limit window, and there are 4 after the cost',
    ],
    [
      [1, ...Array.from({ length: 17 }, (_, key) => [`k${key}`, 1, 1000]).flat()],
      'ERR too many limits, at most 16 at once',
    ],
    [
      [1, 'a', 10, 1000, 'b', -1, 1000],
      "ERR limit is not an integer or out of range: '-1'. Give 0 to 9007199254740991",
    ],
  ])('%j is refused', (words, error) => {
    expect(call('RATE.LIMITALL', ...words)).toBe(`-${error}\r\n`);
    expect(lane.lane.engine.keyCount()).toBe(0);
  });

  test('names its keys', () => {
    expect(call('COMMAND', 'GETKEYS', 'RATE.LIMITALL', 1, 'a', 1, 2, 'b', 1, 2)).toBe('*2\r\n$1\r\na\r\n$1\r\nb\r\n');
  });
});
