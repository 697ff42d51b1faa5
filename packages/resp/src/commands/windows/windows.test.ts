import { CELL_MARGIN_MS, MAX_CELL_KEY_BYTES } from '@quotadb/rate';
import { beforeEach, describe, expect, test } from 'vitest';
import { CommandRunner, TestLane } from '../../testing/index.js';

const MINUTE_MS = 60_000;

let lane: TestLane;
let call: (...words: (string | number)[]) => string;
let nowMs: () => number;
beforeEach(() => {
  lane = new TestLane();
  const session = lane.open();
  call = (...words) => {
    const reply = session.call(...words);
    expect(lane.faults).toEqual([]);
    return reply;
  };
  nowMs = () => lane.clock.now();
});

function startOf(lengthMs: number): number {
  return Math.floor(nowMs() / lengthMs) * lengthMs;
}

function window(count: number | bigint | string, startMs: number, lengthMs: number): string {
  return `*3\r\n:${count}\r\n:${startMs}\r\n:${startMs + lengthMs}\r\n`;
}

function expire(): void {
  lane.lane.engine.advanceTo(lane.clock.now());
  while (lane.lane.engine.expireSome(1000) > 0);
}

const CALENDARS = 'Windows of the calendar are written month, day@Europe/Berlin or month@UTC:15';

const OPTIONS = 'START and a time in milliseconds may follow, once';

describe('WINDOW.INCRBY and WINDOW.GET', () => {
  test('count in windows of the calendar, which begin as the wall clocks of a zone say', () => {
    // Winter: Berlin is an hour ahead of UTC.
    lane.clock.advance(Date.UTC(2030, 0, 15, 12) - nowMs());
    const january = [Date.UTC(2029, 11, 31, 23), Date.UTC(2030, 0, 31, 23)];
    const reply = (count: number, [startMs, endMs]: number[]) => `*3\r\n:${count}\r\n:${startMs}\r\n:${endMs}\r\n`;
    expect(call('WINDOW.INCRBY', 'k', 'month@Europe/Berlin', 5)).toBe(reply(5, january));
    expect(call('WINDOW.GET', 'k', 'month@Europe/Berlin')).toBe(reply(5, january));
    expect(call('WINDOW.GET', 'k', 'month')).toBe(reply(0, [Date.UTC(2030, 0, 1), Date.UTC(2030, 1, 1)]));
    expect(call('WINDOW.GET', 'k', 'month@UTC:20')).toBe(reply(0, [Date.UTC(2029, 11, 20), Date.UTC(2030, 0, 20)]));
    // The day on which clocks are put forward has 23 hours; a window of the past is named by a time in it.
    lane.clock.advance(Date.UTC(2030, 2, 31, 20) - nowMs());
    const short = [Date.UTC(2030, 2, 30, 23), Date.UTC(2030, 2, 31, 22)];
    expect(call('WINDOW.INCRBY', 'k', 'day@Europe/Berlin', 1)).toBe(reply(1, short));
    lane.clock.advance(MINUTE_MS * 180);
    expect(call('WINDOW.GET', 'k', 'day@Europe/Berlin')).toContain('*3\r\n:0\r\n');
    expect(call('WINDOW.GET', 'k', 'day@Europe/Berlin', 'START', Date.UTC(2030, 2, 31, 12))).toBe(reply(0, short));
  });

  test('take windows as people write them', () => {
    expect(call('WINDOW.INCRBY', 'k', '1m', 5)).toBe(window(5, startOf(MINUTE_MS), MINUTE_MS));
    expect(call('WINDOW.GET', 'k', MINUTE_MS)).toBe(window(5, startOf(MINUTE_MS), MINUTE_MS));
  });

  test('count in the window that the node is in, which begins at a multiple of its length', () => {
    const start = startOf(MINUTE_MS);
    expect(call('WINDOW.INCRBY', 'k', MINUTE_MS, 5)).toBe(window(5, start, MINUTE_MS));
    expect(call('WINDOW.INCRBY', 'k', MINUTE_MS, 2)).toBe(window(7, start, MINUTE_MS));
    expect(call('WINDOW.GET', 'k', MINUTE_MS)).toBe(window(7, start, MINUTE_MS));
    expect(call('WINDOW.GET', 'other', MINUTE_MS)).toBe(window(0, start, MINUTE_MS));
  });

  test('a window that a client named does not stay the current one', () => {
    const start = startOf(MINUTE_MS);
    const named = nowMs() - 17;
    call('WINDOW.INCRBY', 'k', MINUTE_MS, 3, 'START', named);
    expect(call('WINDOW.GET', 'k', MINUTE_MS)).toBe(window(0, start, MINUTE_MS));
    expect(call('WINDOW.GET', 'k', MINUTE_MS, 'start', named)).toBe(window(3, named, MINUTE_MS));
  });

  test('the cell is gone when its window has been over for the margin, and cannot come back', () => {
    const start = startOf(1000);
    call('WINDOW.INCRBY', 'k', 1000, 5);
    lane.clock.advance(start + 1000 + CELL_MARGIN_MS - 1 - nowMs());
    expect(call('WINDOW.GET', 'k', 1000, 'START', start)).toBe(window(5, start, 1000));
    expect(call('WINDOW.INCRBY', 'k', 1000, 1, 'START', start)).toBe(window(6, start, 1000));
    lane.clock.advance(1);
    expect(call('WINDOW.GET', 'k', 1000, 'START', start)).toBe(window(0, start, 1000));
    expect(call('WINDOW.INCRBY', 'k', 1000, 1, 'START', start)).toBe('-ERR the window is over\r\n');
    lane.clock.advance(1000);
    expire();
    expect(lane.lane.engine.keyCount()).toBe(0);
  });

  test('counts are exact to 64 bits, and one that would leave them is refused', () => {
    const start = startOf(MINUTE_MS);
    expect(call('WINDOW.INCRBY', 'k', MINUTE_MS, '9223372036854775806')).toBe(
      window('9223372036854775806', start, MINUTE_MS),
    );
    expect(call('WINDOW.INCRBY', 'k', MINUTE_MS, 1)).toBe(window('9223372036854775807', start, MINUTE_MS));
    expect(call('WINDOW.INCRBY', 'k', MINUTE_MS, 1)).toBe('-ERR increment or decrement would overflow\r\n');
    expect(call('WINDOW.GET', 'k', MINUTE_MS)).toBe(window('9223372036854775807', start, MINUTE_MS));
  });

  test('an amount of zero is a count of zero', () => {
    expect(call('WINDOW.INCRBY', 'k', MINUTE_MS, 0)).toBe(window(0, startOf(MINUTE_MS), MINUTE_MS));
  });

  test('the longest window there is', () => {
    expect(call('WINDOW.INCRBY', 'k', 2 ** 47 - 1, 1)).toBe(window(1, 0, 2 ** 47 - 1));
  });

  test.each([
    [['k', 60, 1], 'ERR the window 60 has no unit: write 60s or 60ms'],
    [['k', '60x', 1], "ERR '60x' is no window: write milliseconds from 1000 on, or 250ms, 60s, 5m, 1h30m, 1d or 2w"],
    [['k', 'year', 1], `ERR 'year' is no window: its unit is one of hour, day, week, month. ${CALENDARS}`],
    [
      ['k', 'day@Mars', 1],
      `ERR 'day@Mars' is no window: 'Mars' is no time zone: Europe/Berlin or UTC is one. ${CALENDARS}`,
    ],
    [['k', 'day:2', 1], `ERR 'day:2' is no window: windows of a day have no anchor day. ${CALENDARS}`],
    [['k', 1000, 'x'], "ERR amount is not an integer or out of range: 'x'. Give 0 to 9223372036854775807"],
    [['k', 1000, 1, 'START', 'x'], "ERR START is not an integer or out of range: 'x'. Give 0 to 281474976710655"],
    [['k', 0, 1], "ERR window is out of range, must be from 1 to 140737488355327 milliseconds: '0'"],
    [['k', -1000, 1], "ERR window is out of range, must be from 1 to 140737488355327 milliseconds: '-1000'"],
    [
      ['k', '140737488355328', 1],
      "ERR window is out of range, must be from 1 to 140737488355327 milliseconds: '140737488355328'",
    ],
    [
      ['k', '9223372036854775807', 1],
      "ERR window is out of range, must be from 1 to 140737488355327 milliseconds: '9223372036854775807'",
    ],
    [['k', 0, 1, 'START', 0], "ERR window is out of range, must be from 1 to 140737488355327 milliseconds: '0'"],
    [['k', 1000, -1], "ERR amount is not an integer or out of range: '-1'. Give 0 to 9223372036854775807"],
    [['k', 1000, 1, 'START', -1], "ERR START is not an integer or out of range: '-1'. Give 0 to 281474976710655"],
    [
      ['k', 1000, 1, 'START', 2 ** 48],
      "ERR START is not an integer or out of range: '281474976710656'. Give 0 to 281474976710655",
    ],
    [['k', 1000, 1, 'START', 0], 'ERR the window is over'],
    [['k', 1000, 1, 'START'], `ERR syntax error: nothing comes after 'START': ${OPTIONS}`],
    [['k', 1000, 1, 'BEGIN', 0], `ERR syntax error: 'BEGIN', argument 4, is not understood here: ${OPTIONS}`],
    [['k', 1000, 1, 'START', 0, 0], `ERR syntax error: '0', argument 6, is not understood here: ${OPTIONS}`],
    [['k'.repeat(MAX_CELL_KEY_BYTES + 1), 1000, 1], 'ERR key is too long: at most 65512 bytes in windows and limits'],
  ])('%j is refused and changes nothing', (words, error) => {
    expect(call('WINDOW.INCRBY', ...words)).toBe(`-${error}\r\n`);
    expect(lane.lane.engine.keyCount()).toBe(0);
  });

  test('without memory a new window is refused, and those that are there go on', () => {
    const small = new CommandRunner({ maxMemoryBytes: 4 * 1024 * 1024 });
    const refused = '-OOM command not allowed';
    expect(small.run('WINDOW.INCRBY first 60000 1')).toMatch(/^\*3\r\n:1\r\n/);
    let keys = 0;
    while (!small.run(`WINDOW.INCRBY key:${keys} 60000 1`).startsWith(refused)) keys++;
    expect(small.run('WINDOW.INCRBY first 60000 1')).toMatch(/^\*3\r\n:2\r\n/);
    expect(small.run(`WINDOW.GET key:${keys} 60000`)).toMatch(/^\*3\r\n:0\r\n/);
  });

  test('inside MULTI they count like outside', () => {
    const start = startOf(MINUTE_MS);
    call('MULTI');
    call('WINDOW.INCRBY', 'k', MINUTE_MS, 1);
    call('WINDOW.GET', 'k', MINUTE_MS);
    expect(call('EXEC')).toBe(`*2\r\n${window(1, start, MINUTE_MS)}${window(1, start, MINUTE_MS)}`);
  });
});

describe('the keys of cells', () => {
  const reserved = '-ERR keys that begin with the bytes 00 51 44 are reserved for cells of windows and limits\r\n';

  test.each([
    ['INCR', '\0QD'],
    ['GET', '\0QDw'],
    ['SET', '\0QDw', 1],
    ['MSET', 'a', 1, '\0QDw', 2],
    ['DEL', 'a', 'b', '\0QDwxyz'],
    ['EXPIRE', '\0QDw', 100],
    ['WINDOW.INCRBY', '\0QDw', 1000, 1],
    ['OBJECT', 'ENCODING', '\0QDw'],
  ])('%s of %j does not reach them', (...words) => {
    expect(call(...words)).toBe(reserved);
    expect(lane.lane.engine.keyCount()).toBe(0);
  });

  test('a transaction that names one is broken', () => {
    call('MULTI');
    expect(call('INCR', '\0QDw')).toBe(reserved);
    expect(call('EXEC')).toContain('EXECABORT');
  });

  test('keys that merely begin with a zero byte, or are part of the reserved bytes, are keys like any other', () => {
    for (const key of ['\0', '\0Q', '\0QE', '\0\0QD', 'QD']) expect(call('INCR', key)).toBe(':1\r\n');
    // What lies behind a short key is not a part of it.
    expect(call('MGET', '\0', 'QD', '\0Q', 'D')).toContain('$1\r\n1\r\n');
  });

  test('SCAN, KEYS and RANDOMKEY do not show them, and FLUSHALL takes them along', () => {
    for (let index = 0; index < 50; index++) call('WINDOW.INCRBY', `k${index}`, MINUTE_MS, 1);
    expect(call('KEYS', '*')).toBe('*0\r\n');
    expect(call('RANDOMKEY')).toBe('$-1\r\n');
    call('INCR', 'mine');
    expect(call('KEYS', '*')).toBe('*1\r\n$4\r\nmine\r\n');
    expect(call('SCAN', 0, 'COUNT', 1000)).toBe('*2\r\n$1\r\n0\r\n*1\r\n$4\r\nmine\r\n');
    call('FLUSHALL');
    expect(call('WINDOW.GET', 'k1', MINUTE_MS)).toBe(window(0, startOf(MINUTE_MS), MINUTE_MS));
  });
});
