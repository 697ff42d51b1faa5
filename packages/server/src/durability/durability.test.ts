import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Configuration } from '@quotadb/config';
import { systemClock } from '@quotadb/resp';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { encodeCommand, HeldDisk, startTestServer, TestClient, type TestServer } from '../testing/index.js';

let directory: string;
const servers: TestServer[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-test-'));
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  await rm(directory, { recursive: true });
});

async function start(settings: Partial<Configuration>, disk?: HeldDisk): Promise<TestServer> {
  const dataDirectory = join(directory, 'data');
  const server = await startTestServer({ dataDirectory, ...settings }, systemClock, disk);
  servers.push(server);
  return server;
}

async function stop(server: TestServer): Promise<void> {
  servers.splice(servers.indexOf(server), 1);
  await server.stop();
}

/** Resolves to false if the reply is not there after everything that was under way has had its chance. */
async function hasReply(reply: Promise<string>, other: TestClient): Promise<boolean> {
  let arrived = false;
  reply.then(() => {
    arrived = true;
  });
  for (let round = 0; round < 5; round++) await other.call('PING');
  return arrived;
}

test('with --fsync always a reply leaves only when its change is on disk; reads of others go on', async () => {
  const disk = new HeldDisk();
  const { port } = await start({ fsync: 'always' }, disk);
  const [writer, reader] = [await TestClient.open(port), await TestClient.open(port)];
  disk.hold();
  const reply = writer.call('INCR', 'a');
  await vi.waitFor(() => expect(disk.waiting).toBe(1));
  expect(await hasReply(reply, reader)).toBe(false);
  expect(await reader.call('GET', 'a')).toBe('$1\r\n1\r\n');
  disk.release();
  expect(await reply).toBe(':1\r\n');
  writer.close();
  reader.close();
});

test('what several connections changed meanwhile goes to disk with one fsync', async () => {
  const disk = new HeldDisk();
  const { port } = await start({ fsync: 'always' }, disk);
  const clients = await Promise.all(Array.from({ length: 20 }, () => TestClient.open(port)));
  disk.hold();
  const first = clients[0].call('INCR', 'a');
  await vi.waitFor(() => expect(disk.waiting).toBe(1));
  const others = clients.slice(1).map((client) => client.call('INCR', 'a'));
  const probe = await TestClient.open(port);
  await vi.waitFor(async () => expect(await probe.call('GET', 'a')).toBe('$2\r\n20\r\n'));
  const before = disk.syncs;
  disk.release();
  await Promise.all([first, ...others]);
  // The one that was held, one for all the others, and perhaps one more for a lane that was late.
  expect(disk.syncs - before).toBeLessThanOrEqual(4);
  for (const client of [...clients, probe]) client.close();
});

test('replies of one connection keep their order though some wait for the disk', async () => {
  const { port } = await start({ fsync: 'always' });
  const client = await TestClient.open(port);
  const commands = Array.from({ length: 300 }, () => encodeCommand('INCR', 'a') + encodeCommand('GET', 'a'));
  client.write(commands.join('') + encodeCommand('PING'));
  for (let count = 1; count <= 300; count++) {
    expect(await client.reply()).toBe(`:${count}\r\n`);
    expect(await client.reply()).toBe(`$${String(count).length}\r\n${count}\r\n`);
  }
  expect(await client.reply()).toBe('+PONG\r\n');
  client.write(`${encodeCommand('INCR', 'a')}${encodeCommand('QUIT')}`);
  expect(await client.rest()).toBe(':301\r\n+OK\r\n');
});

test('a write whose fsync fails is answered with an error, further writes are refused, reads go on', async () => {
  const disk = new HeldDisk();
  const { port } = await start({ fsync: 'always' }, disk);
  const reader = await TestClient.open(port);
  await reader.call('INCR', 'a');
  disk.error = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
  const writer = await TestClient.open(port);
  writer.write(encodeCommand('INCR', 'a'));
  expect(await writer.rest()).toMatch(/^-MISCONF Errors writing to disk.*\r\n$/);
  expect(await reader.call('INCR', 'a')).toMatch(/^-MISCONF /);
  expect(await reader.call('GET', 'a')).toMatch(/^\$1\r\n/);
  const info = await reader.call('INFO', 'persistence');
  expect(info).toContain('aof_last_write_status:err');
  expect(info).toContain('quotadb_writes_refused:1');
  disk.error = undefined;
  await vi.waitFor(async () => expect(await reader.call('INCR', 'b')).toBe(':1\r\n'), { timeout: 10_000 });
  expect(await reader.call('INFO', 'persistence')).toContain('aof_last_write_status:ok');
  reader.close();
});

test('with an interval writes go on in memory while the disk fails, INFO says so, and it catches up', async () => {
  const disk = new HeldDisk();
  const server = await start({ fsync: 10 }, disk);
  const client = await TestClient.open(server.port);
  disk.error = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  await client.call('INCR', 'a');
  await vi.waitFor(async () => expect(await client.call('INFO', 'persistence')).toContain('aof_last_write_status:err'));
  expect(await client.call('INCR', 'a')).toBe(':2\r\n');
  expect(await client.call('WAITAOF', 1, 0, 100)).toBe('*2\r\n:0\r\n:0\r\n');
  disk.error = undefined;
  await vi.waitFor(async () => expect(await client.call('WAITAOF', 1, 0, 1000)).toBe('*2\r\n:1\r\n:0\r\n'));
  client.close();
  await stop(server);
  const again = await TestClient.open((await start({})).port);
  expect(await again.call('GET', 'a')).toBe('$1\r\n2\r\n');
  again.close();
});

test('under always a slow disk makes writers wait and no one else, and a stop loses nothing', async () => {
  const disk = new HeldDisk();
  const server = await start({ fsync: 'always' }, disk);
  const client = await TestClient.open(server.port);
  disk.hold();
  client.write(encodeCommand('INCR', 'a').repeat(100));
  await vi.waitFor(() => expect(disk.waiting).toBe(1));
  const stopped = stop(server);
  disk.release();
  await stopped;
  expect((await client.rest()).split('\r\n')).toHaveLength(101);
});

test('a stop that cannot write the last changes says so, and since when they are lost', async () => {
  const disk = new HeldDisk();
  const server = await start({ fsync: 10 }, disk);
  const client = await TestClient.open(server.port);
  disk.error = Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO' });
  await client.call('INCR', 'a');
  client.close();
  await expect(stop(server)).rejects.toThrow(/could not be written at the stop \(EIO.*changes since 20.* are lost/);
});

test('WAITAOF answers when the disk has it, also with --fsync never', async () => {
  const disk = new HeldDisk();
  const { port } = await start({ fsync: 'never' }, disk);
  const client = await TestClient.open(port);
  await client.call('INCR', 'a');
  const before = disk.syncs;
  expect(await client.call('WAITAOF', 1, 0, 0)).toBe('*2\r\n:1\r\n:0\r\n');
  expect(disk.syncs).toBe(before + 1);
  expect(await client.call('WAITAOF', 0, 0, 0)).toBe('*2\r\n:0\r\n:0\r\n');
  expect(await client.call('WAITAOF', 1, 1, 50)).toBe('*2\r\n:1\r\n:0\r\n');
  client.close();
});

test('everything is there after a stop and a start: values, expiries, what was deleted stays deleted', async () => {
  const server = await start({});
  const client = await TestClient.open(server.port);
  await client.call('MSET', 'a', 5, 'b', -7, 'c', '9223372036854775807');
  await client.call('SET', 'd', 3, 'PXAT', 4_000_000_000_000);
  await client.call('INCR', 'gone');
  await client.call('DEL', 'gone');
  client.close();
  await stop(server);
  const again = await TestClient.open((await start({})).port);
  expect(await again.call('MGET', 'a', 'b', 'c', 'd', 'gone')).toBe(
    '*5\r\n$1\r\n5\r\n$2\r\n-7\r\n$19\r\n9223372036854775807\r\n$1\r\n3\r\n$-1\r\n',
  );
  expect(await again.call('PEXPIRETIME', 'd')).toBe(':4000000000000\r\n');
  expect(await again.call('DBSIZE')).toBe(':4\r\n');
  again.close();
});

test('BGSAVE folds the log into a snapshot; LASTSAVE and INFO show it', async () => {
  const { port } = await start({});
  const client = await TestClient.open(port);
  await client.call('INCR', 'a');
  expect(await client.call('BGSAVE')).toBe('+Background saving started\r\n');
  await vi.waitFor(async () =>
    expect(await readdir(join(directory, 'data'))).toEqual(expect.arrayContaining(['snapshot-0000000002.qdb'])),
  );
  await vi.waitFor(async () => expect(await client.call('INFO', 'persistence')).toMatch(/aof_base_size:[1-9]/));
  expect(Number((await client.call('LASTSAVE')).slice(1))).toBeGreaterThan(1_700_000_000);
  expect(await client.call('BGSAVE', 'NOW')).toBe('-ERR syntax error\r\n');
  expect(await client.call('CONFIG', 'GET', 'appendonly')).toContain('yes');
  client.close();
});

test('SAVE answers when the snapshot is on disk, and BGREWRITEAOF folds the log as BGSAVE does', async () => {
  const { port } = await start({});
  const client = await TestClient.open(port);
  await client.call('INCR', 'a');
  expect(await client.call('SAVE')).toBe('+OK\r\n');
  expect(await readdir(join(directory, 'data'))).toEqual(expect.arrayContaining(['snapshot-0000000002.qdb']));
  expect(await client.call('BGREWRITEAOF')).toBe('+Background append only file rewriting started\r\n');
  await vi.waitFor(async () =>
    expect(await readdir(join(directory, 'data'))).toEqual(expect.arrayContaining(['snapshot-0000000003.qdb'])),
  );
  expect(await client.call('SAVE', 'NOW')).toMatch(/^-ERR wrong number of arguments/);
  client.close();
});

test('a backup taken under traffic starts as a new incarnation that goes on counting', async () => {
  const { port } = await start({});
  const client = await TestClient.open(port);
  await client.call('INCRBY', 'a', 41);
  const target = join(directory, 'data', 'backups', 'first');
  expect(await client.call('BACKUP', 'first')).toBe('+OK\r\n');
  expect(await client.call('BACKUP', target)).toMatch(/^-ERR the backup failed: .* is not empty\r\n$/);
  const copy = await start({ dataDirectory: target });
  const other = await TestClient.open(copy.port);
  expect(await other.call('INCR', 'a')).toBe(':42\r\n');
  expect(copy.server.engine.origins.count).toBe(2);
  other.close();
  client.close();
});

test.each(['/proc/self/x', '../x', 'a/b', '..', '.', '', 'x\u0000', '/tmp/x', `${'x'.repeat(300)}`, 'link'])(
  'a backup is written into its own directory and nowhere else: %j',
  async (name) => {
    const { port } = await start({});
    const backups = join(directory, 'data', 'backups');
    await mkdir(backups);
    await mkdir(join(directory, 'elsewhere'));
    await symlink(join(directory, 'elsewhere'), join(backups, 'link'));
    const client = await TestClient.open(port);
    expect(await client.call('BACKUP', name)).toMatch(/^-ERR the backup failed: .*(--backup-dir|is no directory)/);
    expect([await readdir(backups), await readdir(join(directory, 'elsewhere'))]).toEqual([['link'], []]);
    expect(await client.call('BACKUP', join(backups, 'whole'))).toBe('+OK\r\n');
    client.close();
  },
);

test('a directory for backups that cannot be made is an error, also in /proc', async () => {
  const { port } = await start({ backupDirectory: '/proc/self/x' });
  const client = await TestClient.open(port);
  expect(await client.call('BACKUP', 'first')).toMatch(/^-ERR the backup failed: ENOENT/);
  expect(await client.call('PING')).toBe('+PONG\r\n');
  client.close();
});

test('in memory there is nothing to save, and it is said', async () => {
  const { port } = await start({ dataDirectory: '' });
  const client = await TestClient.open(port);
  expect(await client.call('BGSAVE')).toMatch(/^-ERR there is no data directory/);
  expect(await client.call('BACKUP', '/nowhere')).toMatch(/^-ERR there is no data directory/);
  expect(await client.call('LASTSAVE')).toMatch(/^:\d+\r\n$/);
  client.close();
});
