import { Batch, batchSince, Component, type Engine, MAX_VERSION, Merge, OWN_ORIGIN, Verdict } from '@quotadb/engine';
import { checkConsistency, recordOf } from '@quotadb/engine/testing';
import { expect, test } from 'vitest';
import { add, contentOf, makeEngine, START_MS } from '../testing/counters.js';
import { FaultyFileSystem } from '../testing/faulty-file-system.js';
import { openDisk } from '../testing/open-disk.js';

/** Lets a component into the store that the gate would not, as servers without the gate did. */
function mergePoisoned(engine: Engine, key: string): void {
  const other = makeEngine(2);
  add(other, key, 5);
  const merge = new Merge(engine);
  Object.assign(merge.gate, { ofBatch: () => Verdict.Admitted });
  for (let shard = 0; shard < other.shardCount; shard++) {
    const batch = batchSince(other, shard, OWN_ORIGIN, 0, new Batch());
    if (batch.count === 0) continue;
    batch.decided[0] = MAX_VERSION;
    batch.expiresAtMs[0] = START_MS + 1000;
    merge.apply(batch);
  }
}

test('a server whose log holds components that cannot be starts without them, and keeps them in a file', async () => {
  const fileSystem = new FaultyFileSystem();
  const engine = makeEngine();
  const { disk } = await openDisk(fileSystem, { engine });
  for (const key of ['one', 'two', 'three']) add(engine, key, 1);
  mergePoisoned(engine, 'four');
  // A spilled version made a key longer, and so another one, in the shard of the first.
  const { record } = recordOf(engine, 'two');
  engine.store.memory[record + Component.stemOrKey] ^= 0xff;
  await disk.flush();
  engine.store.memory[record + Component.stemOrKey] ^= 0xff;

  const after = fileSystem.afterProcessEnd();
  const restarted = makeEngine();
  const { disk: again, recovered } = await openDisk(after, { engine: restarted });
  expect(contentOf(restarted)).toBe('one=1 three=1');
  checkConsistency(restarted);
  expect(recovered.quarantined).toMatchObject({ components: 2, path: `/data/quarantine-${START_MS}.ndjson` });
  const lines = Buffer.from(after.contentOf(`/data/quarantine-${START_MS}.ndjson`))
    .toString()
    .trim()
    .split('\n');
  const kept = lines.map((line) => JSON.parse(line));
  expect(kept.map(({ reason }) => reason.replace(/\d+/g, '#')).sort()).toEqual([
    'expiry setting # of key "four", which is # years ahead of this server\'s clock',
    'its key is not one of shard #',
  ]);
  expect(kept.find(({ key }) => key === 'four')).toMatchObject({ positive: '5', decided: MAX_VERSION, present: true });

  // They are in no file that the next start reads, once there is a snapshot; and that is taken automatically.
  expect(restarted.dropped.takeLost()).toBe(true);
  add(restarted, 'four', 2);
  await again.snapshot();
  const last = makeEngine();
  const { recovered: clean } = await openDisk(after.afterProcessEnd(), { engine: last });
  expect(clean.quarantined).toBeUndefined();
  expect(contentOf(last)).toBe('four=2 one=1 three=1');
});
