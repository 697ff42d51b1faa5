import type { Engine } from '@quotadb/engine';
import { Random } from '@quotadb/engine/testing';
import { expect, test } from 'vitest';
import { Disk } from './disk.js';
import { FlushEvents } from './flush-events.js';
import { LogState } from './log/log-state.js';
import { add, counterOf, makeEngine, START_MS } from './testing/counters.js';
import { errorOf, FaultyFileSystem } from './testing/faulty-file-system.js';

const DIRECTORY = '/data';
const KEY = 'key';
/** Enough turns of the event loop for some tens of operations of the disk. */
const TURNS = 300;
/** Schedules of each test. */
const SEEDS = 40;
const MODES = [100, 'always', 'never'] as const;

async function open(fileSystem: FaultyFileSystem, fsync: (typeof MODES)[number], flushes = new FlushEvents()) {
  const engine = makeEngine();
  const now = () => START_MS;
  const options = { directory: DIRECTORY, engine, fsync, snapshotLogBytes: 1e9, fileSystem, now, flushes };
  const { disk } = await Disk.open(options);
  return { engine, disk };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Threads of work that count and ask for writes, flushes and snapshots at any moment, also in the turn of an answer.
 */
class Workers {
  counted = 0;
  written = 0;
  synced = 0;
  private isEnded = false;
  private readonly engine: Engine;
  private readonly disk: Disk;
  private readonly random: Random;
  private readonly working: Promise<void>[];

  constructor(engine: Engine, disk: Disk, random: Random) {
    this.engine = engine;
    this.disk = disk;
    this.random = random;
    this.working = Array.from({ length: 4 }, () => this.work());
  }

  async end(): Promise<void> {
    this.isEnded = true;
    await Promise.all(this.working);
  }

  count(): number {
    add(this.engine, KEY, 1);
    return ++this.counted;
  }

  private async work(): Promise<void> {
    const { disk, random } = this;
    while (!this.isEnded) {
      for (let turns = random.below(4); turns > 0; turns--) await turn();
      const mine = this.count();
      const kind = random.next();
      if (kind < 0.3) {
        await disk.write();
        if (!disk.status().isFailed) this.written = Math.max(this.written, mine);
      } else if (kind < 0.95) {
        await disk.flush({ syncs: true }).then(
          () => {
            this.written = Math.max(this.written, mine);
            this.synced = Math.max(this.synced, mine);
          },
          () => {},
        );
      } else {
        await disk.snapshot().catch(() => {});
      }
    }
  }
}

async function crashUnderLoad(seed: number, fsync: (typeof MODES)[number]): Promise<void> {
  const random = new Random(seed);
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem, fsync);
  fileSystem.turns = () => 1 + random.below(5);
  const failing = random.chance(0.5) ? random.next() * 0.1 : 0;
  fileSystem.fault = (operation) => (operation !== 'remove' && random.chance(failing) ? errorOf('EIO') : undefined);
  fileSystem.shortWriteFraction = random.next();
  const workers = new Workers(engine, disk, random);
  for (let turns = random.below(TURNS); turns > 0; turns--) await turn();
  const isPower = random.chance(0.5);
  // A failure on the way makes what was only written a part of the next segment, which a kill can still prevent.
  const least = isPower || failing > 0 ? workers.synced : workers.written;
  const most = workers.counted;
  const left = isPower ? fileSystem.afterPowerFailure(() => random.next()) : fileSystem.afterProcessEnd();
  fileSystem.fault = () => undefined;
  await workers.end();
  const again = await open(left, fsync);
  const found = counterOf(again.engine, KEY);
  expect(found, `seed ${seed}, fsync ${fsync}`).toBeGreaterThanOrEqual(least);
  expect(found, `seed ${seed}, fsync ${fsync}`).toBeLessThanOrEqual(most);
}

async function stopAfterFailures(seed: number, fsync: (typeof MODES)[number]): Promise<void> {
  const random = new Random(seed);
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem, fsync);
  fileSystem.turns = () => 1 + random.below(5);
  fileSystem.fault = (operation) => (operation !== 'remove' && random.chance(0.1) ? errorOf('EIO') : undefined);
  const workers = new Workers(engine, disk, random);
  for (let turns = random.below(TURNS); turns > 0; turns--) await turn();
  const ending = workers.end();
  if (random.chance(0.5)) await ending;
  // A write of the last moment, and one of a lane, fail; from then on the disk takes everything.
  workers.count();
  const last = disk.write();
  for (let turns = random.below(6); turns > 0; turns--) await turn();
  fileSystem.fault = () => undefined;
  if (random.chance(0.3)) new LogState(engine.shardCount, disk.shared).failure = 5;
  const { counted } = workers;
  const closing = disk.close();
  await Promise.all([ending, last]);
  await expect(closing, `seed ${seed}, fsync ${fsync}`).resolves.toBeUndefined();
  const again = await open(
    fileSystem.afterPowerFailure(() => 0),
    fsync,
  );
  expect(counterOf(again.engine, KEY), `seed ${seed}, fsync ${fsync}`).toBeGreaterThanOrEqual(counted);
}

test.each(MODES)(
  'with --fsync %s a disk that delays and fails at will loses nothing it has confirmed',
  async (fsync) => {
    for (let seed = 1; seed <= SEEDS; seed++) await crashUnderLoad(seed, fsync);
  },
);

test.each(MODES)(
  'with --fsync %s a stop succeeds where the disk works again, whatever failed before',
  async (fsync) => {
    for (let seed = 1; seed <= SEEDS; seed++) await stopAfterFailures(seed, fsync);
  },
);

test('flushes follow each other, also where one is asked for in the turn in which another ends', async () => {
  const flushes = new FlushEvents();
  let underWay = 0;
  let most = 0;
  flushes.subscribe({
    beforeFlush: () => {
      most = Math.max(most, ++underWay);
    },
    afterFlush: () => {
      underWay--;
    },
  });
  const { engine, disk } = await open(new FaultyFileSystem(), 100, flushes);
  const flush = async () => {
    for (let count = 0; count < 20; count++) {
      add(engine, KEY, 1);
      await disk.flush();
    }
  };
  await Promise.all([flush(), flush(), flush()]);
  expect(most).toBe(1);
  await disk.close();
});

test('a snapshot gets its turn however many flushes are asked for', async () => {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem, 'always');
  let isTaken = false;
  const flushing = (async () => {
    for (let flush = 0; flush < 200 && !isTaken; flush++) {
      add(engine, KEY, 1);
      await disk.flush();
    }
  })();
  const taking = disk.snapshot().then(() => {
    isTaken = true;
  });
  await flushing;
  expect(isTaken).toBe(true);
  await taking;
  await disk.close();
});
