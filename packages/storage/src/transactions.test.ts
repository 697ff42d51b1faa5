import type { Engine } from '@quotadb/engine';
import { Random } from '@quotadb/engine/testing';
import { expect, test } from 'vitest';
import type { FsyncMode } from './disk.js';
import { logPath } from './files/file-names.js';
import { FILE_HEADER_BYTES } from './format/format.js';
import { RecordScanner } from './format/record-scanner.js';
import { repair } from './recovery/repair.js';
import { add, counterOf, makeEngine, START_MS } from './testing/counters.js';
import { errorOf, FaultyFileSystem } from './testing/faulty-file-system.js';
import { DIRECTORY, openDisk } from './testing/open-disk.js';

/** Several times as many as are walked at once: a round has several records, and is written in several pieces. */
const SHARDS = 32;
const RECORD_BYTES = 32;
/** Each transaction counts once in every key of a group; they lie in different shards. */
const GROUPS = Array.from({ length: 5 }, (_, group) => Array.from({ length: 4 }, (_, key) => `${key}-of-${group}`));
const SINGLES = Array.from({ length: 12 }, (_, key) => `single-${key}`);
const STEPS = 40;

type Counts = readonly number[];

function newEngine(maxMemoryBytes?: number): Engine {
  return makeEngine(1, SHARDS, maxMemoryBytes);
}

function open(fileSystem: FaultyFileSystem, fsync: FsyncMode, engine = newEngine()) {
  return openDisk(fileSystem, { engine, fsync, recordBytes: RECORD_BYTES });
}

function transact(engine: Engine, group: number): void {
  engine.lockAll();
  for (const key of GROUPS[group]) add(engine, key, 1);
  engine.unlock();
}

/** How often each group was counted; a group whose keys differ is torn. */
function countsOf(engine: Engine, when: string): Counts {
  return GROUPS.map((keys) => {
    const counts = keys.map((key) => counterOf(engine, key));
    expect(new Set(counts).size, `${when}: ${keys.map((key, at) => `${key}=${counts[at]}`).join(' ')}`).toBe(1);
    return counts[0];
  });
}

/**
 * Transactions and single increments, also between any two pieces that are written; writes, flushes and snapshots at
 * once, on a disk that fails now and then. In the middle of that the process is killed or the power fails.
 */
async function schedule(seed: number, fsync: FsyncMode): Promise<void> {
  const random = new Random(seed);
  let fileSystem = new FaultyFileSystem();
  let { engine, disk } = await open(fileSystem, fsync);
  let counted: Counts = GROUPS.map(() => 0);
  let written: Counts = counted;
  let synced: Counts = counted;
  const change = (): void => {
    for (let left = random.below(4); left > 0; left--) {
      const group = random.below(GROUPS.length);
      transact(engine, group);
      counted = counted.map((count, at) => (at === group ? count + 1 : count));
      add(engine, random.pick(SINGLES), 1);
    }
  };
  for (let step = 0; step < STEPS; step++) {
    change();
    const now = counted;
    const isFailing = random.chance(0.1);
    const crashesAfter = random.chance(0.4) ? random.below(12) : Number.POSITIVE_INFINITY;
    let left: FaultyFileSystem | undefined;
    let isPower = false;
    let operations = 0;
    fileSystem.shortWriteFraction = random.next();
    const crash = (): void => {
      isPower = random.chance(0.5);
      left = isPower ? fileSystem.afterPowerFailure(() => random.next()) : fileSystem.afterProcessEnd();
    };
    let least = { written, synced };
    fileSystem.fault = (operation) => {
      if (left !== undefined) return undefined;
      if (operations++ === crashesAfter) {
        least = { written, synced };
        crash();
      } else change();
      return isFailing && operation !== 'remove' ? errorOf('EIO') : undefined;
    };
    const work: Promise<void>[] = [];
    const tell = (isSynced: boolean): void => {
      if (left !== undefined || disk.status().isFailed) return;
      written = larger(written, now);
      if (isSynced) synced = larger(synced, now);
    };
    if (random.chance(0.6)) work.push(disk.write().then(() => tell(false)));
    if (random.chance(0.5)) work.push(disk.flush().then(() => tell(fsync !== 'never'), ignore));
    if (random.chance(0.1)) work.push(disk.snapshot().catch(ignore));
    await Promise.all(work);
    fileSystem.fault = () => undefined;
    if (left === undefined && disk.status().isFailed) await disk.flush();
    if (left === undefined && random.chance(0.1)) {
      least = { written, synced };
      crash();
    }
    if (left === undefined) continue;
    fileSystem = left;
    ({ engine, disk } = await open(fileSystem, fsync));
    const when = `--fsync ${fsync}, seed ${seed}, step ${step}`;
    const found = countsOf(engine, when);
    for (const [group, count] of found.entries()) {
      expect(count, when).toBeGreaterThanOrEqual((isPower ? least.synced : least.written)[group]);
      expect(count, when).toBeLessThanOrEqual(counted[group]);
    }
    counted = found;
    written = found;
    synced = found;
  }
}

function larger(one: Counts, other: Counts): Counts {
  return one.map((count, group) => Math.max(count, other[group]));
}

test.each<[FsyncMode]>([['always'], [100], ['never']])(
  'with --fsync %s a transaction is restored whole or not at all, wherever the process is killed or the power fails',
  async (fsync) => {
    for (let seed = 1; seed <= 12; seed++) await schedule(seed, fsync);
  },
);

/** A log of three rounds with transactions, none of them synced, each of several records; and where they end. */
async function threeRounds(): Promise<{ fileSystem: FaultyFileSystem; ends: number[] }> {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem, 100);
  for (let round = 0; round < 3; round++) {
    for (const group of GROUPS.keys()) transact(engine, group);
    await disk.write();
  }
  const scanner = await RecordScanner.open(fileSystem, logPath(DIRECTORY, 1));
  const ends: number[] = [];
  for (let record = await scanner.next(); record !== undefined; record = await scanner.next())
    if (!record.roundGoesOn) ends.push(record.end);
  return { fileSystem, ends };
}

test('a round that is cut off at any byte is left out whole, and the start reports it', async () => {
  const { fileSystem, ends } = await threeRounds();
  expect(ends).toHaveLength(3);
  const path = logPath(DIRECTORY, 1);
  for (let bytes = ends[1] + 1; bytes <= ends[2]; bytes++) {
    const left = fileSystem.afterProcessEnd();
    await left.truncate(path, bytes);
    const { engine, recovered } = await open(left, 100);
    const rounds = ends.filter((end) => end <= bytes).length;
    expect(countsOf(engine, `cut at ${bytes}`)).toEqual(GROUPS.map(() => rounds));
    const offset = ends[rounds - 1];
    expect(recovered.cut).toEqual(bytes === offset ? undefined : { path, offset, bytes: bytes - offset });
  }
});

test('a round with any byte changed is left out whole while it is the last, and stops the start once it was synced', async () => {
  const { fileSystem, ends } = await threeRounds();
  const path = logPath(DIRECTORY, 1);
  for (let at = ends[1]; at < ends[2]; at += 3) {
    const left = fileSystem.afterProcessEnd();
    left.contentOf(path)[at] ^= 1;
    const { engine } = await open(left, 100);
    expect(countsOf(engine, `changed at ${at}`)).toEqual(GROUPS.map(() => 2));
  }
  const { disk } = await open(fileSystem, 100);
  await disk.close();
  fileSystem.contentOf(path)[ends[1] + 40] ^= 1;
  await expect(open(fileSystem, 100)).rejects.toThrow(`is damaged at byte ${ends[1]}`);
});

test('repair leaves out a round without its end, and salvages whole records where one of a round is damaged', async () => {
  const { fileSystem, ends } = await threeRounds();
  const path = logPath(DIRECTORY, 1);
  await fileSystem.truncate(path, ends[2] - 1);
  const cut = fileSystem.afterProcessEnd();
  const engine = newEngine();
  const { losses } = await repair({ directory: DIRECTORY, engine, nowMs: START_MS, fileSystem: cut });
  expect(losses).toEqual([
    { path, offset: ends[1], bytes: ends[2] - 1 - ends[1], reason: 'the last record of a round is missing' },
  ]);
  expect(countsOf(engine, 'cut')).toEqual(GROUPS.map(() => 2));
  // Inside the first round: its other records, and all later rounds, are there.
  fileSystem.contentOf(path)[FILE_HEADER_BYTES + 40] ^= 1;
  const salvaged = newEngine();
  const repaired = await repair({ directory: DIRECTORY, engine: salvaged, nowMs: START_MS, fileSystem });
  expect(repaired.losses.map(({ offset }) => offset)).toEqual([FILE_HEADER_BYTES, ends[1]]);
  expect(countsOf(salvaged, 'damaged')).toEqual(GROUPS.map(() => 2));
});

test('snapshots and backups hold a transaction whole or not at all, also one that runs while they are written', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem, 100, newEngine(32 * 1024 * 1024));
  // More than is written at once, so that there are moments in between.
  for (let key = 0; key < 12_000; key++) add(engine, `${key}`.padStart(8, '-').padEnd(300, `${key}`), 1);
  await disk.flush();
  let transactions = 0;
  fileSystem.fault = (operation, path) => {
    if (operation === 'append' && path.includes('snapshot')) {
      for (const group of GROUPS.keys()) transact(engine, group);
      transactions++;
    }
    return undefined;
  };
  await disk.snapshot();
  expect(transactions).toBeGreaterThan(3);
  const afterSnapshot = await open(
    fileSystem.afterPowerFailure(() => 0),
    100,
    newEngine(32 * 1024 * 1024),
  );
  expect(countsOf(afterSnapshot.engine, 'snapshot')[0]).toBeGreaterThan(0);
  const before = transactions;
  await disk.copyTo('/backup');
  expect(transactions).toBeGreaterThan(before + 3);
  const backup = new FaultyFileSystem();
  for (const name of fileSystem.names.filter((each) => each.startsWith('/backup')))
    backup.put(name.replace('/backup', DIRECTORY), fileSystem.contentOf(name));
  const afterBackup = await open(backup, 100, newEngine(32 * 1024 * 1024));
  expect(countsOf(afterBackup.engine, 'backup')[0]).toBeGreaterThan(before);
});

function ignore(): void {}
