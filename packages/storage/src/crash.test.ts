import { Random } from '@quotadb/engine/testing';
import { expect, test } from 'vitest';
import { Disk } from './disk.js';
import { logPath } from './files/file-names.js';
import { FILE_HEADER_BYTES } from './format/format.js';
import { type Manifest, readManifest } from './log/manifest.js';
import { add, counterOf, makeEngine, START_MS } from './testing/counters.js';
import { errorOf, FaultyFileSystem } from './testing/faulty-file-system.js';

const DIRECTORY = '/data';
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
const STEPS = 60;

/** How often each key was counted: all, what the system has, and what was synced. */
interface Counts {
  readonly [key: string]: number;
}

async function open(fileSystem: FaultyFileSystem) {
  const engine = makeEngine();
  const options = { directory: DIRECTORY, engine, fsync: 100, snapshotLogBytes: 1e9, fileSystem, now: () => START_MS };
  const { disk } = await Disk.open(options);
  return { engine, disk };
}

/**
 * Counts, writes, flushes and snapshots in any order, some of them at once, on a disk that fails now and then; then the
 * process is killed or the power fails, and a new process goes on with the same disk.
 */
async function schedule(seed: number): Promise<void> {
  const random = new Random(seed);
  let fileSystem = new FaultyFileSystem();
  let { engine, disk } = await open(fileSystem);
  let counted: Counts = {};
  let written: Counts = {};
  let synced: Counts = {};
  for (let step = 0; step < STEPS; step++) {
    const key = random.pick(KEYS);
    add(engine, key, 1);
    counted = { ...counted, [key]: (counted[key] ?? 0) + 1 };
    const now = counted;
    const isFailing = random.chance(0.1);
    fileSystem.shortWriteFraction = random.next();
    fileSystem.fault = (operation) => (isFailing && operation !== 'remove' ? errorOf('EIO') : undefined);
    const work = [];
    if (random.chance(0.5)) {
      work.push(
        disk.write().then(() => {
          if (!disk.status().isFailed) written = larger(written, now);
        }),
      );
    }
    if (random.chance(0.3)) {
      work.push(
        disk.flush().then(
          () => {
            written = larger(written, now);
            synced = larger(synced, now);
          },
          () => {},
        ),
      );
    }
    if (random.chance(0.05)) work.push(disk.snapshot().catch(() => {}));
    await Promise.all(work);
    fileSystem.fault = () => undefined;
    if (disk.status().isFailed) await disk.flush();
    if (!random.chance(0.15)) continue;
    const isPower = random.chance(0.5);
    fileSystem = isPower ? fileSystem.afterPowerFailure(() => random.next()) : fileSystem.afterProcessEnd();
    if (random.chance(0.3)) await refuseDamaged(fileSystem, random);
    ({ engine, disk } = await open(fileSystem));
    const found: Counts = Object.fromEntries(KEYS.map((each) => [each, counterOf(engine, each)]));
    for (const each of KEYS) {
      const least = (isPower ? synced : written)[each] ?? 0;
      expect(found[each], `seed ${seed}, step ${step}, ${each}`).toBeGreaterThanOrEqual(least);
      expect(found[each], `seed ${seed}, step ${step}, ${each}`).toBeLessThanOrEqual(counted[each] ?? 0);
    }
    // All that was read back counts as durable from here on, whatever happens next.
    counted = found;
    written = found;
    synced = found;
  }
}

/** The newest segment disappears, or a part of it that was synced: no server starts from the rest. */
async function refuseDamaged(fileSystem: FaultyFileSystem, random: Random): Promise<void> {
  const left = fileSystem.afterProcessEnd();
  const { number, synced } = (await readManifest(left, DIRECTORY)) as Manifest;
  const path = logPath(DIRECTORY, number);
  if (random.chance(0.5) || synced === FILE_HEADER_BYTES) await left.remove(path);
  else await left.truncate(path, FILE_HEADER_BYTES + random.below(synced - FILE_HEADER_BYTES));
  await expect(open(left)).rejects.toThrow(/is missing|ends at byte/);
}

function larger(one: Counts, other: Counts): Counts {
  return Object.fromEntries(KEYS.map((key) => [key, Math.max(one[key] ?? 0, other[key] ?? 0)]));
}

test('in any order, a killed process loses nothing written, and a power failure nothing synced', async () => {
  for (let seed = 1; seed <= 30; seed++) await schedule(seed);
});
