import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FileWatch } from './file-watch.js';

let directory: string;
let path: string;
let watch: FileWatch;
let looks: number;
let reported: string[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-watch-'));
  path = join(directory, 'file');
  await writeFile(path, 'first');
  looks = 0;
  reported = [];
  watch = new FileWatch({
    intervalMs: 1,
    paths: () => {
      looks++;
      return [path];
    },
    changed: async () => void reported.push(await readFile(path, 'utf8').catch(() => 'gone')),
  });
});
afterEach(async () => {
  watch.stop();
  await rm(directory, { recursive: true });
});

async function looksTaken(count: number): Promise<void> {
  const until = looks + count;
  await vi.waitUntil(() => looks >= until);
}

test('a change is reported once, and so is a file that is gone', async () => {
  await watch.take();
  watch.start();
  await looksTaken(3);
  expect(reported).toEqual([]);
  await writeFile(path, 'the second');
  await vi.waitUntil(() => reported.length === 1);
  await looksTaken(3);
  await rm(path);
  await vi.waitUntil(() => reported.length === 2);
  expect(reported).toEqual(['the second', 'gone']);
});

test('a file that is being written is not reported before it stands still', async () => {
  let writes = 0;
  const growing = new FileWatch({
    intervalMs: 1,
    // It grows before each of the first looks.
    paths: async () => {
      if (writes < 10) await writeFile(path, 'x'.repeat(10 + ++writes));
      return [path];
    },
    changed: async () => void reported.push(await readFile(path, 'utf8')),
  });
  growing.start();
  await vi.waitUntil(() => reported.length === 1);
  growing.stop();
  expect(reported).toEqual(['x'.repeat(20)]);
});

test('files that were not taken are reported, and nothing is after a stop', async () => {
  watch.start();
  await vi.waitUntil(() => reported.length === 1);
  watch.stop();
  await writeFile(path, 'the second');
  const before = looks;
  await new Promise(setImmediate);
  expect(looks - before).toBeLessThanOrEqual(1);
  expect(reported).toEqual(['first']);
});
