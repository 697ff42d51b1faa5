import { type Engine, versionAt } from '@quotadb/engine';
import { expect, test, vi } from 'vitest';
import { Disk, type DiskOptions } from './disk.js';
import { DamagedFile } from './errors.js';
import { logPath } from './file-names.js';
import { FlushEvents } from './flush-events.js';
import { FILE_HEADER_BYTES } from './format.js';
import { RecordScanner } from './record-scanner.js';
import type { Recovered } from './recover.js';
import { repair } from './repair.js';
import { add, contentOf, counterOf, makeEngine, openKey, remove, START_MS } from './testing/counters.js';
import { errorOf, FaultyFileSystem } from './testing/faulty-file-system.js';

const DIRECTORY = '/data';
/** Milliseconds of a test with a fake clock that a write or a sync of the faulty disk can take. */
const SYNC_TURNS = 4;

interface Running {
  readonly engine: Engine;
  readonly disk: Disk;
  readonly recovered: Recovered;
}

async function open(fileSystem: FaultyFileSystem, options: Partial<DiskOptions> = {}): Promise<Running> {
  const engine = options.engine ?? makeEngine();
  const opened = await Disk.open({
    directory: DIRECTORY,
    engine,
    fsync: 100,
    snapshotLogBytes: Number.POSITIVE_INFINITY,
    fileSystem,
    now: () => START_MS,
    ...options,
  });
  return { engine, ...opened };
}

/** A log of two flushes and a write, and where its records begin. */
async function threeFlushes(): Promise<{ fileSystem: FaultyFileSystem; contents: string[]; offsets: number[] }> {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  const contents = [contentOf(engine)];
  for (let flush = 1; flush <= 3; flush++) {
    for (let key = 0; key < 3; key++) add(engine, `key-${key}`, flush * 10 + key);
    // The last one is not synced.
    await (flush < 3 ? disk.flush() : disk.write());
    contents.push(contentOf(engine));
  }
  const scanner = await RecordScanner.open(fileSystem, logPath(DIRECTORY, 1));
  const offsets: number[] = [];
  for (let record = await scanner.next(); record !== undefined; record = await scanner.next()) {
    offsets.push(record.offset);
  }
  expect(offsets).toHaveLength(3);
  return { fileSystem, contents, offsets };
}

test('what was flushed is there after the process ended', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  for (let key = 0; key < 1000; key++) add(engine, `key-${key}`, key + 1);
  for (let key = 0; key < 1000; key += 3) remove(engine, `key-${key}`);
  await disk.flush();
  remove(engine, 'key-1');
  await disk.flush();
  const again = await open(fileSystem.afterProcessEnd());
  expect(contentOf(again.engine)).toBe(contentOf(engine));
  expect(again.recovered.cut).toBeUndefined();
  for (let shard = 0; shard < engine.shardCount; shard++) {
    expect(again.engine.seen(shard, 0)).toBe(engine.seen(shard, 0));
    expect(again.engine.digestOf(shard, 0)).toBe(engine.digestOf(shard, 0));
  }
});

test('a key that took a hundred thousand increments between two flushes costs one component', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  add(engine, 'hot', 1);
  await disk.flush();
  const before = disk.status().writtenBytesTotal;
  for (let count = 0; count < 100_000; count++) add(engine, 'hot', 1);
  await disk.flush();
  expect(disk.status().writtenBytesTotal - before).toBeLessThan(100);
});

test('those who ask while a flush is under way share the next one', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  add(engine, 'a', 1);
  const first = disk.flush();
  add(engine, 'b', 1);
  const others = [disk.flush(), disk.flush(), disk.flush()];
  await Promise.all([first, ...others]);
  expect(disk.status()).toMatchObject({ flushesTotal: 2, syncsTotal: 2 });
  expect(contentOf((await open(fileSystem.afterPowerFailure(() => 0))).engine)).toBe('a=1 b=1');
});

test('a last record torn at any byte is cut and reported, and everything before it is there', async () => {
  const { fileSystem, contents, offsets } = await threeFlushes();
  const path = logPath(DIRECTORY, 1);
  const whole = fileSystem.contentOf(path);
  for (let length = offsets[2]; length < whole.length; length++) {
    const torn = fileSystem.afterProcessEnd();
    torn.put(path, whole.slice(0, length));
    const { engine, recovered } = await open(torn);
    expect(contentOf(engine)).toBe(contents[2]);
    if (length > offsets[2]) {
      expect(recovered.cut).toEqual({ path, offset: offsets[2], bytes: length - offsets[2] });
    }
    // What was cut stays cut: the next start finds nothing wrong.
    const next = await open(torn.afterProcessEnd());
    expect(next.recovered.cut).toBeUndefined();
    expect(contentOf(next.engine)).toBe(contents[2]);
  }
});

test('a last record with any byte changed is cut too', async () => {
  const { fileSystem, contents, offsets } = await threeFlushes();
  const path = logPath(DIRECTORY, 1);
  for (let at = offsets[2]; at < fileSystem.contentOf(path).length; at++) {
    const torn = fileSystem.afterProcessEnd();
    torn.contentOf(path)[at] ^= 0x41;
    expect(contentOf((await open(torn)).engine)).toBe(contents[2]);
  }
});

test('a byte changed in the middle stops the start, naming the file and the place', async () => {
  const { fileSystem, offsets } = await threeFlushes();
  const path = logPath(DIRECTORY, 1);
  for (let at = offsets[1]; at < offsets[2]; at++) {
    const damaged = fileSystem.afterProcessEnd();
    damaged.contentOf(path)[at] ^= 0x41;
    const error = await open(damaged).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(DamagedFile);
    expect(error).toMatchObject({ path, offset: offsets[1] });
    expect(error.message).toContain('quotadb repair');
  }
});

test('of several segments only the newest may have a torn tail', async () => {
  const { fileSystem, offsets } = await threeFlushes();
  const left = fileSystem.afterProcessEnd();
  await open(left);
  const path = logPath(DIRECTORY, 1);
  left.contentOf(path)[offsets[2] + 5] ^= 1;
  await expect(open(left.afterProcessEnd())).rejects.toMatchObject({ path, offset: offsets[2] });
});

test('a segment that is missing stops the start', async () => {
  const { fileSystem } = await threeFlushes();
  await open(fileSystem);
  await fileSystem.remove(logPath(DIRECTORY, 1));
  await expect(open(fileSystem.afterProcessEnd())).rejects.toThrow(/log-0000000001\.qdb is missing/);
});

test('a newest segment that is missing stops the start, whatever snapshot there is', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  for (const takesSnapshot of [false, true]) {
    if (takesSnapshot) await disk.snapshot();
    add(engine, 'a', 1);
    await disk.flush();
    const left = fileSystem.afterProcessEnd();
    await left.remove(logPath(DIRECTORY, takesSnapshot ? 2 : 1));
    await expect(open(left)).rejects.toThrow(/log-000000000[12]\.qdb is missing, with \d+ bytes .* were synced/);
    // Repair names the loss and keeps the rest; after that the directory can be used again.
    const { losses, movedTo } = await repair({
      directory: DIRECTORY,
      engine: makeEngine(),
      nowMs: 1,
      fileSystem: left,
    });
    expect(losses).toMatchObject([{ reason: 'the file is missing' }]);
    expect(movedTo).toBeDefined();
    expect(contentOf((await open(left)).engine)).toBe(takesSnapshot ? 'a=1' : '');
  }
});

test('a log that was cut off anywhere before its synced end stops the start, and says how much is gone', async () => {
  const { fileSystem, offsets } = await threeFlushes();
  const path = logPath(DIRECTORY, 1);
  const whole = fileSystem.contentOf(path);
  for (let length = 0; length < offsets[2]; length++) {
    const left = fileSystem.afterProcessEnd();
    left.put(path, whole.slice(0, length));
    const end = length < offsets[0] ? length : length < offsets[1] ? offsets[0] : offsets[1];
    await expect(open(left)).rejects.toThrow(`ends at byte ${end}, and ${offsets[2] - end} more bytes of changes were`);
  }
  const left = fileSystem.afterProcessEnd();
  left.put(path, whole.slice(0, offsets[1]));
  const { losses } = await repair({ directory: DIRECTORY, engine: makeEngine(), nowMs: 1, fileSystem: left });
  expect(losses).toEqual([{ path, offset: offsets[1], bytes: offsets[2] - offsets[1], reason: expect.any(String) }]);
});

test('a directory that has had a manifest is not opened without one', async () => {
  const { fileSystem } = await threeFlushes();
  for (const name of fileSystem.names) await fileSystem.remove(name);
  await expect(open(fileSystem, { expectsManifest: true })).rejects.toThrow('manifest.qdb is missing');
});

test('a segment whose header was cut short held nothing', async () => {
  const { fileSystem, contents } = await threeFlushes();
  for (let length = 0; length < FILE_HEADER_BYTES; length += 7) {
    const left = fileSystem.afterProcessEnd();
    left.put(logPath(DIRECTORY, 2), new Uint8Array(length).fill(1));
    expect(contentOf((await open(left)).engine)).toBe(contents[3]);
  }
});

test('what the disk failed to take is in the next segment, and the store goes on meanwhile', async () => {
  for (const operation of ['append', 'sync'] as const) {
    const fileSystem = new FaultyFileSystem();
    fileSystem.shortWriteFraction = 0.5;
    let failures = 0;
    let recoveries = 0;
    const events = { failed: () => failures++, recovered: () => recoveries++ };
    const { engine, disk } = await open(fileSystem, { events });
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
    expect(contentOf((await open(fileSystem.afterPowerFailure(() => 0))).engine)).toBe('a=1');
    fileSystem.fault = () => undefined;
    await disk.flush();
    expect(disk.status()).toMatchObject({ isFailed: false, lastError: '' });
    expect(recoveries).toBe(1);
    const { engine: again } = await open(fileSystem.afterPowerFailure(() => 0));
    expect(contentOf(again)).toBe('a=2 c=7');
  }
});

test('a flush that waits for a write which fails begins a segment, with all that is missing', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  add(engine, 'key', 1);
  fileSystem.fault = (operation) => {
    if (operation !== 'append') return undefined;
    fileSystem.fault = () => undefined;
    return errorOf('EIO');
  };
  const written = disk.write();
  await disk.close();
  await written;
  const again = await open(fileSystem.afterPowerFailure(() => 0));
  expect(counterOf(again.engine, 'key')).toBe(1);
});

test('a stop finds that the log file was removed under it: a snapshot takes its place', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  add(engine, 'key', 1);
  await disk.flush();
  await fileSystem.remove(logPath(DIRECTORY, 1));
  add(engine, 'key', 1);
  await disk.close();
  expect(contentOf((await open(fileSystem.afterProcessEnd())).engine)).toBe('key=2');
});

test('a stop after the directory was removed says that changes are lost', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  add(engine, 'key', 1);
  await disk.flush();
  for (const name of fileSystem.names) await fileSystem.remove(name);
  fileSystem.fault = (operation) => (operation === 'create' ? errorOf('ENOENT') : undefined);
  await expect(disk.close()).rejects.toThrow(/could not be written at the stop .* are lost/);
});

test('what was removed all at once stays removed, and what came after it is there', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  for (let key = 0; key < 500; key++) add(engine, `key-${key}`, key + 1);
  await disk.flush();
  engine.removeAll();
  expect(contentOf(engine)).toBe('');
  add(engine, 'key-7', 1);
  await disk.flush();
  expect(contentOf((await open(fileSystem.afterPowerFailure(() => 0))).engine)).toBe('key-7=1');
  expect(engine.stats().removedKeysRetained).toBe(0);
});

test('a disk that is full is tried again, and takes everything once there is room', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  fileSystem.fault = (operation) => (operation === 'append' || operation === 'create' ? errorOf('ENOSPC') : undefined);
  for (let attempt = 0; attempt < 5; attempt++) {
    add(engine, 'a', 1);
    await expect(disk.flush()).rejects.toThrow('ENOSPC');
  }
  await expect(disk.snapshot()).rejects.toThrow('ENOSPC');
  fileSystem.fault = () => undefined;
  await disk.flush();
  expect(contentOf((await open(fileSystem.afterPowerFailure(() => 0))).engine)).toBe('a=5');
});

test('a disk that takes no file and gives none back either is written to again once it can be', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  add(engine, 'a', 1);
  // The next segment is begun, its header is not written, and it cannot be removed: its name stays taken.
  fileSystem.fault = (operation) => (operation === 'create' ? undefined : errorOf('EIO'));
  await expect(disk.flush()).rejects.toThrow('EIO');
  fileSystem.fault = (operation, path) =>
    operation === 'append' || (operation === 'remove' && fileSystem.names.includes(path)) ? errorOf('EIO') : undefined;
  await expect(disk.flush()).rejects.toThrow('EIO');
  fileSystem.fault = () => undefined;
  await disk.flush();
  expect(contentOf((await open(fileSystem.afterPowerFailure(() => 0))).engine)).toBe('a=1');
});

test('a snapshot that cannot be written changes nothing', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  add(engine, 'a', 3);
  await disk.flush();
  fileSystem.fault = (operation, path) =>
    operation === 'append' && path.includes('snapshot') ? errorOf('ENOSPC') : undefined;
  await expect(disk.snapshot()).rejects.toThrow('ENOSPC');
  expect(disk.status()).toMatchObject({ isFailed: false, lastSnapshotFailed: true });
  add(engine, 'a', 1);
  await disk.flush();
  expect(fileSystem.names.filter((name) => name.includes('snapshot'))).toEqual([]);
  expect(contentOf((await open(fileSystem.afterPowerFailure(() => 0))).engine)).toBe('a=4');
});

test('changes written after a segment that failed to open and could not be removed are there after a restart', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
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
    expect(contentOf((await open(left)).engine)).toBe('a=4');
});

test('a snapshot takes the place of the log before it', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  for (let key = 0; key < 500; key++) add(engine, `key-${key}`, 1);
  await disk.flush();
  for (let key = 0; key < 500; key += 2) remove(engine, `key-${key}`);
  await disk.snapshot();
  expect(fileSystem.names).toEqual(['/data/log-0000000002.qdb', '/data/manifest.qdb', '/data/snapshot-0000000002.qdb']);
  add(engine, 'key-1', 1);
  await disk.flush();
  const again = await open(fileSystem.afterPowerFailure(() => 0));
  expect(contentOf(again.engine)).toBe(contentOf(engine));
  expect(disk.status().lastSaveMs).toBe(START_MS);
});

test('the log is folded into a snapshot when it has grown past its bound', async () => {
  const fileSystem = new FaultyFileSystem();
  const taken = new Promise<void>((resolve) => {
    open(fileSystem, { fsync: 1, snapshotLogBytes: 1000, events: { snapshotTaken: () => resolve() } }).then(
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
  const { engine, disk } = await open(fileSystem, {
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
      const { engine } = await open(left);
      const value = counterOf(engine, 'count');
      expect(value).toBeGreaterThanOrEqual(acknowledged.at(-1) ?? 0);
      expect(value).toBeLessThanOrEqual((acknowledged.at(-1) ?? 0) + 10);
      expect(counterOf(engine, 'removed')).toBeLessThanOrEqual(acknowledged.length === 0 ? 1 : 0);
    }
  }
});

/** Flushes and two snapshots, with increments in between; `acknowledged` gets the value after each flush. */
async function scenario(fileSystem: FaultyFileSystem, acknowledged: number[]): Promise<number> {
  const { engine, disk } = await open(fileSystem);
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

test('a node that comes back with a clock behind does not undo an expiry', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  engine.advanceTo(START_MS + 60_000);
  add(engine, 'a', 1);
  await disk.flush();
  expect((await open(fileSystem.afterProcessEnd())).engine.nowMs).toBe(START_MS + 60_000);
});

test('data from a clock far ahead is dated anew, wherever the power fails meanwhile; after it the old dates are gone', async () => {
  const future = Date.UTC(2038, 0, 1);
  const written = new FaultyFileSystem();
  const { engine, disk } = await open(written);
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
  await open(dry, { reDating });
  expect(dry.operations).toBeGreaterThan(10);
  for (let stop = 1; stop <= dry.operations; stop++) {
    const failing = written.afterProcessEnd();
    failing.stopsAfter = stop;
    await open(failing, { reDating }).catch(() => {});
    const left = failing.afterPowerFailure(() => 0.5);
    const again = await open(left, { reDating });
    expectNow(again.engine);
    // The right dates are the only ones on disk.
    expectNow((await open(left.afterPowerFailure(() => 0))).engine);
  }
});

test('more on disk than fits into memory is said with what to do', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem, { engine: makeEngine(1, 4, 32 * 1024 * 1024) });
  for (let key = 0; key < 100_000; key++) add(engine, `a-key-that-takes-some-room-${key}`, 1);
  await disk.flush();
  const small = makeEngine(1, 4, 4 * 1024 * 1024);
  const outcome = await open(fileSystem.afterProcessEnd(), { engine: small }).then(
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
  const { engine, disk } = await open(fileSystem, { engine: makeEngine(1, 4, size), now });
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
    await open(fileSystem.afterProcessEnd(), { engine: again, now: () => at });
    expect(again.nowMs).toBe(at);
    expect(counterOf(again, 'stays')).toBe(7);
    expect(counterOf(again, 'round-3-key-0')).toBe(1);
    expect(counterOf(again, 'renewed')).toBe(at === nowMs ? 40 : 0);
    expect(counterOf(again, 'round-0-key-0')).toBe(0);
  }
});

test('when the power fails, all is there that was counted an interval and a sync before', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    for (const failsAtMs of [130, 255, 377, 499]) {
      const fileSystem = new FaultyFileSystem();
      const { engine, disk } = await open(fileSystem, { fsync: 100 });
      disk.start();
      for (let ms = 1; ms <= failsAtMs; ms++) {
        add(engine, 'a', 1);
        vi.advanceTimersByTime(1);
        // Every step of the disk takes a turn of the event loop: a sync is over well before the next interval.
        for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
      const powerless = await open(fileSystem.afterPowerFailure(() => 0));
      expect(counterOf(powerless.engine, 'a')).toBeGreaterThanOrEqual(failsAtMs - 100 - SYNC_TURNS);
      // Without a power failure only the last 5 ms are missing, which no reply had waited for.
      const killed = await open(fileSystem.afterProcessEnd());
      expect(counterOf(killed.engine, 'a')).toBeGreaterThanOrEqual(failsAtMs - 5 - SYNC_TURNS);
      await disk.close();
    }
  } finally {
    vi.useRealTimers();
  }
});

test('unpublished counts outlive a stop, once, and neither log nor peer ever gets them', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  for (let key = 0; key < 100; key++) {
    openKey(engine, `cell-${key}`, () => engine.addUnpublished(0, key + 1, START_MS + 60_000, START_MS + 90_000));
  }
  openKey(engine, 'over', () => engine.addUnpublished(0, 5, START_MS + 10));
  await disk.close();
  const later = makeEngine();
  later.advanceTo(START_MS + 1000);
  const again = await open(fileSystem, { engine: later, now: () => START_MS + 1000 });
  for (let key = 0; key < 100; key++) expect(counterOf(later, `cell-${key}`)).toBe(key + 1);
  expect(counterOf(later, 'over')).toBe(0);
  expect(openKey(later, 'cell-7', () => later.hasNoComponents)).toBe(true);
  for (let shard = 0; shard < later.shardCount; shard++) expect(later.seen(shard, 0)).toBe(0);
  // The file was read once: after a crash the counts are gone, not old.
  await again.disk.flush();
  expect(contentOf((await open(fileSystem.afterProcessEnd())).engine)).toBe('');
});
