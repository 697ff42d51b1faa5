import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QUOTADB_VERSION } from '@quotadb/config';
import { encodeCommand, TestClient, useProcesses } from '@quotadb/server/testing';
import { expect, test, vi } from 'vitest';

const { serve, quotadb } = useProcesses();

test('the first line on standard output says that it is ready, and where', async () => {
  const server = serve(['--region', 'eu']);
  const ready = await server.ready();
  expect(ready).toMatchObject({ ready: true, region: 'eu', pid: server.child.pid });
  expect(ready.resp).toBeGreaterThan(0);
  const client = await TestClient.open(ready.resp);
  expect(await client.call('INCR', 'a')).toBe(':1\r\n');
  expect((await fetch(`http://127.0.0.1:${ready.http}/readyz`)).status).toBe(200);
  client.close();
  const { stdout } = await server.stop();
  expect(stdout.trim().split('\n')).toHaveLength(1);
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends it with exit code 0, and what was read is answered',
  async (signal) => {
    const server = serve();
    const { resp } = await server.ready();
    const client = await TestClient.open(resp);
    client.write(encodeCommand('INCR', 'a').repeat(5000));
    expect(await client.reply()).toBe(':1\r\n');
    server.child.kill(signal);
    const rest = (await client.rest()).split('\r\n');
    expect(rest.pop()).toBe('');
    expect(rest).toEqual(rest.map((_, index) => `:${index + 2}`));
    expect(await server.finished).toMatchObject({ code: 0, signal: null });
  },
);

test('a second signal ends it at once, though a client holds it up', async () => {
  const server = serve();
  const { resp } = await server.ready();
  const client = await TestClient.open(resp);
  await client.call(
    'MSET',
    ...Array.from({ length: 20_000 }, (_, key) => [`a-rather-long-key-to-list-${key}`, 1]).flat(),
  );
  client.socket.pause();
  client.write('KEYS *\r\n'.repeat(20));
  const other = await TestClient.open(resp);
  await vi.waitFor(async () => expect(await other.call('CLIENT', 'LIST')).toMatch(/omem=[1-9]/), 20_000);
  server.child.kill('SIGTERM');
  await other.closed;
  server.child.kill('SIGTERM');
  expect(await server.finished).toMatchObject({ code: 128 + 15 });
  client.close();
});

test('a port in use is said clearly, with exit code 1', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const address = taken.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  for (const flag of ['--resp', '--http', '--repl']) {
    const { code, stderr, stdout } = await serve([flag, String(port)]).finished;
    expect(code).toBe(1);
    expect(stderr).toContain(`127.0.0.1:${port} is in use by another program; choose another port with ${flag}`);
    expect(stdout).toBe('');
  }
  taken.close();
});

test('all mistakes are reported at once, with exit code 2', async () => {
  const server = serve(['--max-memory', 'much', '--host', '0.0.0.0', '--fsync', 'often'], { QUOTADB_TIMEOUT: 'soon' });
  const { code, stderr, stdout } = await server.finished;
  expect(code).toBe(2);
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringContaining('QUOTADB_TIMEOUT: '),
    expect.stringContaining('--max-memory: "much" must be a size, 4mb to 16gb, such as 512mb'),
    expect.stringContaining('--fsync: "often" must be always, never, or a duration, 1ms to 1m'),
    expect.stringContaining('--host: 0.0.0.0 can be reached from other machines'),
  ]);
  expect(stdout).toBe('');
});

test('an unknown flag is a mistake too', async () => {
  const { code, stderr } = await serve(['--resq', '1']).finished;
  expect(code).toBe(2);
  expect(stderr).toContain("unknown option '--resq'");
});

test('settings come from flags, the environment and a file', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'quotadb-test-'));
  try {
    const path = join(directory, 'quotadb.json');
    await writeFile(path, JSON.stringify({ region: 'from-file', 'max-clients': 11, timeout: 22 }));
    const server = serve(['--max-clients', '33'], { QUOTADB_CONFIG: path, QUOTADB_TIMEOUT: '44' });
    const ready = await server.ready();
    expect(ready.region).toBe('from-file');
    const client = await TestClient.open(ready.resp);
    expect(await client.call('CONFIG', 'GET', 'maxclients')).toContain('\r\n33\r\n');
    expect(await client.call('CONFIG', 'GET', 'timeout')).toContain('\r\n44\r\n');
    client.close();
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('keys of a grow-only namespace can only be incremented', async () => {
  const { resp } = await serve(['--grow-only', 'total:', '--grow-only', 'sum:']).ready();
  const client = await TestClient.open(resp);
  expect(await client.call('INCRBY', 'total:a', 5)).toBe(':5\r\n');
  expect(await client.call('DECR', 'sum:a')).toMatch(/^-ERR .*grow-only/);
  expect(await client.call('DEL', 'total:a')).toMatch(/^-ERR .*grow-only/);
  client.close();
});

test('--version and --help', async () => {
  expect(await quotadb('--version').finished).toMatchObject({ code: 0, stdout: `${QUOTADB_VERSION}\n` });
  const help = await quotadb('--help').finished;
  expect(help.code).toBe(0);
  expect(help.stdout).toContain('quotadb serve');
  const serveHelp = await quotadb('serve', '--help').finished;
  expect(serveHelp.stdout).toContain('--max-memory <size>');
  expect(serveHelp.stdout).toContain('--data <directory>');
});

test('bench is handed its own arguments, help among them', async () => {
  const { code, stdout } = await quotadb('bench', '--help').finished;
  expect(code).toBe(0);
  expect(stdout).toContain('quotadb bench');
});
