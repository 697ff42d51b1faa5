import { beforeEach, describe, expect, test } from 'vitest';
import { TestLane } from '../../testing/index.js';

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

function gcra(...words: (string | number)[]): number[] {
  return [...call('RATE.GCRA', 'k', ...words).matchAll(/:(-?\d+)\r\n/g)].map(([, digits]) => Number(digits));
}

describe('RATE.GCRA', () => {
  test('replies as RATE.LIMIT does: allowed, limit, remaining, reset after, retry after', () => {
    expect(gcra(2, 1, 1_000)).toEqual([1, 3, 2, 1_000, 0]);
    expect(gcra(2, 1, '1s')).toEqual([1, 3, 1, 2_000, 0]);
    expect(gcra(2, 1, 1_000)).toEqual([1, 3, 0, 3_000, 0]);
    expect(gcra(2, 1, 1_000)).toEqual([0, 3, 0, 3_000, 1_000]);
    lane.clock.advance(999);
    expect(gcra(2, 1, 1_000)).toEqual([0, 3, 0, 2_001, 1]);
    lane.clock.advance(1);
    expect(gcra(2, 1, 1_000)).toEqual([1, 3, 0, 3_000, 0]);
    expect(gcra(2, 1, 1_000, 4)).toEqual([0, 3, 0, 3_000, -1]);
  });

  test('a billion a minute is counted exactly; numbers that cannot be are refused', () => {
    expect(gcra(0, 1_000_000_000, 60_000)).toEqual([1, 1, 0, 1, 0]);
    expect(call('RATE.GCRA', 'k', 0, 4_194_305, '2ms')).toBe(
      '-ERR burst, count and period are too large to be worked with exactly\r\n',
    );
    expect(call('RATE.GCRA', 'k', 2 ** 40, 1, 2 ** 40)).toMatch(/^-ERR burst, count/);
  });

  test('a bucket that takes decades to fill is worked with, one that takes longer is refused', () => {
    expect(gcra(0, 1, 2 ** 40)).toEqual([1, 1, 0, 2 ** 40, 0]);
    expect(gcra(0, 1, 2 ** 40)).toEqual([0, 1, 0, 2 ** 40, 2 ** 40]);
    expect(call('RATE.GCRA', 'k', 1, 1, 2 ** 40)).toMatch(/^-ERR burst, count/);
    expect(call('RATE.GCRA', 'k', 499, 1, 2 ** 40)).toMatch(/^-ERR burst, count/);
  });

  test.each([
    [[-1, 1, 1000], "ERR burst is not an integer or out of range: '-1'. Give 0 to 9007199254740990"],
    [[1, 0, 1000], "ERR count is not an integer or out of range: '0'. Give 1 to 9007199254740991"],
    [[1, 1, 0], "ERR window is out of range, must be from 1 to 140737488355327 milliseconds: '0'"],
    [[1, 1, 60], 'ERR the window 60 has no unit: write 60s or 60ms'],
    [[1, 1, 1000, -1], "ERR cost is not an integer or out of range: '-1'. Give 0 to 9007199254740991"],
    [[1, 1, 1000, 'x'], "ERR cost is not an integer or out of range: 'x'. Give 0 to 9007199254740991"],
    [[1, 1, 1000, 1, 1], "ERR syntax error: '1', argument 6, is not understood here: nothing comes after the cost"],
  ])('%j is refused', (words, error) => {
    expect(call('RATE.GCRA', 'k', ...words)).toBe(`-${error}\r\n`);
    expect(lane.lane.engine.keyCount()).toBe(0);
  });
});
