import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DataDirectory, type DirectoryOptions, readIdentity, writeIdentity } from './data-directory.js';
import { markOldCopy } from './old-copy.js';

let path: string;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'quotadb-test-'));
});
afterEach(() => {
  chmodSync(path, 0o700);
  rmSync(path, { recursive: true });
});

/** As a killed process leaves it: not held any more, and not closed. */
function leave(directory: DataDirectory): void {
  const identity = readFileSync(join(path, 'identity.json'));
  directory.close();
  writeFileSync(join(path, 'identity.json'), identity);
}

function open(options: Partial<DirectoryOptions> = {}): DataDirectory {
  return DataDirectory.open({
    path,
    region: 'us',
    cluster: 'test',
    replicaId: '0123456789abcdef'.repeat(2),
    shardCount: 64,
    keepIncarnation: false,
    ...options,
  });
}

test('replica id and incarnation are made once and stay', () => {
  const first = open();
  expect(first.isNewIncarnation).toBe(true);
  expect(first.origin).toHaveLength(32);
  first.close();
  const again = open();
  expect(again.isNewIncarnation).toBe(false);
  expect(again.identity).toEqual(first.identity);
  again.close();
});

test('another region, another number of shards, another format are refused, saying which', () => {
  open().close();
  expect(() => open({ region: 'eu' })).toThrow(/belongs to region "us", not "eu"/);
  expect(() => open({ cluster: 'other' })).toThrow(/belongs to cluster "test", not "other"/);
  expect(() => open({ shardCount: 32 })).toThrow(/--shards 64/);
  writeIdentity(path, { ...readIdentity(path)!, formatVersion: 99 });
  expect(() => open()).toThrow(/format 99/);
});

test('a directory from before there were clusters goes on as a new incarnation with the id of its region', () => {
  open().close();
  const { cluster: _, ...old } = readIdentity(path)!;
  writeIdentity(path, { ...old, replicaId: 'f'.repeat(32) });
  const directory = open();
  expect(directory.isNewIncarnation).toBe(true);
  expect(directory.identity).toMatchObject({ cluster: 'test', replicaId: '0123456789abcdef'.repeat(2) });
  expect(directory.identity.incarnation).not.toBe(old.incarnation);
  directory.close();
});

test('an identity that cannot be read is not made anew', () => {
  writeFileSync(join(path, 'identity.json'), '{"replicaId":');
  expect(() => open()).toThrow(/identity\.json is not readable/);
});

test('a second opening is refused, naming who has it; after it was closed the directory is free', () => {
  const first = open();
  expect(() => open()).toThrow(`is in use by process ${process.pid}`);
  first.close();
  open().close();
});

test('the lock of a process that was killed does not hold up the next one', async () => {
  const child = spawn(process.execPath, ['-e', 'console.log("up"); setInterval(() => {}, 1000)']);
  await once(child.stdout, 'data');
  const started = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ')[1].split(' ')[19];
  writeFileSync(join(path, 'lock'), `${child.pid} ${started}\n`);
  expect(() => open()).toThrow(`is in use by process ${child.pid}`);
  child.kill('SIGKILL');
  await once(child, 'close');
  open().close();
});

test('a process id that was used again is not taken for the holder', () => {
  writeFileSync(join(path, 'lock'), `${process.ppid} 1\n`);
  open().close();
});

test('where there is flock it decides', () => {
  let isFree = true;
  const flock = () => isFree;
  const first = open({ flock });
  isFree = false;
  expect(() => open({ flock })).toThrow(/is in use by process/);
  first.close();
});

test('a backup starts as a new incarnation of the same replica, unless the old one is gone for good', () => {
  const first = open();
  first.close();
  writeIdentity(path, { ...first.identity, isBackup: true });
  const kept = open({ keepIncarnation: true });
  kept.close();
  expect(kept.identity).toEqual(first.identity);
  writeIdentity(path, { ...first.identity, isBackup: true });
  const second = open();
  second.close();
  expect(second.identity.replicaId).toBe(first.identity.replicaId);
  expect(second.identity.incarnation).not.toBe(first.identity.incarnation);
  expect(open().identity).toEqual(second.identity);
});

test('what was never synced is a new incarnation after the machine went down, and not after the process did', () => {
  const unsynced = { isUnsynced: true, bootId: 'one' };
  const first = open(unsynced);
  leave(first);
  const again = open(unsynced);
  expect(again.identity.incarnation).toBe(first.identity.incarnation);
  leave(again);
  const rebooted = open({ ...unsynced, bootId: 'two' });
  expect(rebooted.isNewIncarnation).toBe(true);
  expect(rebooted.identity).toMatchObject({ replicaId: first.identity.replicaId, unsyncedSinceBoot: 'two' });
  expect(rebooted.identity.incarnation).not.toBe(first.identity.incarnation);
  rebooted.close();
});

test('what was never synced is synced when it is closed, and then goes on as it was', () => {
  const first = open({ isUnsynced: true, bootId: 'one' });
  first.close();
  expect(readIdentity(path)?.unsyncedSinceBoot).toBeUndefined();
  const rebooted = open({ isUnsynced: true, bootId: 'two' });
  expect(rebooted.identity.incarnation).toBe(first.identity.incarnation);
  rebooted.close();
});

test('what a killed process left unsynced stays so while another syncs what it writes', () => {
  leave(open({ isUnsynced: true, bootId: 'one' }));
  const syncing = open({ bootId: 'one' });
  expect(syncing.isNewIncarnation).toBe(false);
  leave(syncing);
  const rebooted = open({ bootId: 'two' });
  expect(rebooted.isNewIncarnation).toBe(true);
  expect(rebooted.identity.unsyncedSinceBoot).toBeUndefined();
  rebooted.close();
});

test.skipIf(process.getuid?.() === 0)('a directory that may not be written to is refused, saying why', () => {
  chmodSync(path, 0o500);
  expect(() => open()).toThrow(/this user may not write to it/);
});

test('a path that is no directory is refused, saying why', () => {
  writeFileSync(join(path, 'file'), '');
  expect(() => open({ path: join(path, 'file') })).toThrow(/it is not a directory/);
});

test('an old copy has the identity that it had until its data is that of the next incarnation', () => {
  open().close();
  const { replicaId, incarnation } = readIdentity(path)!;
  markOldCopy(path, replicaId + incarnation, { segment: 2, previousEnd: 80 }, []);
  const untouched = open({ keepOldCopy: true });
  expect(untouched.identity.incarnation).toBe(incarnation);
  untouched.close();
  // Ends before it is done, also one that writes the identity for another reason.
  const first = open({ isUnsynced: true });
  expect(first).toMatchObject({ isNewIncarnation: true, oldCopy: { base: { segment: 2 } } });
  expect(first.identity.incarnation).not.toBe(incarnation);
  first.close();
  expect(readIdentity(path)?.incarnation).toBe(incarnation);
  const second = open();
  expect(second.identity.incarnation).toBe(first.identity.incarnation);
  second.noteNewIncarnation();
  second.close();
  const third = open();
  expect(third).toMatchObject({ isNewIncarnation: false, oldCopy: undefined });
  expect(third.identity.incarnation).toBe(first.identity.incarnation);
  third.close();
});

test('a mark of another incarnation is none, and one that is damaged stops the start', () => {
  open().close();
  markOldCopy(path, 'f'.repeat(64), { segment: 2, previousEnd: 80 }, []);
  const directory = open();
  expect(directory.isNewIncarnation).toBe(false);
  directory.close();
  writeFileSync(join(path, 'old-copy.json'), '{"origin":');
  expect(() => open()).toThrow(/old-copy.json is damaged. Remove it/);
});
