import { readdirSync, readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { Engine } from '@quotadb/engine';
import { expect, test } from 'vitest';
import { Disk } from './disk.js';
import { DamagedFile, StorageError } from './files/errors.js';
import { FILE_HEADER_BYTES, RECORD_HEADER_BYTES, RECORD_MAGIC } from './format/format.js';
import { repair } from './recovery/repair.js';
import { contentOf, counterOf, makeEngine, START_MS } from './testing/counters.js';
import { FaultyFileSystem } from './testing/faulty-file-system.js';

/**
 * Damaged files of a data directory, made from packages/storage/golden and a seed: as by a failing disk, a bad copy or
 * a hex editor. Some get right checksums again, so that the reader of records meets the damage and not the check of the
 * checksum. Of format-3-rounds the manifest is left out: without one every cut must be read.
 */
const CORPORA = [
  { name: 'format-1', shardCount: 4, leastKeys: 10 },
  { name: 'format-3-rounds', shardCount: 16, leastKeys: 15 },
].map((corpus) => {
  const directory = new URL(`../golden/${corpus.name}/`, import.meta.url);
  const names = readdirSync(directory).filter((name) => name !== 'manifest.qdb');
  return { ...corpus, files: new Map(names.sort().map((name) => [name, readFileSync(new URL(name, directory))])) };
});
type Corpus = (typeof CORPORA)[number];
const SEEDS = 200;
const DIRECTORY = '/data';

function random(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * bound);
  };
}

function damage(bytes: Buffer, below: (bound: number) => number): Buffer {
  let changed: Buffer = Buffer.from(bytes);
  for (let left = 1 + below(3); left > 0; left--) {
    const at = below(changed.length);
    const length = 1 + below(Math.min(64, changed.length - at));
    const kind = below(5);
    if (kind === 0) changed[at] ^= 1 << below(8);
    else if (kind === 1) changed = Buffer.from(changed.subarray(0, at));
    else if (kind === 2) changed = Buffer.concat([changed.subarray(0, at), changed.subarray(at + length)]);
    else if (kind === 3) changed.fill(below(256), at, at + length);
    else changed = Buffer.concat([changed.subarray(0, at + length), changed.subarray(at)]);
    if (changed.length === 0) return changed;
  }
  return changed;
}

/** Makes the checksums of the header and of all records fit what they are about. */
function reseal(bytes: Buffer): void {
  if (bytes.length < FILE_HEADER_BYTES) return;
  bytes.writeUInt32LE(crc32(bytes.subarray(8, FILE_HEADER_BYTES)), 4);
  for (let at = bytes.indexOf(RECORD_MAGIC); at >= 0; at = bytes.indexOf(RECORD_MAGIC, at + 1)) {
    if (at + RECORD_HEADER_BYTES > bytes.length) return;
    // Without the bit that says that the round goes on.
    const end = at + RECORD_HEADER_BYTES + (bytes.readUInt32LE(at + 8) % 2 ** 31);
    if (end <= bytes.length) bytes.writeUInt32LE(crc32(bytes.subarray(at + 8, end)), at + 4);
  }
}

function damagedDirectory({ files }: Corpus, seed: number, isResealed: boolean): FaultyFileSystem {
  const below = random(seed);
  const fileSystem = new FaultyFileSystem();
  const victim = [...files.keys()][below(files.size)];
  for (const [name, bytes] of files) {
    const content = name === victim ? damage(bytes, below) : Buffer.from(bytes);
    if (name === victim && isResealed) reseal(content);
    fileSystem.put(`${DIRECTORY}/${name}`, new Uint8Array(content));
  }
  return fileSystem;
}

test.each(CORPORA)('the files of $name that are to be damaged are whole', async ({ files, shardCount, leastKeys }) => {
  const fileSystem = new FaultyFileSystem();
  for (const [name, bytes] of files) fileSystem.put(`${DIRECTORY}/${name}`, new Uint8Array(bytes));
  const engine = makeEngine(1, shardCount);
  const { disk, recovered } = await open(fileSystem, engine);
  expect(engine.keyCount()).toBeGreaterThan(leastKeys);
  expect(recovered.cut).toBeUndefined();
  await disk.close();
});

test.each([
  ['as it is', false],
  ['with checksums that fit', true],
])('a damaged file, %s, is read or refused with its name, and nothing else happens', async (_, isResealed) => {
  let refused = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const corpus = CORPORA[seed % CORPORA.length];
    const fileSystem = damagedDirectory(corpus, seed, isResealed);
    const engine = makeEngine(1, corpus.shardCount);
    try {
      const { disk } = await open(fileSystem, engine);
      contentOf(engine);
      if (!isResealed) expectWhole(engine, `seed ${seed}`);
      await disk.close();
    } catch (error) {
      if (!(error instanceof StorageError)) throw new Error(`seed ${seed}`, { cause: error });
      if (error instanceof DamagedFile) expect(error.message).toContain(DIRECTORY);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(0);
});

/** The transaction of format-3-rounds: in no other file are there these keys. */
function expectWhole(engine: Engine, when: string): void {
  const values = ['one', 'two', 'three', 'four'].map((key) => counterOf(engine, key));
  expect(new Set(values).size, `${when}: ${values}`).toBe(1);
}

test('repair salvages from every damage, or says that it cannot', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const corpus = CORPORA[seed % CORPORA.length];
    const fileSystem = damagedDirectory(corpus, seed, seed % 4 < 2);
    const engine = makeEngine(1, corpus.shardCount);
    try {
      await repair({ directory: DIRECTORY, engine, nowMs: START_MS, fileSystem });
      contentOf(engine);
    } catch (error) {
      if (!(error instanceof StorageError)) throw new Error(`seed ${seed}`, { cause: error });
    }
  }
});

function open(fileSystem: FaultyFileSystem, engine: ReturnType<typeof makeEngine>) {
  return Disk.open({
    directory: DIRECTORY,
    engine,
    fsync: 'never',
    snapshotLogBytes: Number.POSITIVE_INFINITY,
    fileSystem,
    now: () => START_MS,
  });
}
