import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { eventually, TestRegions } from '../testing/index.js';

const LIMIT = 1000;
const PATIENCE_MS = 120_000;
const opened: { close(): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

/** Regions a, the home, b, the allocator, and c, with disks; a quota without a window, of which each has taken some. */
async function startSeats() {
  const path = await mkdtemp(join(tmpdir(), 'quotadb-remint-'));
  opened.push({ close: () => rm(path, { recursive: true, force: true }) });
  const cluster = await TestRegions.make(['a', 'b', 'c']);
  opened.push(cluster);
  const directoryOf = (name: string) => join(path, name);
  const start = (name: string) => cluster.start(name, ['--data', directoryOf(name)]);
  await Promise.all(cluster.names.map(start));
  await cluster.allConnected();
  await cluster.call('a', 'QUOTA.DEFINE', 'seats', 'LIMIT', LIMIT, 'WINDOW', 'NONE', 'ALLOCATOR', 'b');
  const take = async (name: string, cost: number) =>
    (await cluster.call(name, 'QUOTA.TAKE', 'seats', 's', cost, 'WAIT', 500)).startsWith('*5\r\n:1\r\n') ? cost : 0;
  let taken = 0;
  for (const name of cluster.names)
    await eventually(async () => {
      const got = await take(name, 100);
      taken += got;
      expect(got).toBe(100);
    });
  // What the others do not use goes back to the allocator.
  await eventually(async () => {
    const held = /rights-here\r\n:(\d+)/.exec(await cluster.call('b', 'QUOTA.INFO', 'seats', 's'));
    expect(Number(held?.[1])).toBeGreaterThan(LIMIT / 2);
  });
  /** Takes all that there is, in ever smaller parts. */
  const takeAll = async (names = cluster.names) => {
    let total = 0;
    for (let cost = 64; cost >= 1; cost = cost / 2)
      for (const name of names) for (let got = cost; got > 0; total += got) got = await take(name, cost);
    return total;
  };
  const loseDirectory = async (name: string) => {
    await cluster.kill(name);
    await rm(directoryOf(name), { recursive: true });
    await start(name);
    await cluster.allConnected();
  };
  return { cluster, start, take, takeAll, taken, loseDirectory };
}

const remint = ['QUOTA.REMINT', 'seats', 'LOST', 'b'] as const;

test(
  'what an allocator lost with its directory can be had again after a re-mint, once, and no token beyond the limit',
  async () => {
    const { cluster, start, takeAll, taken, loseDirectory } = await startSeats();
    await loseDirectory('b');
    const before = taken + (await takeAll());
    expect(before).toBeLessThan(LIMIT * 0.8);
    await cluster.kill('c');
    await eventually(async () => expect((await cluster.peer('a', 'c')).state).not.toBe('connected'));
    expect(await cluster.call('a', ...remint)).toMatch(
      /^-ERR region c may hold tokens of 'seats' and is not connected/,
    );
    expect(await cluster.call('b', ...remint)).toMatch(/^-ERR tokens are re-minted in region a, the home/);
    await start('c');
    await cluster.allConnected();
    await eventually(async () => expect(await cluster.call('a', ...remint)).toBe('+OK\r\n'));
    expect(await cluster.call('a', ...remint)).toMatch(/^-ERR what these regions have lost of 'seats' was re-minted/);
    let total = before + (await takeAll());
    // Tokens that idle in one region are found by another within seconds.
    await eventually(async () => {
      total += await takeAll();
      expect(total).toBeGreaterThan(LIMIT * 0.9);
    });
    expect(total).toBeLessThanOrEqual(LIMIT);
    // The heir loses its directory too: what it had inherited is part of what it has lost.
    await loseDirectory('a');
    await eventually(async () => expect(await cluster.call('a', 'QUOTA.LIST')).toContain('seats'));
    await eventually(async () => expect(await cluster.call('a', 'QUOTA.REMINT', 'seats', 'LOST', 'a')).toBe('+OK\r\n'));
    for (let round = 0; round < 3; round++) total += await takeAll();
    expect(total).toBeLessThanOrEqual(LIMIT);
  },
  PATIENCE_MS,
);

test(
  'a region that was given up as lost spends nothing once it is connected again',
  async () => {
    const { cluster, start, takeAll, take, taken } = await startSeats();
    await cluster.kill('b');
    await eventually(async () => expect(await cluster.call('a', ...remint)).toBe('+OK\r\n'));
    const total = taken + (await takeAll(['a', 'c']));
    expect(total).toBeGreaterThan(LIMIT * 0.9);
    await start('b');
    await cluster.allConnected();
    await eventually(async () => expect(await take('b', 1)).toBe(0));
    expect(await takeAll(cluster.names)).toBeLessThanOrEqual(LIMIT - total);
  },
  PATIENCE_MS,
);
