import { Batch, batchSince, type Engine, MAX_ORIGINS_OF_REPLICA, Merge, OWN_ORIGIN } from '@quotadb/engine';
import { expect, test } from 'vitest';
import { add, contentOf, makeEngine, openKey, START_MS } from './testing/counters.js';
import { FaultyFileSystem } from './testing/faulty-file-system.js';
import { openDisk } from './testing/open-disk.js';

/** All that another node holds. */
function merge(from: Engine, to: Engine): void {
  const merging = new Merge(to);
  for (let shard = 0; shard < from.shardCount; shard++)
    merging.apply(batchSince(from, shard, OWN_ORIGIN, 0, new Batch()));
}

test('changes of an origin that came into the slot of another are written, not taken for those on disk', async () => {
  const fileSystem = new FaultyFileSystem();
  const engine = makeEngine(1);
  const { disk } = await openDisk(fileSystem, { engine });
  const first = makeEngine(2);
  // Later versions than those of the next one.
  first.advanceTo(START_MS + 30_000);
  add(first, 'short', 1);
  openKey(first, 'short', () => first.expireAt(START_MS + 40_000));
  merge(first, engine);
  await disk.flush();
  const index = engine.origins.find(first.origins.ownId);
  engine.advanceTo(START_MS + 50_000);
  engine.expireSome(1000);
  await disk.flush();
  const incarnation = (number: number): Uint8Array => {
    const id = Uint8Array.from(first.origins.ownId);
    new DataView(id.buffer).setUint32(28, number);
    return id;
  };
  for (let number = 1; number < MAX_ORIGINS_OF_REPLICA; number++)
    engine.origins.hold(engine.origins.intern(incarnation(number)));
  const next = makeEngine(2);
  for (const key of ['a', 'b', 'c', 'd']) add(next, key, 5);
  const id = incarnation(1000);
  const merging = new Merge(engine);
  for (let shard = 0; shard < next.shardCount; shard++) {
    const batch = batchSince(next, shard, OWN_ORIGIN, 0, new Batch());
    batch.origin = id;
    merging.apply(batch);
  }
  expect(engine.origins.find(id)).toBe(index);
  expect(disk.durableOf(0, index)).toBe(0);
  await disk.flush();
  const restarted = makeEngine(1);
  await openDisk(fileSystem.afterProcessEnd(), { engine: restarted });
  expect(contentOf(restarted)).toBe('a=5 b=5 c=5 d=5');
});
