import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Batch, batchSince, type Engine, Merge, OWN_ORIGIN } from '@quotadb/engine';
import { expect, test } from 'vitest';
import { FORMAT_VERSION } from './format/format.js';
import { type Identity, readIdentity, writeIdentity } from './identity/data-directory.js';
import { add, contentOf, makeEngine, openKey, remove, START_MS } from './testing/counters.js';
import { FaultyFileSystem } from './testing/faulty-file-system.js';
import { DIRECTORY, openDisk } from './testing/open-disk.js';

/**
 * Files of every format that this release reads, in packages/storage/golden, held to their content and, for the format
 * that it writes, to every byte. UPDATE_GOLDEN=1 writes those anew: only together with a new FORMAT_VERSION, and with
 * the files of the old format kept.
 */
const golden = fileURLToPath(new URL('../golden', import.meta.url));
const isUpdate = process.env.UPDATE_GOLDEN === '1';
const EXPIRES_AT_MS = START_MS + 3_600_000;

const IDENTITY: Identity = {
  replicaId: '00112233445566778899aabbccddeeff',
  incarnation: 'ffeeddccbbaa99887766554433221100',
  region: 'eu',
  cluster: 'golden',
  shardCount: 4,
  formatVersion: 2,
  isBackup: true,
  unsyncedSinceBoot: 'b0071d00-0000-4000-8000-000000000000',
};

const CONTENT = 'a-sum=7 expires=3 large=4294967301 negative=-2 prefixed-1=1 prefixed-2=2';

const SNAPSHOT_CONTENT = `a-sum=7 after-snapshot=1${CONTENT.slice('a-sum=7'.length)}`;

const ROUNDS_CONTENT = [
  'four=7 key-0=0 key-1=1 key-10=10 key-11=11 key-2=2 key-3=3 key-4=4 key-5=5 key-6=6 key-7=7 key-8=8 key-9=9 one=7',
  'three=7 two=7',
].join(' ');

const FORMAT_1_CONTENT = [
  'key-0=7 key-1=1007 key-10=10000 key-11=11000 key-12=-12 key-13=13000 key-14=14000 key-15=-15 key-16=16000',
  'key-17=17000 key-18=-18 key-19=19000 key-2=2007 key-3=7 key-5=5000 key-6=-6 key-7=7000 key-8=8000 key-9=-9',
  'later-0=1099511627776 later-1=1099511627777 later-10=1099511627786 later-11=1099511627787 later-2=1099511627778',
  'later-3=1099511627779 later-4=1099511627780 later-5=1099511627781 later-6=1099511627782 later-7=1099511627783',
  'later-8=1099511627784 later-9=1099511627785',
].join(' ');

/** Of a log whose rounds have several records: more shards than are written at once. */
const ROUNDS = { shardCount: 16, recordBytes: 32 };

function open(fileSystem: FaultyFileSystem, { shardCount = 4, recordBytes = 1024 * 1024 } = {}) {
  return openDisk(fileSystem, { engine: makeEngine(1, shardCount), recordBytes });
}

function receive(merge: Merge, other: Engine): void {
  const batch = new Batch();
  for (let shard = 0; shard < other.shardCount; shard++) {
    batchSince(other, shard, OWN_ORIGIN, 0, batch);
    if (batch.count > 0) merge.apply(batch);
  }
}

/**
 * Own and foreign components, a dropped one, a removed one, a cancel, an expiry, large, negative and prefixed ones: in
 * a log, and in a snapshot with a log behind it.
 */
async function writeFiles(): Promise<{ early: FaultyFileSystem; late: FaultyFileSystem }> {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem);
  const other = makeEngine(2);
  add(engine, 'prefixed-1', 1);
  add(engine, 'prefixed-2', 2);
  add(engine, 'large', 2 ** 32 + 5);
  add(engine, 'negative', -2);
  add(engine, 'removed', 9);
  openKey(engine, 'expires', () => {
    engine.add(0, 3);
    engine.expireAt(EXPIRES_AT_MS);
  });
  await disk.flush();
  add(other, 'a-sum', 3);
  add(other, 'cancelled', 8);
  add(other, 'dropped', 8);
  const merge = new Merge(engine);
  receive(merge, other);
  await disk.flush();
  expect(merge.dropGone(1, Buffer.from('dropped'), Number.MAX_SAFE_INTEGER, true)).toBe(true);
  add(engine, 'a-sum', 4);
  remove(engine, 'removed');
  remove(engine, 'cancelled');
  await disk.flush();
  const early = fileSystem.afterProcessEnd();
  await disk.snapshot();
  add(engine, 'after-snapshot', 1);
  await disk.flush();
  return { early, late: fileSystem.afterProcessEnd() };
}

/** Two rounds of several records, the second with a transaction. */
async function writeRounds(): Promise<FaultyFileSystem> {
  const fileSystem = new FaultyFileSystem();
  const { engine, disk } = await open(fileSystem, ROUNDS);
  for (let key = 0; key < 12; key++) add(engine, `key-${key}`, key);
  await disk.flush();
  engine.lockAll();
  for (const key of ['one', 'two', 'three', 'four']) add(engine, key, 7);
  engine.unlock();
  await disk.flush();
  return fileSystem.afterProcessEnd();
}

function readGolden(directory: string): FaultyFileSystem {
  const fileSystem = new FaultyFileSystem();
  for (const name of readdirSync(join(golden, directory)))
    fileSystem.put(`${DIRECTORY}/${name}`, new Uint8Array(readFileSync(join(golden, directory, name))));
  return fileSystem;
}

function expectSame(written: FaultyFileSystem, directory: string): void {
  if (isUpdate) {
    mkdirSync(join(golden, directory), { recursive: true });
    for (const name of written.names)
      writeFileSync(join(golden, directory, name.slice(DIRECTORY.length + 1)), written.contentOf(name));
  }
  const expected = readGolden(directory);
  expect(written.names).toEqual(expected.names);
  for (const name of written.names)
    expect(Buffer.from(written.contentOf(name)).toString('hex')).toBe(
      Buffer.from(expected.contentOf(name)).toString('hex'),
    );
}

test('this release writes logs and snapshots of the newest format byte by byte as before', async () => {
  const { early, late } = await writeFiles();
  expectSame(early, `format-${FORMAT_VERSION}-log`);
  expectSame(late, `format-${FORMAT_VERSION}-snapshot`);
  expectSame(await writeRounds(), `format-${FORMAT_VERSION}-rounds`);
});

test.each([
  ['format-1', FORMAT_1_CONTENT],
  ['format-2-log', CONTENT],
  ['format-2-snapshot', SNAPSHOT_CONTENT],
  ['format-3-log', CONTENT],
  ['format-3-snapshot', SNAPSHOT_CONTENT],
  ['format-3-rounds', ROUNDS_CONTENT, ROUNDS],
])('this release reads %s to the same counters', async (directory, content, shards?: typeof ROUNDS) => {
  const { engine, disk, recovered } = await open(readGolden(directory), shards);
  expect(recovered.cut).toBeUndefined();
  expect(contentOf(engine)).toBe(content);
  await disk.close();
});

test('an expiry in a file of format 2 is read to the same time', async () => {
  const { engine, disk } = await open(readGolden('format-2-log'));
  openKey(engine, 'expires', () => expect(engine.expiresAtMs).toBe(EXPIRES_AT_MS));
  await disk.close();
});

test('the identity of a data directory is written byte by byte as before, and read back', () => {
  const directory = mkdtempSync(join(tmpdir(), 'quotadb-golden-'));
  try {
    writeIdentity(directory, IDENTITY);
    const written = readFileSync(join(directory, 'identity.json'), 'utf8');
    if (isUpdate) {
      mkdirSync(join(golden, 'identity'), { recursive: true });
      writeFileSync(join(golden, 'identity/identity.json'), written);
    }
    expect(written).toBe(readFileSync(join(golden, 'identity/identity.json'), 'utf8'));
    expect(readIdentity(join(golden, 'identity'))).toEqual(IDENTITY);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
