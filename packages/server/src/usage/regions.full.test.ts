import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UsageEvent } from '@quotadb/usage';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually, TestRegions } from '../testing/index.js';

const PATIENCE_MS = 120_000;
const WINDOW_MS = 4_000;
const ALLOWED = '*5\r\n:1\r\n';

let directory: string;
let cluster: TestRegions;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-usage-regions-'));
  cluster = await TestRegions.make(['a', 'b']);
  await cluster.startAll(flagsOf);
  await cluster.allConnected();
  await cluster.call('a', 'QUOTA.DEFINE', 'calls', 'LIMIT', 1_000, 'WINDOW', WINDOW_MS);
  for (const name of cluster.names)
    await eventually(async () => expect(await cluster.call(name, 'QUOTA.LIST')).toContain('calls'));
});
afterEach(async () => {
  await cluster.close();
  rmSync(directory, { recursive: true, force: true });
});

const fileOf = (name: string) => join(directory, `${name}.ndjson`);
const dataOf = (name: string) => join(directory, name);
const flagsOf = (name: string) => ['--data', dataOf(name), '--usage-export', fileOf(name)];

function eventsOf(name: string): UsageEvent[] {
  try {
    const lines = readFileSync(fileOf(name), 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
const used = (name: string) => eventsOf(name).reduce((sum, { data }) => sum + data.used, 0);

/** Takes one token after the other; returns how many were allowed. */
async function take(name: string, count: number): Promise<number> {
  let taken = 0;
  for (let index = 0; index < count; index++)
    if ((await cluster.call(name, 'QUOTA.TAKE', 'calls', 'alice', 1)).startsWith(ALLOWED)) taken++;
  return taken;
}

test(
  'each region exports what was taken there, under its own source, and the sum is what was taken everywhere',
  async () => {
    const taken = { a: await take('a', 60), b: await take('b', 40) };
    expect(taken.a + taken.b).toBeGreaterThan(50);
    await eventually(async () => {
      expect(used('a')).toBe(taken.a);
      expect(used('b')).toBe(taken.b);
    });
    expect(new Set(eventsOf('a').map(({ source }) => source))).toEqual(new Set(['quotadb/quotadb/a']));
    expect(new Set(eventsOf('b').map(({ source }) => source))).toEqual(new Set(['quotadb/quotadb/b']));
  },
  PATIENCE_MS,
);

test(
  'a region that is killed and loses its directory exports what it had not, as far as another region has received it',
  async () => {
    const taken = await take('b', 30);
    expect(taken).toBeGreaterThan(0);
    expect(await cluster.call('b', 'WAIT', 1, 10_000)).toBe(':1\r\n');
    const before = used('b');
    await cluster.kill('b');
    rmSync(dataOf('b'), { recursive: true });
    await cluster.start('b', flagsOf('b'));
    await eventually(async () => expect(used('b')).toBe(taken));
    expect(before).toBeLessThanOrEqual(taken);
    const ids = eventsOf('b').map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  },
  PATIENCE_MS,
);
