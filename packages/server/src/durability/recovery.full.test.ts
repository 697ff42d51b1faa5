import { mkdir, mkdtemp, readdir, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { encodeCommand, type SpawnedServer, spawnServer, TestClient } from '../testing/index.js';

const RECOVERY_TIMEOUT_MS = 120_000;
/** More than the memory of SMALL_MEMORY holds at once. */
const EXPIRING_KEYS = 600_000;
const KEYS_AT_ONCE = 20_000;
const SMALL_MEMORY = ['--max-memory', '32mb'];

let directory: string;
let server: SpawnedServer | undefined;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-recovery-'));
});
afterEach(async () => {
  server?.child.kill('SIGKILL');
  await server?.finished;
  server = undefined;
  await rm(directory, { recursive: true });
});

async function start(flags: readonly string[] = []): Promise<TestClient> {
  server = spawnServer(['--data', directory, ...flags]);
  return TestClient.open((await server.ready()).resp);
}

async function kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  server?.child.kill(signal);
  await server?.finished;
}

async function newestLog(): Promise<string> {
  const logs = (await readdir(directory)).filter((name) => name.startsWith('log-')).sort();
  return join(directory, logs.at(-1) as string);
}

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'a server whose keys have come and gone starts again after %s, with the memory that it had',
  async (signal) => {
    const client = await start(SMALL_MEMORY);
    await client.call('SET', 'stays', 7);
    for (let key = 0; key < EXPIRING_KEYS; key += KEYS_AT_ONCE) {
      client.write(
        Array.from({ length: KEYS_AT_ONCE }, (_, at) => encodeCommand('SET', `key-${key + at}`, 1, 'PX', 200)).join(''),
      );
      for (let at = 0; at < KEYS_AT_ONCE; at++) expect(await client.reply()).toBe('+OK\r\n');
      await vi.waitFor(async () => expect(await client.call('DBSIZE')).toBe(':1\r\n'), { timeout: 10_000 });
    }
    client.close();
    await kill(signal);
    const again = await start(SMALL_MEMORY);
    expect(await again.call('GET', 'stays')).toBe('$1\r\n7\r\n');
    again.close();
  },
  RECOVERY_TIMEOUT_MS,
);

test.each(['missing', 'cut'] as const)(
  'a newest log that is %s is noticed: the server names it and does not start',
  async (damage) => {
    const client = await start(['--fsync', '20']);
    for (let count = 0; count < 200; count++) await client.call('INCR', 'a');
    expect(await client.call('WAITAOF', 1, 0, 0)).toBe('*2\r\n:1\r\n:0\r\n');
    client.close();
    await kill('SIGKILL');
    const path = await newestLog();
    if (damage === 'missing') await rm(path);
    else await truncate(path, Math.floor((await stat(path)).size * 0.8));
    server = spawnServer(['--data', directory]);
    const { code, stderr } = await server.finished;
    expect(code).toBe(1);
    expect(stderr).toContain(path);
    expect(stderr).toMatch(/were synced.*quotadb repair/);
  },
  RECOVERY_TIMEOUT_MS,
);

test('a directory that is removed under a server makes it refuse writes within seconds under always', async () => {
  const client = await start(['--fsync', 'always']);
  expect(await client.call('INCR', 'a')).toBe(':1\r\n');
  for (const name of await readdir(directory)) await rm(join(directory, name));
  await rm(directory, { recursive: true });
  await vi.waitFor(async () => expect(await client.call('INCR', 'b')).toMatch(/^-MISCONF /), { timeout: 10_000 });
  client.close();
  await mkdir(directory);
});

test('a log file that is removed under a server costs nothing: a snapshot takes its place', async () => {
  const client = await start();
  await client.call('SET', 'a', 41);
  await client.call('WAITAOF', 1, 0, 0);
  await rm(await newestLog());
  await vi.waitFor(
    async () => expect((await readdir(directory)).some((name) => /^snapshot-\d+\.qdb$/.test(name))).toBe(true),
    { timeout: 10_000 },
  );
  expect(await client.call('INCR', 'a')).toBe(':42\r\n');
  client.close();
  await kill('SIGKILL');
  const again = await start();
  expect(await again.call('GET', 'a')).toBe('$2\r\n42\r\n');
  again.close();
});

test('rate counts below the publish threshold, and buckets, outlive a restart of a server with peers', async () => {
  const flags = ['--region', 'eu', '--peer', 'us=127.0.0.1:1'];
  const client = await start(flags);
  const hour = 3_600_000;
  expect(await client.call('RATE.LIMIT', 'someone', 1000, hour, 30)).toMatch(/^\*5\r\n:1\r\n:1000\r\n:970\r\n/);
  expect(await client.call('RATE.GCRA', 'bucket', 9, 10, hour, 6)).toMatch(/^\*5\r\n:1\r\n:10\r\n:4\r\n/);
  client.close();
  await kill('SIGTERM');
  const again = await start(flags);
  expect(await again.call('RATE.LIMIT', 'someone', 1000, hour, 1)).toMatch(/^\*5\r\n:1\r\n:1000\r\n:969\r\n/);
  expect(await again.call('RATE.GCRA', 'bucket', 9, 10, hour, 1)).toMatch(/^\*5\r\n:1\r\n:10\r\n:3\r\n/);
  again.close();
});

test('a directory whose files were removed one and all is not taken for an empty one', async () => {
  const client = await start();
  await client.call('INCR', 'a');
  client.close();
  await kill('SIGTERM');
  for (const name of await readdir(directory)) if (name.endsWith('.qdb')) await rm(join(directory, name));
  server = spawnServer(['--data', directory]);
  const { code, stderr } = await server.finished;
  expect(code).toBe(1);
  expect(stderr).toContain('manifest.qdb is missing');
});
