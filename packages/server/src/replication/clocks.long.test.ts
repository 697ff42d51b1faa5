import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, TestRegions } from '../testing/index.js';

const LIBRARY = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));
/** The package libfaketime is nothing that .ci/run installs, so its lack is no failure there either. */
if (LIBRARY === undefined) process.stderr.write('no libfaketime: tests with clocks that jump are skipped\n');

const names = ['us', 'eu', 'ap'];
let regions: TestRegions;
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-test-'));
});
afterEach(async () => {
  await regions.close();
  await rm(directory, { recursive: true });
});

/** Sets how far a region's clock is off, also while it runs. */
async function setClock(name: string, offset: string): Promise<void> {
  await writeFile(join(directory, name), `${offset}\n`);
}

async function startAll(...flags: string[]): Promise<void> {
  regions = await TestRegions.make(names);
  for (const name of names) {
    await setClock(name, '+0');
    await regions.start(name, flags, {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: join(directory, name),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    });
  }
  await regions.allConnected();
}

test.skipIf(LIBRARY === undefined)(
  'clocks that jump by a minute and back: counts go on, expiries are kept, and all regions come to the same',
  async () => {
    await startAll();
    for (const [round, offset] of ['+60', '-60', '+0'].entries()) {
      await setClock('eu', offset);
      const key = `k${round}`;
      for (const name of names) await regions.call(name, 'INCRBY', key, 10);
      await regions.agreeOn(key, 30);
      await regions.call('us', 'PEXPIRE', key, 300_000);
      await regions.call('eu', 'INCR', key);
      await regions.agreeOn(key, 31);
      await eventually(async () => {
        for (const name of names)
          expect(Number(/\d+/.exec(await regions.call(name, 'PTTL', key)))).toBeGreaterThan(200_000);
      });
    }
    // Its time is over in the fastest region first, and in all of them soon after.
    await setClock('eu', '+60');
    await regions.call('us', 'SET', 'short', 5, 'PX', 2000);
    await regions.agreeOn('short', 0);
    await regions.call('eu', 'INCRBY', 'short', 3);
    await regions.call('us', 'INCRBY', 'short', 4);
    await regions.agreeOn('short', 7);
  },
);

test.skipIf(LIBRARY === undefined)('a clock that is off by more than the bound is reported, by name', async () => {
  await startAll();
  await setClock('eu', '+600');
  await eventually(async () => expect(Number((await regions.peer('us', 'eu')).skew_ms)).toBeGreaterThan(500_000));
  expect(await regions.stop('us')).toMatch(/the clock of region eu is \d+ ms ahead, more than --clock-skew-bound/);
});

test.skipIf(LIBRARY === undefined)('some seconds in another year change nothing, on any lane', async () => {
  await startAll('--transport', 'epoll', '--lanes', '2');
  await setClock('eu', '+12y');
  for (let count = 0; count < 50; count++) await regions.call('eu', 'INCR', 'total');
  await regions.call('eu', 'SET', 'short', 1, 'PX', 2000);
  await regions.agreeOn('total', 50);
  await regions.agreeOn('short', 0);
  expect(Number(/\d{10}/.exec(await regions.call('eu', 'TIME')))).toBeLessThan(Date.now() / 1000 + 60);
  await setClock('eu', '+0');
  await regions.call('eu', 'INCR', 'total');
  await regions.agreeOn('total', 51);
  expect(await regions.stop('eu')).toMatch(/the clock of this server has jumped ahead by 11 years/);
});

test.skipIf(LIBRARY === undefined)('some seconds an hour ahead deny nobody, also at the allocator', async () => {
  await startAll();
  const definition = ['calls', 'LIMIT', 1000, 'WINDOW', 'HOUR', 'ALLOCATOR', 'eu'];
  expect(await regions.call('us', 'QUOTA.DEFINE', ...definition)).toBe('+OK\r\n');
  const take = async (name: string) =>
    expect(await regions.call(name, 'QUOTA.TAKE', 'calls', 'someone', 1)).toMatch(/^\*5\r\n:1\r\n/);
  const limit = async (name: string) =>
    expect(await regions.call(name, 'RATE.LIMIT', `at ${name}`, 2, 2000, 1)).toMatch(/^\*5\r\n:1\r\n/);
  for (const name of names) await eventually(() => take(name));
  await setClock('eu', '+3600');
  for (const name of names) {
    await take(name);
    await limit(name);
    await limit(name);
  }
  await setClock('eu', '+0');
  for (const name of names) {
    await take(name);
    await eventually(() => limit(name));
  }
});
