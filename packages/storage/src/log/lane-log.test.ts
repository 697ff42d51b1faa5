import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Disk } from '../disk.js';
import { logPath } from '../files/file-names.js';
import { add, contentOf, makeEngine, START_MS } from '../testing/counters.js';
import { LaneLog } from './lane-log.js';
import { LogState } from './log-state.js';

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-lane-log-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

async function open(name: string) {
  const engine = makeEngine();
  const failures: Error[] = [];
  const { disk, recovered } = await Disk.open({
    directory: join(directory, name),
    engine,
    fsync: 'always',
    snapshotLogBytes: 1e9,
    now: () => START_MS,
    events: { failed: (error) => failures.push(error) },
  });
  return { engine, disk, recovered, failures, lane: new LaneLog(engine, disk.shared) };
}

/** What a server would find if the process ended now. */
async function afterKill(name: string): Promise<{ content: string; cut: unknown }> {
  cpSync(join(directory, name), join(directory, 'left'), { recursive: true });
  const { engine, disk, recovered } = await open('left');
  await disk.close();
  rmSync(join(directory, 'left'), { recursive: true });
  return { content: contentOf(engine), cut: recovered.cut };
}

test('changes that a lane flushed are there after a crash, and the zeros it wrote ahead are no torn tail', async () => {
  const { engine, disk, lane } = await openNew();
  const settled: boolean[] = [];
  for (let round = 1; round <= 5; round++) {
    for (let key = 0; key < 20; key++) add(engine, `key-${key * round}`, 1);
    expect(lane.tryFlush((isDurable) => settled.push(isDurable))).toBe('flushed');
    expect(await afterKill('data')).toEqual({ content: contentOf(engine), cut: undefined });
    // The owner of the log goes on where the lane ended, and the lane where the owner did.
    add(engine, 'owner', 1);
    await disk.flush();
    expect(await afterKill('data')).toEqual({ content: contentOf(engine), cut: undefined });
  }
  expect(settled).toEqual([true, true, true, true, true]);
  expect(disk.status()).toMatchObject({ flushesTotal: 10, syncsTotal: 10 });
  const path = logPath(join(directory, 'data'), 1);
  const sizeBefore = statSync(path).size;
  await disk.close();
  expect(sizeBefore).toBeGreaterThan(1024 * 1024);
  expect(statSync(path).size).toBe(disk.status().logBytes);
});

test('after a lane failed, its segment is not used again and the next one begins with all missed changes', async () => {
  const { engine, disk, lane, failures } = await openNew();
  add(engine, 'a', 1);
  lane.tryFlush(() => {});
  const state = new LogState(engine.shardCount, disk.shared);
  state.descriptor = NO_DESCRIPTOR;
  add(engine, 'b', 2);
  const settled: boolean[] = [];
  expect(lane.tryFlush((isDurable) => settled.push(isDurable))).toBe('failed');
  expect(settled).toEqual([false]);
  expect(lane.isUsable).toBe(false);
  await expect(disk.flush()).rejects.toThrow('EBADF');
  expect(failures).toHaveLength(1);
  await disk.flush();
  expect(disk.status().isFailed).toBe(false);
  // Not `isUsable`, which also depends on how long the last sync took.
  expect(state.descriptor).not.toBe(-1);
  expect((await afterKill('data')).content).toBe('a=1 b=2');
  add(engine, 'c', 3);
  expect(lane.tryFlush(() => {})).toBe('flushed');
  expect((await afterKill('data')).content).toBe('a=1 b=2 c=3');
  await disk.close();
});

test('a lane never waits: while another thread writes, or the main thread wants the lock, it gets busy', async () => {
  const { engine, disk, lane } = await openNew();
  const state = new LogState(engine.shardCount, disk.shared);
  add(engine, 'a', 1);
  expect(state.tryTake()).toBe(true);
  expect(lane.tryFlush(() => {})).toBe('busy');
  const flushing = disk.flush();
  state.give();
  expect(lane.tryFlush(() => {})).toBe('busy');
  await flushing;
  expect(lane.tryFlush(() => {})).toBe('flushed');
  await disk.close();
});

test('a log of the first format is read', async () => {
  // Nothing in these bytes says more than the first format could: its keys have nothing in common.
  const { engine, disk } = await openNew();
  add(engine, 'alpha', 1);
  await disk.close();
  const path = logPath(join(directory, 'data'), 1);
  const bytes = readFileSync(path);
  bytes.writeUInt16LE(1, 8);
  bytes.writeUInt32LE(crc32(bytes.subarray(8, 80)), 4);
  writeFileSync(path, bytes);
  expect((await afterKill('data')).content).toBe('alpha=1');
});

async function openNew() {
  mkdirSync(join(directory, 'data'));
  return open('data');
}

/** No process has this many files open. */
const NO_DESCRIPTOR = 1_000_000;
