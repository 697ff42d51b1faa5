import { type Engine, versionAt } from '@quotadb/engine';
import { expect, test, vi } from 'vitest';
import { logPath } from './files/file-names.js';
import { add, contentOf, counterOf, openKey, remove, START_MS } from './testing/counters.js';
import { errorOf, FaultyFileSystem } from './testing/faulty-file-system.js';
import { DIRECTORY, openDisk } from './testing/open-disk.js';

/** Milliseconds of a test with a fake clock that a write or a sync of the faulty disk can take. */
const SYNC_TURNS = 4;

test('what the disk failed to take is in the next segment, and the store goes on meanwhile', async () => {
  for (const operation of ['append', 'sync'] as const) {
    const fileSystem = new FaultyFileSystem();
    fileSystem.shortWriteFraction = 0.5;
    let failures = 0;
    let recoveries = 0;
    const events = { failed: () => failures++, recovered: () => recoveries++ };
    const { engine, disk } = await openDisk(fileSystem, { events });
    add(engine, 'a', 1);
    await disk.flush();
    fileSystem.fault = (at) => (at === operation ? errorOf('EIO') : undefined);
    add(engine, 'a', 1);
    add(engine, 'b', 5);
    await expect(disk.flush()).rejects.toThrow('EIO');
    expect(disk.status()).toMatchObject({ isFailed: true, lastError: 'EIO' });
    // Nothing more is written to a segment after that, and it is not synced again as if nothing had happened.
    remove(engine, 'b');
    add(engine, 'c', 7);
    await expect(disk.flush()).rejects.toThrow();
    expect(failures).toBe(1);
    expect(contentOf((await openDisk(fileSystem.afterPowerFailure(() => 0))).engine)).toBe('a=1');
    fileSystem.fault = () => undefined;
    await disk.flush();
    expect(disk.status()).toMatchObject({ isFailed: false, lastError: '' });
    expect(recoveries).toBe(1);
    const { engine: again } = await openDisk(fileSystem.afterPowerFailure(() => 0));
    expect(contentOf(again)).toBe('a=2 c=7');
  }
});

test('a flush that waits for a write which fails begins a segment, with all that is missing', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  add(engine, 'key', 1);
  fileSystem.fault = (operation) => {
    if (operation !== 'append') return undefined;
    fileSystem.fault = () => undefined;
    return errorOf('EIO');
  };
  const written = disk.write();
  await disk.close();
  await written;
  const again = await openDisk(fileSystem.afterPowerFailure(() => 0));
  expect(counterOf(again.engine, 'key')).toBe(1);
});

test('a disk that is full is tried again, and takes everything once there is room', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  fileSystem.fault = (operation) => (operation === 'append' || operation === 'create' ? errorOf('ENOSPC') : undefined);
  for (let attempt = 0; attempt < 5; attempt++) {
    add(engine, 'a', 1);
    await expect(disk.flush()).rejects.toThrow('ENOSPC');
  }
  await expect(disk.snapshot()).rejects.toThrow('ENOSPC');
  fileSystem.fault = () => undefined;
  await disk.flush();
  expect(contentOf((await openDisk(fileSystem.afterPowerFailure(() => 0))).engine)).toBe('a=5');
});

test('a disk that takes no file and gives none back either is written to again once it can be', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  add(engine, 'a', 1);
  // The next segment is begun, its header is not written, and it cannot be removed: its name stays taken.
  fileSystem.fault = (operation) => (operation === 'create' ? undefined : errorOf('EIO'));
  await expect(disk.flush()).rejects.toThrow('EIO');
  fileSystem.fault = (operation, path) =>
    operation === 'append' || (operation === 'remove' && fileSystem.names.includes(path)) ? errorOf('EIO') : undefined;
  await expect(disk.flush()).rejects.toThrow('EIO');
  fileSystem.fault = () => undefined;
  await disk.flush();
  expect(contentOf((await openDisk(fileSystem.afterPowerFailure(() => 0))).engine)).toBe('a=1');
});

test('a snapshot that cannot be written changes nothing', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  add(engine, 'a', 3);
  await disk.flush();
  fileSystem.fault = (operation, path) =>
    operation === 'append' && path.includes('snapshot') ? errorOf('ENOSPC') : undefined;
  await expect(disk.snapshot()).rejects.toThrow('ENOSPC');
  expect(disk.status()).toMatchObject({ isFailed: false, lastSnapshotFailed: true });
  add(engine, 'a', 1);
  await disk.flush();
  expect(fileSystem.names.filter((name) => name.includes('snapshot'))).toEqual([]);
  expect(contentOf((await openDisk(fileSystem.afterPowerFailure(() => 0))).engine)).toBe('a=4');
});

test('changes written after a segment that failed to open and could not be removed are there after a restart', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  add(engine, 'a', 3);
  await disk.flush();
  // The header of the next segment says where this one ends.
  fileSystem.fault = (operation, path) =>
    operation === 'syncDirectory' || (operation === 'remove' && fileSystem.names.includes(path))
      ? errorOf('EIO')
      : undefined;
  await expect(disk.snapshot()).rejects.toThrow('EIO');
  fileSystem.fault = () => undefined;
  add(engine, 'a', 1);
  await disk.flush();
  for (const left of [fileSystem.afterProcessEnd(), fileSystem.afterPowerFailure(() => 0)])
    expect(contentOf((await openDisk(left)).engine)).toBe('a=4');
});

test('wherever the power fails, what was acknowledged before is there and nothing that was never tried', async () => {
  // A dry run says how many steps there are; then the power fails after each of them.
  const steps = await scenario(new FaultyFileSystem(), []);
  expect(steps).toBeGreaterThan(20);
  for (let stop = 1; stop <= steps; stop++) {
    for (const fraction of [0, 0.5, 1]) {
      const fileSystem = new FaultyFileSystem();
      fileSystem.stopsAfter = stop;
      const acknowledged: number[] = [];
      await scenario(fileSystem, acknowledged).catch(() => {});
      const left = fileSystem.afterPowerFailure(() => fraction);
      const { engine } = await openDisk(left);
      const value = counterOf(engine, 'count');
      expect(value).toBeGreaterThanOrEqual(acknowledged.at(-1) ?? 0);
      expect(value).toBeLessThanOrEqual((acknowledged.at(-1) ?? 0) + 10);
      expect(counterOf(engine, 'removed')).toBeLessThanOrEqual(acknowledged.length === 0 ? 1 : 0);
    }
  }
});

/** Flushes and two snapshots, with increments in between; `acknowledged` gets the value after each flush. */
async function scenario(fileSystem: FaultyFileSystem, acknowledged: number[]): Promise<number> {
  const { engine, disk } = await openDisk(fileSystem);
  let value = 0;
  const change = async (): Promise<void> => {
    add(engine, 'count', 5);
    value += 5;
    await disk.flush();
    acknowledged.push(value);
  };
  add(engine, 'removed', 1);
  remove(engine, 'removed');
  for (let round = 0; round < 2; round++) {
    await change();
    await change();
    const snapshot = disk.snapshot();
    snapshot.catch(() => {});
    await change();
    await snapshot;
    await change();
  }
  await disk.close();
  return fileSystem.operations;
}

test('data from a clock far ahead is dated anew, wherever the power fails meanwhile; after it the old dates are gone', async () => {
  const future = Date.UTC(2038, 0, 1);
  const written = new FaultyFileSystem();
  const { engine, disk } = await openDisk(written);
  add(engine, 'count', 5);
  await disk.flush();
  engine.advanceTo(future);
  add(engine, 'count', 100);
  openKey(engine, 'short', () => {
    engine.add(0, 1);
    engine.expireAt(future + 5000);
  });
  await disk.flush();
  engine.advanceTo(future + 1000);
  add(engine, 'later', 1);
  await disk.close();
  const reDating = (dataMs: number) =>
    dataMs > START_MS + 3_600_000 ? { nowMs: START_MS, skewBoundMs: 1000, heldByPeers: [] } : undefined;
  const expectNow = (again: Engine) => {
    expect(counterOf(again, 'count')).toBe(105);
    expect(openKey(again, 'short', () => again.expiresAtMs)).toBe(START_MS + 4000);
    expect(again.nowMs).toBe(START_MS);
    for (let shard = 0; shard < again.shardCount; shard++)
      expect(again.seen(shard, 0)).toBeLessThan(versionAt(START_MS + 1000));
    again.advanceTo(START_MS + 5000);
    again.expireSome(1000);
    expect(again.keyCount()).toBe(2);
  };
  const dry = written.afterProcessEnd();
  await openDisk(dry, { reDating });
  expect(dry.operations).toBeGreaterThan(10);
  for (let stop = 1; stop <= dry.operations; stop++) {
    const failing = written.afterProcessEnd();
    failing.stopsAfter = stop;
    await openDisk(failing, { reDating }).catch(() => {});
    const left = failing.afterPowerFailure(() => 0.5);
    const again = await openDisk(left, { reDating });
    expectNow(again.engine);
    // The right dates are the only ones on disk.
    expectNow((await openDisk(left.afterPowerFailure(() => 0))).engine);
  }
});

test('when the power fails, all is there that was counted an interval and a sync before', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    for (const failsAtMs of [130, 255, 377, 499]) {
      const fileSystem = new FaultyFileSystem();
      const { engine, disk } = await openDisk(fileSystem, { fsync: 100 });
      disk.start();
      for (let ms = 1; ms <= failsAtMs; ms++) {
        add(engine, 'a', 1);
        vi.advanceTimersByTime(1);
        // Every step of the disk takes a turn of the event loop: a sync is over well before the next interval.
        for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
      const powerless = await openDisk(fileSystem.afterPowerFailure(() => 0));
      expect(counterOf(powerless.engine, 'a')).toBeGreaterThanOrEqual(failsAtMs - 100 - SYNC_TURNS);
      // Without a power failure only the last 5 ms are missing, which no reply had waited for.
      const killed = await openDisk(fileSystem.afterProcessEnd());
      expect(counterOf(killed.engine, 'a')).toBeGreaterThanOrEqual(failsAtMs - 5 - SYNC_TURNS);
      await disk.close();
    }
  } finally {
    vi.useRealTimers();
  }
});

test('a stop finds that the log file was removed under it: a snapshot takes its place', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  add(engine, 'key', 1);
  await disk.flush();
  await fileSystem.remove(logPath(DIRECTORY, 1));
  add(engine, 'key', 1);
  await disk.close();
  expect(contentOf((await openDisk(fileSystem.afterProcessEnd())).engine)).toBe('key=2');
});

test('a stop after the directory was removed says that changes are lost', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await openDisk(fileSystem);
  add(engine, 'key', 1);
  await disk.flush();
  for (const name of fileSystem.names) await fileSystem.remove(name);
  fileSystem.fault = (operation) => (operation === 'create' ? errorOf('ENOENT') : undefined);
  await expect(disk.close()).rejects.toThrow(/could not be written at the stop .* are lost/);
});
