import { type Engine, Status } from '@quotadb/engine';
import { Random } from '@quotadb/engine/testing';
import { expect, test } from 'vitest';
import { contentOf, makeEngine, openKey, remove } from '../testing/counters.js';
import { FaultyFileSystem } from '../testing/faulty-file-system.js';
import { openDisk } from '../testing/open-disk.js';

const MEBIBYTE = 2 ** 20;
/** After this number of refusals there is no page left, for new keys or for those that are there. */
const REFUSALS = 3000;
const CHANGES_BETWEEN_FLUSHES = 500;
const FOREVER_MS = 1e15;

/** Makes and changes keys of up to `longestKey` bytes until memory is full to the last page. */
async function fill(engine: Engine, random: Random, longestKey: number, flush: () => Promise<void>): Promise<void> {
  const keys: string[] = [];
  const change = (key: string, work: () => Status): Status => openKey(engine, key, work);
  const make = (): Status => {
    const key = `${'x'.repeat(random.below(longestKey))}${keys.length}`;
    const status = change(key, () => engine.add(0, 1));
    if (status === Status.Ok) keys.push(key);
    return status;
  };
  for (let count = 0, refused = 0; refused < REFUSALS; count++) {
    const dice = keys.length < 10 ? 0 : random.below(20);
    let status: Status = Status.Ok;
    if (dice < 14) status = make();
    else if (dice < 16) status = change(random.pick(keys), () => engine.add(-1, -1));
    else if (dice < 18) status = change(random.pick(keys), () => engine.expireAt(FOREVER_MS));
    else remove(engine, random.pick(keys));
    if (status === Status.OutOfMemory) refused++;
    if (count % CHANGES_BETWEEN_FLUSHES === 0) await flush();
  }
  await flush();
}

// The same keys can lie a little less densely after a restart: without spare pages a third of such stores did not fit.
test.each([
  [1, 16, 4, 2000],
  [15, 1, 8, 200],
  [20, 64, 8, 2000],
  [22, 16, 4, 20],
])(
  'a store that was full to the last page is there after a restart, and clients get nothing of its spare pages: %i',
  async (seed, shards, megabytes, longestKey) => {
    const size = megabytes * MEBIBYTE;
    const make = () => makeEngine(1, shards, size, size / 16);
    const fileSystem = new FaultyFileSystem();
    const { engine, disk } = await openDisk(fileSystem, { engine: make() });
    await fill(engine, new Random(seed), longestKey, () => disk.flush());
    expect(engine.stats().usedBytes).toBeLessThanOrEqual(size);
    for (const snapshots of [false, true]) {
      if (snapshots) await disk.snapshot();
      const again = await openDisk(fileSystem.afterProcessEnd(), { engine: make() });
      expect(contentOf(again.engine) === contentOf(engine)).toBe(true);
      expect(again.engine.stats().maxMemoryBytes).toBe(engine.stats().maxMemoryBytes);
      const large = openKey(again.engine, 'y'.repeat(60_000), () => again.engine.add(0, 1));
      expect(large).toBe(Status.OutOfMemory);
    }
  },
);
