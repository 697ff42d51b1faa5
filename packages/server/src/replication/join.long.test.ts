import { afterEach, expect, test } from 'vitest';
import { eventually, TestRegions } from '../testing/index.js';

const KEYS = 1_000_000;
const KEYS_PER_COMMAND = 1000;

let regions: TestRegions;
afterEach(() => regions.close());

async function fill(name: string, keys: number): Promise<void> {
  for (let key = 0; key < keys; key += KEYS_PER_COMMAND) {
    const pairs = Array.from({ length: KEYS_PER_COMMAND }, (_, index) => [`key:${key + index}`, key + index]).flat();
    expect(await regions.call(name, 'MSET', ...pairs)).toBe('+OK\r\n');
  }
}

async function keysOf(name: string): Promise<number> {
  return Number(/^:(\d+)/.exec(await regions.call(name, 'DBSIZE'))?.[1]);
}

test('an empty region gets a million keys from the first that it meets, and shows how far it is', async () => {
  regions = await TestRegions.make(['us', 'eu'], { dials: [['eu', 'us']] });
  const flags = ['--max-memory', '1gb', '--transport', 'auto'];
  await regions.start('us', flags);
  await fill('us', KEYS);
  const startedAtMs = performance.now();
  await regions.start('eu', flags);
  const percents = new Set<number>();
  await eventually(async () => {
    percents.add(Number((await regions.peer('eu', 'us')).joined_percent));
    expect(await keysOf('eu')).toBe(KEYS);
  });
  process.stderr.write(
    `a million keys in ${Math.round(performance.now() - startedAtMs)} ms, from the start of the process\n`,
  );
  for (const key of [0, 1, 499_999, KEYS - 1]) await regions.agreeOn(`key:${key}`, key);
  await eventually(async () => expect((await regions.peer('eu', 'us')).joined_percent).toBe('100'));
});

test('over a link of 100 ms there and back an empty region gets all keys, and changes go on meanwhile', async () => {
  regions = await TestRegions.make(['us', 'eu'], { dials: [['eu', 'us']], flags: ['--max-memory', '512mb'] });
  regions.delay('us', 'eu', 50);
  await regions.start('us');
  await fill('us', 200_000);
  await regions.start('eu');
  for (let round = 0; round < 50; round++) {
    await regions.call('us', 'INCR', 'us');
    await regions.call('eu', 'INCR', 'eu');
  }
  await regions.agreeOn('us', 50);
  await regions.agreeOn('eu', 50);
  await eventually(async () => expect(await keysOf('eu')).toBe(200_002));
  expect(Number((await regions.peer('us', 'eu')).rtt_ms)).toBeGreaterThanOrEqual(100);
});
