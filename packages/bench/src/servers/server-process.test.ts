import { existsSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { Cleanup } from '../cleanup.js';
import { type ServerCommand, startServerProcess } from './server-process.js';

function program(script: string, onDirectory: (directory: string) => void = () => {}): ServerCommand {
  return {
    name: 'sample',
    program: process.execPath,
    arguments: (directory) => {
      onDirectory(directory);
      return ['-e', script];
    },
    readyPort: (line) => (line.startsWith('ready ') ? Number(line.slice(6)) : undefined),
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

test.each([true, false])('a server that was stopped leaves nothing (limits: %s)', async (withLimits) => {
  let directory = '';
  const cleanup = new Cleanup();
  const server = await startServerProcess(
    program(RUNS_ON, (given) => {
      directory = given;
    }),
    withLimits,
    cleanup,
  );
  expect(server.port).toBe(1234);
  expect(server.limits).toMatch(withLimits ? /^2 CPUs, 2 GiB$|^none: ./ : /^none: not asked for$/);
  expect(isAlive(server.pid)).toBe(true);
  expect(existsSync(directory)).toBe(true);
  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
  expect(existsSync(directory)).toBe(false);
});

test('a server that does not start says what it said, and is cleaned up', async () => {
  const directories: string[] = [];
  const cleanup = new Cleanup();
  const start = startServerProcess(
    program('console.error("no such flag"); process.exit(3)', (directory) => directories.push(directory)),
    true,
    cleanup,
  );
  await expect(start).rejects.toThrow(/sample did not start: it ended \(exit code 3\)\n {2}no such flag/);
  await cleanup.gently();
  expect(directories.some(existsSync)).toBe(false);
});

test("the caller's settings do not reach the server", async () => {
  vi.stubEnv('QUOTADB_DATA', '/somewhere');
  const cleanup = new Cleanup();
  const script = 'console.log("ready " + (process.env.QUOTADB_DATA ? 1 : 2)); setInterval(() => {}, 1000)';
  const server = await startServerProcess(program(script), false, cleanup);
  vi.unstubAllEnvs();
  await server.stop();
  expect(server.port).toBe(2);
});
