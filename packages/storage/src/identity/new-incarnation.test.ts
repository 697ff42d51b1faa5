import { type Engine, OWN_ORIGIN } from '@quotadb/engine';
import { expect, test } from 'vitest';
import { Disk } from '../disk.js';
import { add, contentOf, makeEngine, remove, START_MS } from '../testing/counters.js';
import { FaultyFileSystem } from '../testing/faulty-file-system.js';
import type { LogPlace, OldCopy } from './old-copy.js';

const OLD = 1;
const NEW = 9;
const DIRECTORY = '/data';

interface Started {
  readonly engine: Engine;
  readonly disk: Disk;
  readonly place: LogPlace;
  readonly versions: readonly number[];
}

async function start(fileSystem: FaultyFileSystem, nowMs: number, oldCopy?: OldCopy): Promise<Started> {
  const engine = makeEngine(oldCopy === undefined ? OLD : NEW);
  const { disk, recovered } = await Disk.open({
    directory: DIRECTORY,
    engine,
    fsync: 'never',
    snapshotLogBytes: 2 ** 30,
    fileSystem,
    now: () => nowMs,
    oldCopy,
  });
  const versions = Array.from({ length: engine.shardCount }, (_, shard) => engine.seen(shard, OWN_ORIGIN));
  return { engine, disk, versions, place: { segment: recovered.nextNumber, previousEnd: recovered.previousEnd } };
}

function oldCopyOf({ place, versions }: Started): OldCopy {
  return { origin: `01${'0'.repeat(62)}`, nextIncarnation: '0'.repeat(32), base: place, versions };
}

/** A directory that was copied with a = 5 and b = 7, and started twice since, with changes and snapshots. */
async function copy(): Promise<{ fileSystem: FaultyFileSystem; base: Started }> {
  const fileSystem = new FaultyFileSystem();
  const original = await start(fileSystem, START_MS);
  add(original.engine, 'a', 5);
  add(original.engine, 'b', 7);
  await original.disk.close();
  const first = await start(fileSystem, START_MS + 1000);
  await first.disk.retain([first.place.segment]);
  add(first.engine, 'a', 1);
  await first.disk.flush();
  await first.disk.snapshot();
  await first.disk.close();
  const second = await start(fileSystem, START_MS + 2000);
  await second.disk.retain([first.place.segment]);
  add(second.engine, 'c', 2);
  remove(second.engine, 'b');
  await second.disk.flush();
  await second.disk.snapshot();
  await second.disk.close();
  return { fileSystem, base: first };
}

test('an old copy goes on as a new incarnation from the start that both had, over restarts and snapshots', async () => {
  const { fileSystem, base } = await copy();
  expect(fileSystem.names.filter((name) => name.includes('/kept/'))).toHaveLength(1);
  const { engine, disk } = await start(fileSystem, START_MS + 3000, oldCopyOf(base));
  expect(contentOf(engine)).toBe('a=6 c=2');
  const old = engine.origins.find(Buffer.from(oldCopyOf(base).origin, 'hex'));
  const seen = (origin: number) => Array.from({ length: 4 }, (_, shard) => engine.seen(shard, origin));
  expect(Math.max(...seen(old))).toBeLessThan(Math.max(...seen(OWN_ORIGIN)));
  await disk.retain([]);
  await disk.close();
  expect(fileSystem.names.filter((name) => name.includes('/kept/'))).toEqual([]);
  const again = makeEngine(NEW);
  const reopened = await Disk.open({
    directory: DIRECTORY,
    engine: again,
    fsync: 'never',
    snapshotLogBytes: 2 ** 30,
    fileSystem,
    now: () => START_MS + 4000,
  });
  expect(contentOf(again)).toBe('a=6 c=2');
  expect(seen(OWN_ORIGIN)).toEqual(Array.from({ length: 4 }, (_, shard) => again.seen(shard, OWN_ORIGIN)));
  await reopened.disk.close();
});

test('a start that makes it one can fail after any step, by a crash or a power failure, and is repeated', async () => {
  const { fileSystem, base } = await copy();
  let isComplete = false;
  for (let steps = 1; !isComplete; steps++) {
    const disk = fileSystem.afterProcessEnd();
    disk.stopsAfter = steps;
    isComplete = await start(disk, START_MS + 3000, oldCopyOf(base)).then(
      () => true,
      () => false,
    );
    for (const left of [disk.afterProcessEnd(), disk.afterPowerFailure(() => 0.5)]) {
      const { engine } = await start(left, START_MS + 3000, oldCopyOf(base));
      expect(contentOf(engine), `after ${steps} steps`).toBe('a=6 c=2');
      expect(engine.origins.count).toBe(2);
    }
  }
});

test('without the files of that start it is refused, and says the way out', async () => {
  const { fileSystem, base } = await copy();
  for (const name of fileSystem.names) if (name.includes('/kept/')) await fileSystem.remove(name);
  await expect(start(fileSystem, START_MS + 3000, oldCopyOf(base))).rejects.toThrow(/quotadb repair --new-incarnation/);
});
