import { readdirSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { Cleanup } from '../machine/cleanup.js';
import { temporaryDirectory } from '../testing/temporary-directory.js';
import { type ServerCommand, startServerProcess } from './server-process.js';

afterEach(() => vi.unstubAllEnvs());

function program(script: string, limits = false): ServerCommand<{ port: number }> {
  return {
    name: 'sample',
    program: process.execPath,
    arguments: ['-e', script],
    ready: (line) => (line.startsWith('ready ') ? { port: Number(line.slice(6)) } : undefined),
    limits,
  };
}

const RUNS_ON = 'setInterval(() => {}, 1000); console.log("starting"); console.log("ready 1234");';

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test.each([true, false])('a server that was stopped leaves nothing (limits: %s)', async (limits) => {
  const directory = temporaryDirectory();
  vi.stubEnv('TMPDIR', directory);
  const server = await startServerProcess(program(RUNS_ON, limits), new Cleanup());
  expect(server.port).toBe(1234);
  expect(server.limits).toMatch(limits ? /^2 CPUs, 2 GiB$|^none: ./ : /^none: not asked for$/);
  expect(isAlive(server.pid)).toBe(true);
  expect(readdirSync(directory)).toHaveLength(1);
  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
  expect(readdirSync(directory)).toEqual([]);
});

test('the error of a server that does not start has its output, and the directory is removed', async () => {
  const directory = temporaryDirectory();
  vi.stubEnv('TMPDIR', directory);
  const cleanup = new Cleanup();
  const start = startServerProcess(program('console.error("no such flag"); process.exit(3)', true), cleanup);
  await expect(start).rejects.toThrow(/sample did not start: it ended \(exit code 3\)\n {2}no such flag/);
  await cleanup.gently();
  expect(readdirSync(directory)).toEqual([]);
});

test("the caller's settings do not reach the server", async () => {
  vi.stubEnv('QUOTADB_DATA', '/somewhere');
  const cleanup = new Cleanup();
  const script = 'console.log("ready " + (process.env.QUOTADB_DATA ? 1 : 2)); setInterval(() => {}, 1000)';
  const server = await startServerProcess(program(script), cleanup);
  await server.stop();
  expect(server.port).toBe(2);
});
