import { readdirSync, readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { Batch, batchSince, Component, Engine, Merge, OWN_ORIGIN } from '@quotadb/engine';
import { checkConsistency, Random, recordOf } from '@quotadb/engine/testing';
import { expect, test } from 'vitest';
import { Disk } from '../disk.js';
import { StorageError } from '../files/errors.js';
import { RECORD_HEADER_BYTES, RECORD_MAGIC } from '../format/format.js';
import { Section } from '../format/sections.js';
import { add, contentOf, makeEngine, openKey, remove, START_MS } from '../testing/counters.js';
import { FaultyFileSystem } from '../testing/faulty-file-system.js';
import { recover } from './recover.js';

/** Threads run what `npm run build` made. */
const DIRECTORY = '/data';
const THREADS = 3;
const HOUR_MS = 3_600_000;

function makeShared(shardCount: number, maxMemoryBytes = 8 * 1024 * 1024): Engine {
  const origin = new Uint8Array(32);
  origin[0] = 1;
  return Engine.format({ maxMemoryBytes, shardCount, origin, nowMs: START_MS, shared: true });
}

interface Outcome {
  readonly content: string;
  readonly digests: readonly string[];
  readonly components: number;
  readonly quarantined: readonly string[];
}

/** What a start on this many threads finds, or why it does not start. */
async function start(disk: FaultyFileSystem, shardCount: number, threads: number): Promise<Outcome | string> {
  const fileSystem = disk.afterProcessEnd();
  const engine = makeShared(shardCount);
  try {
    const recovered = await recover({ fileSystem, directory: DIRECTORY, engine, nowMs: START_MS + 1, threads });
    checkConsistency(engine);
    const { path } = recovered.quarantined ?? {};
    const lines = path === undefined ? '' : Buffer.from(fileSystem.contentOf(path)).toString();
    const { components } = recovered;
    return {
      content: contentOf(engine),
      digests: digestsOf(engine),
      components,
      quarantined: lines.split('\n').sort(),
    };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return error.message;
  }
}

/** By origin and shard. */
function digestsOf(engine: Engine): string[] {
  const digests: string[] = [];
  for (let origin = 0; origin < engine.origins.count; origin++) {
    const name = Buffer.from(engine.origins.idOf(origin)).toString('hex');
    for (let shard = 0; shard < engine.shardCount; shard++) {
      const { version, digest } = engine.digestAt(shard, origin);
      digests.push(`${name} ${shard} ${version} ${digest}`);
    }
  }
  return digests.sort();
}

async function expectSame(disk: FaultyFileSystem, shardCount: number): Promise<Outcome | string> {
  const onOne = await start(disk, shardCount, 1);
  expect(await start(disk, shardCount, THREADS)).toEqual(onOne);
  return onOne;
}

function readGolden(name: string): FaultyFileSystem {
  const directory = new URL(`../../golden/${name}/`, import.meta.url);
  const fileSystem = new FaultyFileSystem();
  for (const file of readdirSync(directory))
    fileSystem.put(`${DIRECTORY}/${file}`, new Uint8Array(readFileSync(new URL(file, directory))));
  return fileSystem;
}

test.each([
  ['format-1', 4],
  ['format-2-snapshot', 4],
  ['format-3-log', 4],
  ['format-3-snapshot', 4],
  ['format-3-rounds', 16],
])('several threads restore %s to what one does', async (name, shardCount) => {
  expect(await expectSame(readGolden(name), shardCount)).toMatchObject({ content: expect.stringContaining('=') });
});

/** A snapshot and a log behind it: own and foreign components, expiries, removals, keys that come and go. */
async function writeHistory(random: Random): Promise<FaultyFileSystem> {
  const fileSystem = new FaultyFileSystem();
  const engine = makeEngine(1, 16);
  const others = [makeEngine(2, 16), makeEngine(3, 16)];
  const merge = new Merge(engine);
  let nowMs = START_MS;
  const options = { directory: DIRECTORY, engine, fsync: 100, snapshotLogBytes: Number.POSITIVE_INFINITY, fileSystem };
  const { disk } = await Disk.open({ ...options, recordBytes: 64, now: () => nowMs });
  for (let round = 0; round < 60; round++) {
    nowMs += 1000;
    for (const one of [engine, ...others]) one.advanceTo(nowMs);
    for (let change = 0; change < 40; change++) changeOne(random, engine, nowMs);
    // The first rounds are a node's alone: there expired keys are dropped while they are restored.
    if (round > 30) receive(random, merge, others[round % others.length], nowMs);
    await disk.flush();
    if (round === 20) await disk.snapshot();
  }
  return fileSystem.afterProcessEnd();
}

function changeOne(random: Random, engine: Engine, nowMs: number): void {
  const key = `key-${random.below(500)}`;
  const kind = random.below(10);
  if (kind === 0) remove(engine, key);
  else if (kind === 1) add(engine, key, -random.below(1000));
  else
    openKey(engine, key, () => {
      engine.add(0, random.below(1000));
      if (kind === 2) engine.expireAt(nowMs + random.below(HOUR_MS / 60));
    });
}

function receive(random: Random, merge: Merge, other: Engine, nowMs: number): void {
  for (let change = 0; change < 10; change++) changeOne(random, other, nowMs);
  for (let shard = 0; shard < other.shardCount; shard++)
    merge.apply(batchSince(other, shard, OWN_ORIGIN, 0, new Batch()));
}

test('several threads restore a snapshot and the log behind it to what one does', async () => {
  for (let seed = 1; seed <= 3; seed++) {
    const outcome = await expectSame(await writeHistory(new Random(seed)), 16);
    expect(outcome).toMatchObject({ content: expect.stringContaining('key-') });
  }
});

test('where the content of a record is wrong, several threads name the file and the place that one does', async () => {
  const whole = await writeHistory(new Random(4));
  for (const name of whole.names.filter((name) => /log|snapshot/.test(name))) {
    const damaged = whole.afterProcessEnd();
    const offset = spoil(damaged.contentOf(name));
    for (const threads of [1, THREADS])
      expect(await start(damaged, 16, threads)).toContain(`${name} is damaged at byte ${offset}`);
  }
});

/** A section in the middle of a file says that it has more components than there are; the checksum is right. */
function spoil(content: Uint8Array): number {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const at = bytes.lastIndexOf(RECORD_MAGIC, bytes.length >> 1);
  const word = bytes.readUInt32LE(at + 8);
  const isOwn = bytes[at + RECORD_HEADER_BYTES] === Section.own;
  bytes[at + RECORD_HEADER_BYTES + (isOwn ? 11 : 43)] = 127;
  const end = at + RECORD_HEADER_BYTES + (word % 2 ** 31);
  bytes.writeUInt32LE(crc32(bytes.subarray(at + 8, end)), at + 4);
  return at;
}

test('components that cannot be restored are kept, by whichever thread they were left out', async () => {
  const fileSystem = new FaultyFileSystem();
  const engine = makeEngine(1, 16);
  const options = { directory: DIRECTORY, engine, fsync: 100, snapshotLogBytes: Number.POSITIVE_INFINITY, fileSystem };
  const { disk } = await Disk.open({ ...options, now: () => START_MS });
  const keys = Array.from({ length: 40 }, (_, index) => `key-${index}`);
  for (const key of keys) add(engine, key, 1);
  for (const key of keys.slice(0, 20)) engine.store.memory[recordOf(engine, key).record + Component.stemOrKey] ^= 0xff;
  await disk.flush();
  const outcome = await expectSame(fileSystem, 16);
  if (typeof outcome === 'string') throw new Error(outcome);
  expect(outcome.quarantined.filter((line) => line.includes('its key is not one of shard')).length).toBeGreaterThan(10);
});

test('where memory is too small, several threads say so as one does', async () => {
  const fileSystem = new FaultyFileSystem();
  const engine = makeEngine(1, 16, 32 * 1024 * 1024);
  const options = { directory: DIRECTORY, engine, fsync: 100, snapshotLogBytes: Number.POSITIVE_INFINITY, fileSystem };
  const { disk } = await Disk.open({ ...options, now: () => START_MS });
  for (let key = 0; key < 100_000; key++) add(engine, `a key that is rather long, number ${key}`, 1);
  await disk.snapshot();
  expect(await expectSame(fileSystem, 16)).toContain('start with a larger --max-memory');
});

test('a start with so much to restore that all cores do it restores all of it', async () => {
  const fileSystem = new FaultyFileSystem();
  const origin = new Uint8Array(32).fill(1);
  const format = () => Engine.format({ maxMemoryBytes: 64 * 1024 * 1024, origin, nowMs: START_MS, shared: true });
  const engine = format();
  const options = { directory: DIRECTORY, fsync: 100, snapshotLogBytes: Number.POSITIVE_INFINITY, fileSystem };
  const { disk } = await Disk.open({ ...options, engine, now: () => START_MS });
  const filler = 'x'.repeat(200);
  for (let key = 0; key < 50_000; key++) add(engine, `${key}${filler}`, key);
  await disk.snapshot();
  const restarted = format();
  await recover({ fileSystem: fileSystem.afterProcessEnd(), directory: DIRECTORY, engine: restarted, nowMs: START_MS });
  expect(restarted.keyCount()).toBe(50_000);
  expect(digestsOf(restarted)).toEqual(digestsOf(engine));
  checkConsistency(restarted);
});
