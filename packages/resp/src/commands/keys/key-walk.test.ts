import { expect, test } from 'vitest';
import { TestLane } from '../../testing/index.js';
import { Glob } from './glob.js';
import { KeyWalk } from './key-walk.js';

const KEYS = 20_000;
const UNBOUNDED = { count: Number.POSITIVE_INFINITY, maximumBytes: Number.POSITIVE_INFINITY };

function filledLane(): TestLane {
  const lane = new TestLane();
  const names = Array.from({ length: KEYS }, (_, index) => `SET key:${index} ${index}\r\n`);
  lane.open().send(names.join(''));
  return lane;
}

/** Runs the walk to its end; the work of its costliest slice. */
function costliestSlice(lane: TestLane, walk: KeyWalk): number {
  let highest = 0;
  while (!walk.isOver) {
    const before = walk.work;
    walk.runSlice(lane.lane.engine);
    highest = Math.max(highest, walk.work - before);
  }
  return highest;
}

test('no slice of a walk does much more work than its bound, whatever the pattern', () => {
  const lane = filledLane();
  for (const pattern of [`*${'?'.repeat(1000)}`, `[${'z'.repeat(1000)}]*`, '*a'.repeat(512), 'key:?']) {
    const glob = new Glob(Buffer.from(pattern));
    const walk = new KeyWalk(0n, { database: 0, pattern: glob, isVisible: undefined }, UNBOUNDED, () => {});
    const longestKey = `key:${KEYS}`.length;
    expect(costliestSlice(lane, walk)).toBeLessThan(KeyWalk.SLICE_WORK + 100 * (longestKey * glob.words + 300));
  }
});

test('KEYS lets other clients run before it has ended, and its own next command after it', () => {
  const lane = filledLane();
  const [walker, other] = [lane.open(), lane.open()];
  walker.session.receive(Buffer.from('KEYS *\r\nPING\r\n'));
  const { reply } = lane.lane;
  let turns = 0;
  for (; walker.session.waitMs >= 0; turns++) {
    expect(reply.length).toBe(0);
    expect(other.call('INCR', 'count')).toBe(`:${turns + 1}\r\n`);
    walker.session.resume();
  }
  expect(turns).toBeGreaterThan(2);
  const text = Buffer.from(reply.bytes.subarray(0, reply.length)).toString('latin1');
  reply.reset();
  expect(text.startsWith(`*${KEYS}`) || text.startsWith(`*${KEYS + 1}`)).toBe(true);
  expect(text.endsWith('+PONG\r\n')).toBe(true);
});

test('KEYS returns every key that stays, once', () => {
  const lane = filledLane();
  const names = [
    ...lane
      .open()
      .call('KEYS', 'key:*')
      .matchAll(/key:\d+/g),
  ].map(([name]) => name);
  expect(names).toHaveLength(KEYS);
  expect(new Set(names).size).toBe(KEYS);
  expect(lane.open().call('KEYS', 'key:1999?')).toMatch(/^\*10\r\n/);
});

test('SCAN with a high COUNT gives way too, and returns as much as it was asked for', () => {
  const lane = filledLane();
  const session = lane.open();
  session.session.receive(Buffer.from('SCAN 0 COUNT 2147483647\r\n'));
  expect(session.session.waitMs).toBeGreaterThanOrEqual(0);
  expect([...session.resume().matchAll(/key:\d+/g)].length).toBe(0);
  expect([...session.send('').matchAll(/key:\d+/g)].length).toBe(KEYS);
});

test('inside MULTI, KEYS is refused and SCAN visits few keys', () => {
  const session = filledLane().open();
  session.call('MULTI');
  expect(session.call('KEYS', '*')).toBe('-ERR Command not allowed inside a transaction\r\n');
  session.call('DISCARD');
  session.call('MULTI');
  session.call('SCAN', 0, 'COUNT', 100_000);
  expect([...session.call('EXEC').matchAll(/key:\d+/g)].length).toBeLessThan(50);
});

test('a transaction holds a bounded number of commands whose work is not bounded by their arguments', () => {
  const session = new TestLane().open();
  session.call('MULTI');
  for (let count = 0; count < 64; count++) expect(session.call('COMMAND', 'DOCS')).toBe('+QUEUED\r\n');
  for (let count = 0; count < 1000; count++) expect(session.call('INCR', 'a')).toBe('+QUEUED\r\n');
  expect(session.call('INFO')).toMatch(/^-ERR too many commands like INFO/);
  expect(session.call('EXEC')).toMatch(/^-EXECABORT/);
});

test('whether a pattern fits is not asked of keys that the user may not see', () => {
  const lane = filledLane();
  let asked = 0;
  const pattern = new Glob(Buffer.from('*'));
  pattern.matches = () => {
    asked++;
    return true;
  };
  const walk = new KeyWalk(0n, { database: 0, pattern, isVisible: (key) => key[0] === 0x6d }, UNBOUNDED, () => {});
  costliestSlice(lane, walk);
  expect(walk.work).toBeGreaterThan(KEYS);
  expect(asked).toBe(0);
});

test('a pattern past the bound is refused by name, everywhere', () => {
  const session = new TestLane().open();
  const long = 'x'.repeat(Glob.MAXIMUM_BYTES + 1);
  for (const words of [
    ['KEYS', long],
    ['SCAN', 0, 'MATCH', long],
    ['COMMAND', 'LIST', 'FILTERBY', 'PATTERN', long],
    ['CONFIG', 'GET', long],
  ]) {
    expect(session.call(...words)).toBe('-ERR the pattern is too long: 1025 bytes, at most 1024 are matched\r\n');
  }
});
