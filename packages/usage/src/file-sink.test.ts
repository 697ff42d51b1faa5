import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FileSink } from './file-sink.js';
import { usageEvent } from './usage-event.js';

const ROTATE_BYTES = 10_000;
let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-usage-'));
  path = join(directory, 'usage.ndjson');
});
afterEach(() => rmSync(directory, { recursive: true }));

const eventsOf = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const subject = Buffer.from(`subject ${from + index}`);
    const window = { policy: 1, window: 2, startMs: 120_000, endMs: 180_000, subject };
    return usageEvent({ cluster: 'c', region: 'eu', name: 'calls', window, used: 3, mark: '1-0' });
  });
const sink = (rotateBytes = ROTATE_BYTES) =>
  new FileSink({ path, directory, rotateBytes, nowMs: () => 1_763_000_000_000 });
const ids = (file = path) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line).id as string);

test('events that were cut off at any byte by a crash are in the file once, after the next try', async () => {
  const first = eventsOf(0, 2);
  const second = eventsOf(2, 2);
  await sink().deliver(1, first);
  const before = readFileSync(path).length;
  await sink().deliver(2, second);
  const all = readFileSync(path);
  for (let length = before; length <= all.length; length += 13) {
    truncateSync(path, length);
    await sink().deliver(2, second);
    expect(readFileSync(path).equals(all), `cut at ${length}`).toBe(true);
  }
  expect(ids()).toEqual([...first, ...second].map(({ id }) => id));
});

test('a file that has grown is renamed between two deliveries, and no event is lost or doubled', async () => {
  for (let number = 1; number <= 3; number++) await sink(1_000).deliver(number, eventsOf(number * 10, 5));
  const files = readdirSync(directory).filter((name) => name.startsWith('usage.ndjson'));
  expect(files).toContain('usage.ndjson.20251113T021320000Z');
  const found = files.flatMap((name) => ids(join(directory, name)));
  expect(new Set(found).size).toBe(found.length);
});

test('a file that another program has moved away is begun anew', async () => {
  await sink().deliver(1, eventsOf(0, 2));
  rmSync(path);
  await sink().deliver(2, eventsOf(2, 1));
  expect(ids()).toEqual(eventsOf(2, 1).map(({ id }) => id));
});
