import { expect, test, vi } from 'vitest';
import { FlushEvents } from './flush-events.js';
import { add, contentOf, counterOf, makeEngine, openKey, remove, START_MS } from './testing/counters.js';
import { FaultyFileSystem } from './testing/faulty-file-system.js';
import { openDisk } from './testing/open-disk.js';

test('what was flushed is there after the process ended', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  for (let key = 0; key < 1000; key++) add(engine, `key-${key}`, key + 1);
  for (let key = 0; key < 1000; key += 3) remove(engine, `key-${key}`);
  await disk.flush();
  remove(engine, 'key-1');
  await disk.flush();
  const again = await openDisk(fileSystem.afterProcessEnd());
  expect(contentOf(again.engine)).toBe(contentOf(engine));
  expect(again.recovered.cut).toBeUndefined();
  for (let shard = 0; shard < engine.shardCount; shard++) {
    expect(again.engine.seen(shard, 0)).toBe(engine.seen(shard, 0));
    expect(again.engine.digestOf(shard, 0)).toBe(engine.digestOf(shard, 0));
  }
});

test('a key that took a hundred thousand increments between two flushes costs one component', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  add(engine, 'hot', 1);
  await disk.flush();
  const before = disk.status().writtenBytesTotal;
  for (let count = 0; count < 100_000; count++) add(engine, 'hot', 1);
  await disk.flush();
  expect(disk.status().writtenBytesTotal - before).toBeLessThan(100);
});

test('those who ask while a flush is under way share the next one', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  add(engine, 'a', 1);
  const first = disk.flush();
  add(engine, 'b', 1);
  const others = [disk.flush(), disk.flush(), disk.flush()];
  await Promise.all([first, ...others]);
  expect(disk.status()).toMatchObject({ flushesTotal: 2, syncsTotal: 2 });
  expect(contentOf((await openDisk(fileSystem.afterPowerFailure(() => 0))).engine)).toBe('a=1 b=1');
});

test('what was removed all at once stays removed, and what came after it is there', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  for (let key = 0; key < 500; key++) add(engine, `key-${key}`, key + 1);
  await disk.flush();
  engine.removeAll();
  expect(contentOf(engine)).toBe('');
  add(engine, 'key-7', 1);
  await disk.flush();
  expect(contentOf((await openDisk(fileSystem.afterPowerFailure(() => 0))).engine)).toBe('key-7=1');
  expect(engine.stats().removedKeysRetained).toBe(0);
});

test('a snapshot takes the place of the log before it', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  for (let key = 0; key < 500; key++) add(engine, `key-${key}`, 1);
  await disk.flush();
  for (let key = 0; key < 500; key += 2) remove(engine, `key-${key}`);
  await disk.snapshot();
  expect(fileSystem.names).toEqual(['/data/log-0000000002.qdb', '/data/manifest.qdb', '/data/snapshot-0000000002.qdb']);
  add(engine, 'key-1', 1);
  await disk.flush();
  const again = await openDisk(fileSystem.afterPowerFailure(() => 0));
  expect(contentOf(again.engine)).toBe(contentOf(engine));
  expect(disk.status().lastSaveMs).toBe(START_MS);
});

test('the log is folded into a snapshot when it has grown past its bound', async () => {
  const fileSystem = new FaultyFileSystem();
  const taken = new Promise<void>((resolve) => {
    openDisk(fileSystem, { fsync: 1, snapshotLogBytes: 1000, events: { snapshotTaken: () => resolve() } }).then(
      ({ engine, disk }) => {
        for (let key = 0; key < 200; key++) add(engine, `key-${key}`, 1);
        disk.start();
        taken.then(() => disk.close());
      },
    );
  });
  await taken;
  expect(fileSystem.names).toContain('/data/snapshot-0000000002.qdb');
});

test('a snapshot is taken when the last one is old, if anything was written since', async () => {
  const fileSystem = new FaultyFileSystem();
  let nowMs = START_MS;
  let taken = 0;
  let flushed = 0;
  const flushes = new FlushEvents();
  flushes.subscribe({ afterFlush: () => flushed++ });
  const { engine, disk } = await openDisk(fileSystem, {
    fsync: 1,
    flushes,
    now: () => nowMs,
    snapshotIntervalMs: 60_000,
    events: { snapshotTaken: () => taken++ },
  });
  const untilFlushed = async (times: number) => {
    const before = flushed;
    await vi.waitUntil(() => flushed >= before + times);
  };
  disk.start();
  add(engine, 'key', 1);
  await disk.flush();
  nowMs += 59_999;
  await untilFlushed(5);
  expect(taken).toBe(0);
  nowMs += 1;
  await vi.waitUntil(() => taken === 1);
  // Nothing was written: what there is, is in the snapshot.
  nowMs += 3_600_000;
  await untilFlushed(5);
  expect(taken).toBe(1);
  add(engine, 'key', 1);
  await vi.waitUntil(() => taken === 2);
  await disk.close();
});

test('a node that comes back with a clock behind does not undo an expiry', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  engine.advanceTo(START_MS + 60_000);
  add(engine, 'a', 1);
  await disk.flush();
  expect((await openDisk(fileSystem.afterProcessEnd())).engine.nowMs).toBe(START_MS + 60_000);
});

test('more on disk than fits into memory is said with what to do', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem, { engine: makeEngine(1, 4, 32 * 1024 * 1024) });
  for (let key = 0; key < 100_000; key++) add(engine, `a-key-that-takes-some-room-${key}`, 1);
  await disk.flush();
  const small = makeEngine(1, 4, 4 * 1024 * 1024);
  const outcome = await openDisk(fileSystem.afterProcessEnd(), { engine: small }).then(
    () => 'opened',
    (error: Error) => error.message,
  );
  expect(outcome).toContain('--max-memory');
});

test('keys that had come and gone before a crash do not take memory at the next start', async () => {
  const fileSystem = new FaultyFileSystem();
  const size = 4 * 1024 * 1024;
  let nowMs = START_MS;
  const now = () => nowMs;
  const { engine, disk } = await openDisk(fileSystem, { engine: makeEngine(1, 4, size), now });
  add(engine, 'stays', 7);
  for (let round = 0; round < 40; round++) {
    for (let key = 0; key < 2000; key++) {
      openKey(engine, `round-${round}-key-${key}`, () => {
        engine.add(0, 1);
        engine.expireAt(nowMs + 500);
      });
    }
    // A key that is kept alive, and one whose expiry is taken back just before it passes.
    openKey(engine, 'renewed', () => {
      engine.add(0, 1);
      engine.expireAt(nowMs + 500);
    });
    if (round === 3) openKey(engine, 'round-3-key-0', () => engine.persist());
    await disk.flush();
    nowMs += 400;
    engine.advanceTo(nowMs);
    while (engine.expireSome(1000) > 0);
  }
  for (const at of [nowMs, nowMs + 1000]) {
    const again = makeEngine(1, 4, size);
    await openDisk(fileSystem.afterProcessEnd(), { engine: again, now: () => at });
    expect(again.nowMs).toBe(at);
    expect(counterOf(again, 'stays')).toBe(7);
    expect(counterOf(again, 'round-3-key-0')).toBe(1);
    expect(counterOf(again, 'renewed')).toBe(at === nowMs ? 40 : 0);
    expect(counterOf(again, 'round-0-key-0')).toBe(0);
  }
});

test('unpublished counts outlive a stop, once, and neither log nor peer ever gets them', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  for (let key = 0; key < 100; key++) {
    openKey(engine, `cell-${key}`, () => engine.addUnpublished(0, key + 1, START_MS + 60_000, START_MS + 90_000));
  }
  openKey(engine, 'over', () => engine.addUnpublished(0, 5, START_MS + 10));
  await disk.close();
  const later = makeEngine();
  later.advanceTo(START_MS + 1000);
  const again = await openDisk(fileSystem, { engine: later, now: () => START_MS + 1000 });
  for (let key = 0; key < 100; key++) expect(counterOf(later, `cell-${key}`)).toBe(key + 1);
  expect(counterOf(later, 'over')).toBe(0);
  expect(openKey(later, 'cell-7', () => later.hasNoComponents)).toBe(true);
  for (let shard = 0; shard < later.shardCount; shard++) expect(later.seen(shard, 0)).toBe(0);
  // The file was read once: after a crash the counts are gone, not old.
  await again.disk.flush();
  expect(contentOf((await openDisk(fileSystem.afterProcessEnd())).engine)).toBe('');
});
