import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type SpawnedServer, spawnServer, TestClient } from '../testing/index.js';

const DISK = '512k';

let directory: string;
let disk: string;
let server: SpawnedServer | undefined;

/** Only root may mount, and not in every container. */
const canMount = (() => {
  const probe = mkdtempSync(join(tmpdir(), 'quotadb-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', probe], { stdio: 'ignore' });
    execFileSync('umount', [probe], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { recursive: true });
  }
})();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'quotadb-test-'));
  disk = join(directory, 'disk');
  mkdirSync(disk);
  if (canMount) execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', disk]);
});
afterEach(async () => {
  server?.child.kill('SIGKILL');
  await server?.finished;
  server = undefined;
  if (canMount) execFileSync('umount', [disk]);
  rmSync(directory, { recursive: true });
});

test.skipIf(!canMount)('on a disk that is full writes get an error under always, and reads go on', async () => {
  server = spawnServer(['--data', join(disk, 'data'), '--fsync', 'always']);
  const { resp } = await server.ready();
  const reader = await TestClient.open(resp);
  expect(await reader.call('INCR', 'a')).toBe(':1\r\n');
  const writer = await TestClient.open(resp);
  let refused = '';
  for (let key = 0; refused === ''; key++) {
    const reply = await writer.call('INCR', `${'k'.repeat(10_000)}${key}`);
    if (reply.startsWith('-')) refused = reply;
    else expect(key).toBeLessThan(100);
  }
  expect(refused).toMatch(/^-MISCONF /);
  expect(await reader.call('GET', 'a')).toBe('$1\r\n1\r\n');
  expect(await reader.call('INCR', 'a')).toMatch(/^-MISCONF /);
  server.child.kill('SIGKILL');
  await server.finished;
  // What had been acknowledged is there, once there is room to start in.
  execFileSync('mount', ['-o', 'remount,size=4m', disk]);
  server = spawnServer(['--data', join(disk, 'data')]);
  const again = await TestClient.open((await server.ready()).resp);
  expect(await again.call('GET', 'a')).toBe('$1\r\n1\r\n');
  again.close();
});

test.skipIf(!canMount).each(['20', 'never'])(
  'with --fsync %s a stop on a disk that is full exits with 1 and says since when changes are lost',
  async (fsync) => {
    server = spawnServer(['--data', join(disk, 'data'), '--fsync', fsync]);
    const { resp } = await server.ready();
    const client = await TestClient.open(resp);
    for (let key = 0; key < 100; key++) expect(await client.call('INCR', `${'k'.repeat(10_000)}${key}`)).toBe(':1\r\n');
    client.close();
    server.child.kill('SIGTERM');
    const { code, stderr } = await server.finished;
    expect(code).toBe(1);
    expect(stderr).toMatch(/data could not be written at the stop \(ENOSPC.*\): changes since 20.* are lost/);
  },
);

test.skipIf(!canMount)('a read-only disk is refused at the start, saying why', async () => {
  execFileSync('mount', ['-o', 'remount,ro', disk]);
  server = spawnServer(['--data', disk]);
  const { code, stderr } = await server.finished;
  expect(code).toBe(1);
  expect(stderr).toContain('cannot be used: its file system is read-only');
});
