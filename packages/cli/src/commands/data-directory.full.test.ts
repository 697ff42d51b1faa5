import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestClient, useProcesses } from '@quotadb/server/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-test-'));
});
afterEach(() => rm(directory, { recursive: true }));

// Behind the directory: hooks run backwards, so what writes to it is gone before it is.
const processes = useProcesses();
const { quotadb } = processes;
const serve = (...flags: string[]) => processes.serve(flags);

test('a second process on the same directory is refused, also right after the first was killed it is not', async () => {
  const data = join(directory, 'data');
  const first = serve('--data', data);
  await first.ready();
  const { code, stderr } = await serve('--data', data).finished;
  expect(code).toBe(1);
  expect(stderr).toContain(`is in use by process ${first.child.pid}`);
  first.child.kill('SIGKILL');
  await first.finished;
  expect((await serve('--data', data).ready()).ready).toBe(true);
});

test('another region on an existing directory is refused', async () => {
  const data = join(directory, 'data');
  const first = serve('--data', data, '--region', 'us');
  await first.ready();
  await first.stop();
  const { code, stderr } = await serve('--data', data, '--region', 'eu').finished;
  expect(code).toBe(1);
  expect(stderr).toContain('belongs to region "us", not "eu"');
});

test('a directory that cannot be one is refused with a clear message', async () => {
  await writeFile(join(directory, 'file'), '');
  const { code, stderr } = await serve('--data', join(directory, 'file')).finished;
  expect(code).toBe(1);
  expect(stderr).toContain('cannot be used: it is not a directory');
});

test('in memory the log says that nothing is kept', async () => {
  const server = serve('--log-level', 'warn');
  await server.ready();
  expect((await server.stop()).stderr).toContain('nothing is kept when the server stops');
});

test('a damaged log stops the start; repair salvages the rest, lists the losses, and the server starts', async () => {
  const data = join(directory, 'data');
  for (const key of ['a', 'b', 'c']) {
    const server = serve('--data', data, '--fsync', 'always');
    const client = await TestClient.open((await server.ready()).resp);
    await client.call('INCRBY', key, 5);
    client.close();
    await server.stop();
  }
  const incarnation = JSON.parse(await readFile(join(data, 'identity.json'), 'utf8')).incarnation;
  const path = join(data, 'log-0000000002.qdb');
  const bytes = await readFile(path);
  bytes[bytes.length - 3] ^= 1;
  await writeFile(path, bytes);
  const refused = await serve('--data', data).finished;
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`${path} is damaged at byte 80`);
  const repaired = await quotadb('repair', '--data', data).finished;
  expect(repaired.code).toBe(0);
  expect(repaired.stdout).toContain(`lost: ${path}`);
  expect(repaired.stdout).toContain('salvaged: 2 components, 2 keys');
  const client = await TestClient.open((await serve('--data', data).ready()).resp);
  expect(await client.call('MGET', 'a', 'b', 'c')).toBe('*3\r\n$1\r\n5\r\n$-1\r\n$1\r\n5\r\n');
  client.close();
  expect(JSON.parse(await readFile(join(data, 'identity.json'), 'utf8')).incarnation).not.toBe(incarnation);
  expect((await readdir(data)).some((name) => name.startsWith('damaged-'))).toBe(true);
});

test('repair leaves a directory that is whole alone, and names one that is none', async () => {
  const data = join(directory, 'data');
  const server = serve('--data', data);
  await server.ready();
  await server.stop();
  const whole = await quotadb('repair', '--data', data).finished;
  expect(whole).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing is damaged') });
  const none = await quotadb('repair', '--data', directory).finished;
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('is no data directory') });
});

test('backup makes a directory from which a server starts: a new incarnation, or with a flag the same', async () => {
  const data = join(directory, 'data');
  const server = serve('--data', data, '--password', 'secret');
  const { resp } = await server.ready();
  const client = await TestClient.open(resp);
  await client.call('AUTH', 'secret');
  await client.call('INCRBY', 'a', 7);
  client.close();
  const incarnationOf = async (path: string) =>
    JSON.parse(await readFile(join(path, 'identity.json'), 'utf8')).incarnation;
  for (const flags of [[], ['--keep-incarnation']]) {
    const target = join(data, 'backups', `backup-${flags.length}`);
    const to = ['--to', `backup-${flags.length}`];
    const backup = await quotadb('backup', '--resp', String(resp), '--password', 'secret', ...to).finished;
    expect(backup).toMatchObject({ code: 0, stdout: expect.stringContaining(`${target} holds a backup`) });
    const copy = await TestClient.open((await serve('--data', target, ...flags).ready()).resp);
    expect(await copy.call('INCR', 'a')).toBe(':8\r\n');
    copy.close();
    expect((await incarnationOf(target)) === (await incarnationOf(data))).toBe(flags.length === 1);
  }
  const refused = await quotadb('backup', '--resp', String(resp), '--to', 'other').finished;
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('NOAUTH') });
});
