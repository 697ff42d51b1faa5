import { expect, test } from 'vitest';
import { CommandRunner } from '../../testing/index.js';

/** The promise of SCAN: a key that is there from the start of the scan to its end is returned, whatever others do. */

const STAYING_KEYS = 100_000;
const GOING_KEYS = 20_000;

/** One SCAN: the next cursor and the keys. */
function scan(runner: CommandRunner, cursor: string, options: string): { next: string; keys: string[] } {
  const words = runner
    .run(`SCAN ${cursor} ${options}`)
    .split('\r\n')
    .filter((line) => line !== '' && !/^[*$]/.test(line));
  return { next: words[0], keys: words.slice(1) };
}

/** Scans to the end, calling between the steps; the keys with how often each came. */
function scanAll(runner: CommandRunner, options: string, between: (step: number) => void): Map<string, number> {
  const seen = new Map<string, number>();
  let cursor = '0';
  let step = 0;
  do {
    const { next, keys } = scan(runner, cursor, options);
    for (const key of keys) seen.set(key, (seen.get(key) ?? 0) + 1);
    between(step++);
    cursor = next;
  } while (cursor !== '0');
  return seen;
}

test('every key that stays is returned, while keys come, go and expire and tables grow', () => {
  const runner = new CommandRunner({ maxMemoryBytes: 128 * 1024 * 1024 });
  for (let index = 0; index < STAYING_KEYS; index++) runner.run(`SET staying:${index} ${index}`);
  for (let index = 0; index < GOING_KEYS; index++) {
    runner.run(`SET deleted:${index} 1`);
    runner.run(`SET expired:${index} 1 PX ${1 + (index % 1000)}`);
  }
  let created = 0;
  const seen = scanAll(runner, 'COUNT 200', (step) => {
    for (let count = 0; count < 200; count++) runner.run(`INCR created:${created++}`);
    for (let index = step * 50; index < (step + 1) * 50; index++) runner.run(`DEL deleted:${index}`);
    runner.advance(2);
  });
  // Twice as many keys as at the start: every table has grown at least once.
  expect(created).toBeGreaterThan(STAYING_KEYS);
  const missing = [];
  for (let index = 0; index < STAYING_KEYS; index++) if (!seen.has(`staying:${index}`)) missing.push(index);
  expect(missing).toEqual([]);
});

test('where nothing changes every key comes exactly once', () => {
  const runner = new CommandRunner();
  for (let index = 0; index < 10_000; index++) runner.run(`SET key:${index} 1`);
  const seen = scanAll(runner, 'COUNT 7', () => {});
  expect(seen.size).toBe(10_000);
  expect(new Set(seen.values())).toEqual(new Set([1]));
});

test('keys that go while the tables shrink take none of the others along', () => {
  const runner = new CommandRunner();
  for (let index = 0; index < 50_000; index++) runner.run(`SET key:${index} 1`);
  const seen = scanAll(runner, 'COUNT 100', (step) => {
    // All but every fiftieth goes, long before the scan is through.
    for (let index = step * 1000; index < (step + 1) * 1000; index++) {
      if (index % 50 !== 0) runner.run(`DEL key:${index}`);
    }
  });
  for (let index = 0; index < 50_000; index += 50) expect(seen.has(`key:${index}`)).toBe(true);
});

test('MATCH and TYPE filter the returned keys, not the way of the scan', () => {
  const runner = new CommandRunner();
  for (let index = 0; index < 1000; index++) runner.run(`SET key:${index} 1`);
  expect(scanAll(runner, 'COUNT 50 MATCH key:99?', () => {}).size).toBe(10);
  expect(scanAll(runner, 'COUNT 50 MATCH key:99? TYPE string', () => {}).size).toBe(10);
  expect(scanAll(runner, 'COUNT 50 TYPE hash', () => {}).size).toBe(0);
});

test('COUNT is about how many keys a call returns', () => {
  const runner = new CommandRunner();
  for (let index = 0; index < 5000; index++) runner.run(`SET key:${index} 1`);
  const { keys } = scan(runner, '0', 'COUNT 100');
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.length).toBeLessThan(200);
});

test('a cursor that was never given out ends or goes on, and harms nothing', () => {
  const runner = new CommandRunner();
  for (let index = 0; index < 1000; index++) runner.run(`SET key:${index} 1`);
  for (const cursor of ['1', '12345678901234567890', '18446744073709551615', '4294967295', '-1']) {
    expect(runner.run(`SCAN ${cursor}`)).toMatch(/^\*2\r\n/);
  }
  expect(runner.run('DBSIZE')).toBe(':1000\r\n');
});
