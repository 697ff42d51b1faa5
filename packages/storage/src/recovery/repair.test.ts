import { expect, test } from 'vitest';
import { logPath, snapshotPath } from '../files/file-names.js';
import { RecordScanner } from '../format/record-scanner.js';
import { add, contentOf, makeEngine, START_MS } from '../testing/counters.js';
import { FaultyFileSystem } from '../testing/faulty-file-system.js';
import { DIRECTORY, openDisk } from '../testing/open-disk.js';
import { repair } from './repair.js';

/** A log of four flushes, each with a key of its own and a shared one, and where the records begin. */
async function fourFlushes(): Promise<{ fileSystem: FaultyFileSystem; offsets: number[] }> {
  const fileSystem = new FaultyFileSystem();
  const engine = makeEngine();
  const { disk } = await openDisk(fileSystem, { engine });
  for (let flush = 1; flush <= 4; flush++) {
    add(engine, `only-${flush}`, flush);
    add(engine, 'shared', 10);
    await disk.flush();
  }
  const scanner = await RecordScanner.open(fileSystem, logPath(DIRECTORY, 1));
  const offsets: number[] = [];
  for (let record = await scanner.next(); record !== undefined; record = await scanner.next())
    offsets.push(record.offset);
  return { fileSystem, offsets };
}

function repairIn(fileSystem: FaultyFileSystem) {
  const engine = makeEngine();
  return repair({ directory: DIRECTORY, engine, nowMs: START_MS, fileSystem });
}

test('whole records are salvaged, losses are named, and the old files are kept', async () => {
  const { fileSystem, offsets } = await fourFlushes();
  const path = logPath(DIRECTORY, 1);
  fileSystem.contentOf(path)[offsets[1] + 30] ^= 1;
  await expect(openDisk(fileSystem.afterProcessEnd())).rejects.toThrow('is damaged at byte');
  const { losses, movedTo } = await repairIn(fileSystem);
  expect(losses).toEqual([
    {
      path,
      offset: offsets[1],
      bytes: offsets[2] - offsets[1],
      reason: 'the checksum of a record does not match',
    },
  ]);
  const moved = ['log-0000000001.qdb', 'manifest.qdb'].map((name) => `${movedTo}/${name}`);
  expect(fileSystem.names).toEqual([...moved, snapshotPath(DIRECTORY, 2)]);
  const engine = makeEngine();
  await openDisk(fileSystem.afterProcessEnd(), { engine });
  expect(contentOf(engine)).toBe('only-1=1 only-3=3 only-4=4 shared=40');
});

test('as a new incarnation it claims to have seen nothing, so that peers send everything again', async () => {
  const { fileSystem, offsets } = await fourFlushes();
  fileSystem.contentOf(logPath(DIRECTORY, 1))[offsets[2] + 30] ^= 1;
  await repairIn(fileSystem);
  const engine = makeEngine(2);
  await openDisk(fileSystem.afterProcessEnd(), { engine });
  expect(engine.origins.count).toBe(2);
  for (let shard = 0; shard < engine.shardCount; shard++) expect(engine.seen(shard, 1)).toBe(0);
  add(engine, 'shared', 1);
  expect(contentOf(engine)).toContain('shared=41');
});

test('a segment that is missing is named', async () => {
  const { fileSystem } = await fourFlushes();
  await openDisk(fileSystem);
  await fileSystem.remove(logPath(DIRECTORY, 1));
  const { losses } = await repairIn(fileSystem);
  expect(losses).toMatchObject([{ path: logPath(DIRECTORY, 1), reason: 'the file is missing' }]);
  await openDisk(fileSystem.afterProcessEnd());
});

test('where nothing is wrong nothing is done', async () => {
  const { fileSystem } = await fourFlushes();
  const before = fileSystem.names;
  expect(await repairIn(fileSystem)).toMatchObject({ losses: [], movedTo: undefined });
  expect(fileSystem.names).toEqual(before);
});
