import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, TestClient, TestRegions } from '../testing/index.js';

const NAMES = ['us', 'eu', 'ap', 'sa', 'af'];
const KEYS = Array.from({ length: 20 }, (_, index) => `k${index}`);
const ROUNDS = 30;

let regions: TestRegions;
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-test-'));
});
afterEach(async () => {
  await regions.close();
  await rm(directory, { recursive: true });
});

interface Tally {
  acknowledged: number;
  attempted: number;
}

/** Increments of random keys, one at a time, until it is stopped or the server is gone. */
async function count(name: string, tallies: Map<string, Tally>, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    try {
      const client = await TestClient.open(regions.of(name).ready.resp);
      while (!isOver()) {
        const key = KEYS[Math.floor(Math.random() * KEYS.length)];
        const tally = tallies.get(key) as Tally;
        tally.attempted++;
        if (/^:\d/.test(await client.call('INCR', key))) tally.acknowledged++;
      }
      client.close();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

test('five regions with disks under load, cuts, delays, kills and stops: nothing acknowledged is lost', async () => {
  const data = (name: string) => ['--data', join(directory, name)];
  regions = await TestRegions.make(NAMES, { flags: ['--fsync', 'always'] });
  await regions.startAll(data);
  const tallies = new Map(KEYS.map((key) => [key, { acknowledged: 0, attempted: 0 }]));
  let isOver = false;
  const load = NAMES.map((name) => count(name, tallies, () => isOver));
  const random = <T>(items: readonly T[]) => items[Math.floor(Math.random() * items.length)];
  for (let round = 0; round < ROUNDS; round++) {
    const [one, other] = [random(NAMES), random(NAMES)];
    const kind = random(['cut', 'delay', 'kill', 'stop'] as const);
    const pauseMs = 200 + Math.random() * 1500;
    if (kind === 'cut') regions.cut(one, other);
    if (kind === 'delay') regions.delay(one, other, 100);
    if (kind === 'kill') await regions.kill(one);
    if (kind === 'stop') await regions.stop(one);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (kind === 'cut') regions.heal(one, other);
    if (kind === 'delay') regions.delay(one, other, 0);
    if (kind === 'kill' || kind === 'stop') await regions.start(one, data(one));
  }
  isOver = true;
  await Promise.all(load);
  for (const [key, { acknowledged, attempted }] of tallies) {
    await eventually(async () => {
      const values = await Promise.all(NAMES.map((name) => regions.value(name, key)));
      expect(new Set(values).size).toBe(1);
      expect(values[0]).toBeGreaterThanOrEqual(acknowledged);
      expect(values[0]).toBeLessThanOrEqual(attempted);
    });
  }
});
