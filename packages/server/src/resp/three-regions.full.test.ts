import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { encodeCommand, eventually, TestRegions } from '../testing/index.js';

/** Several processes each, on a machine that may have other things to do. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** So long that no test meets its end. */
const WINDOW_MS = 1_000_000_000_000;
const LIMIT = 500;
const NAMES = ['us', 'eu', 'ap'];

let regions: TestRegions;
beforeEach(async () => {
  regions = await TestRegions.start(NAMES);
  await regions.allConnected();
});
afterEach(() => regions.close());

function integers(reply: string): number[] {
  return [...reply.matchAll(/:(-?\d+)\r\n/g)].map(([, digits]) => Number(digits));
}

/** Sends this many requests in one go; returns how many were allowed. */
async function take(name: string, count: number, key = 'hot'): Promise<number> {
  const { client } = regions.of(name);
  client.write(encodeCommand('RATE.LIMIT', key, LIMIT, WINDOW_MS, 1).repeat(count));
  let allowed = 0;
  for (let reply = 0; reply < count; reply++) allowed += integers(await client.reply())[0]!;
  return allowed;
}

async function takeEverywhere(count: number, key = 'hot'): Promise<number> {
  const allowed = await Promise.all(NAMES.map((name) => take(name, count, key)));
  return allowed.reduce((sum, one) => sum + one, 0);
}

async function cells(name: string, key = 'hot'): Promise<{ own: number; foreign: number }> {
  const [, own, foreign] = integers(await regions.call(name, 'RATE.CELLS', key, WINDOW_MS));
  return { own: own!, foreign: foreign! };
}

async function remaining(name: string, key = 'hot'): Promise<number> {
  return integers(await regions.call(name, 'RATE.PEEK', key, LIMIT, WINDOW_MS))[2]!;
}

/** Until every region has counted and heard this much. */
async function agreeOn(total: number, key = 'hot'): Promise<void> {
  await eventually(async () => {
    for (const name of NAMES) {
      const { own, foreign } = await cells(name, key);
      if (own + foreign !== total) throw new Error(`${name} knows ${own} + ${foreign} of ${total}`);
    }
  });
}

describe('a rate limit in three regions', () => {
  test('admits the limit and no more than what regions had not heard of each other yet', async () => {
    const perRound = 10;
    let admitted = 0;
    for (let round = 0; round < 30; round++) {
      admitted += await takeEverywhere(perRound);
      // From a fifth of the limit on in one region, all publish; then each knows everything but its last round.
      const isPublished = (round + 1) * perRound >= LIMIT / 5;
      if (isPublished) await agreeOn(admitted);
    }
    expect(admitted).toBeGreaterThanOrEqual(LIMIT);
    expect(admitted).toBeLessThanOrEqual(LIMIT + (NAMES.length - 1) * perRound);
    for (const name of NAMES) expect(await remaining(name)).toBe(0);
  });

  test('under load without a pause converges: every region knows of every admitted request, and denies', async () => {
    const admitted = await takeEverywhere(2 * LIMIT);
    expect(admitted).toBeGreaterThanOrEqual(LIMIT);
    expect(admitted).toBeLessThanOrEqual(NAMES.length * LIMIT);
    await agreeOn(admitted);
    expect(await takeEverywhere(20)).toBe(0);
    await agreeOn(admitted);
  });

  test('of a key that is far from it stays in its region, in which it counts', async () => {
    expect(await take('us', 50, 'cold')).toBe(50);
    expect(await take('eu', 7, 'cold')).toBe(7);
    // What comes later has arrived everywhere.
    await regions.call('us', 'INCR', 'later');
    expect(await regions.call('us', 'WAIT', 2, 20_000)).toBe(':2\r\n');
    expect(await cells('us', 'cold')).toEqual({ own: 50, foreign: 0 });
    expect(await cells('eu', 'cold')).toEqual({ own: 7, foreign: 0 });
    expect(await cells('ap', 'cold')).toEqual({ own: 0, foreign: 0 });
    // One region comes near the limit: all publish their counts.
    expect(await take('us', 50, 'cold')).toBe(50);
    await agreeOn(107, 'cold');
    expect(await remaining('ap', 'cold')).toBe(LIMIT - 107);
  });

  test('a region that is cut off decides from what it knew; healed, all know what each side admitted', async () => {
    let admitted = await take('us', 200);
    await agreeOn(200);
    regions.cut('us', 'eu');
    regions.cut('us', 'ap');
    // 300 are left on each side.
    expect(await take('us', 400)).toBe(300);
    admitted += 300;
    const others = (await take('eu', 400)) + (await take('ap', 400));
    admitted += others;
    expect(others).toBeGreaterThanOrEqual(300);
    expect(others).toBeLessThanOrEqual(600);
    regions.heal('us', 'eu');
    regions.heal('us', 'ap');
    await agreeOn(admitted);
    for (const name of NAMES) expect(await take(name, 1)).toBe(0);
  });

  test('a region that has lost its memory hears from the others what it had published', async () => {
    expect(await take('ap', 300)).toBe(300);
    expect(await take('us', 50)).toBe(50);
    await agreeOn(350);
    await regions.kill('ap');
    await regions.start('ap');
    await eventually(async () => expect(await cells('ap')).toEqual({ own: 0, foreign: 350 }));
    expect(await take('ap', 200)).toBe(150);
    await agreeOn(500);
  });
});
