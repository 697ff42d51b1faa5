import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';

/**
 * A real redis-server of the machine's, to hold our words against. It keeps nothing, listens on loopback only, and
 * lives in a directory of its own that goes with it.
 */
export interface RedisServer {
  readonly port: number;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 10_000;
/** Between finding a free port and Redis taking it, someone else may. */
const START_ATTEMPTS = 3;

export async function startRedis(extraArguments: readonly string[] = []): Promise<RedisServer> {
  let failure: unknown;
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt++) {
    try {
      return await startOnce(extraArguments);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

const redisServerFound: boolean = spawnSync('redis-server', ['--version']).status === 0;

/** `describe` where there is a redis-server. Elsewhere the tests are skipped and say so; in CI they fail. */
export function describeWithRedis(name: string, body: () => void): void {
  if (redisServerFound || process.env.CI === 'true') describe(name, body);
  else describe.skip(`${name} (skipped: no redis-server on this machine)`, body);
}

async function startOnce(extraArguments: readonly string[]): Promise<RedisServer> {
  const port = await freePort();
  const directory = await mkdtemp(join(tmpdir(), 'quotadb-redis-'));
  const fixed = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', directory];
  const child = spawn('redis-server', [...fixed, ...extraArguments], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  // A test run that dies must not leave its server behind.
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);

  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
    process.removeListener('exit', killWithUs);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await ready(child);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, stop };
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    const timer = setTimeout(() => reject(new Error(`redis-server is not ready:\n${output}`)), START_TIMEOUT_MS);
    const look = (chunk: Buffer) => {
      output += chunk.toString();
      if (!output.includes('Ready to accept connections')) return;
      clearTimeout(timer);
      // Read on, and forget: a full pipe would stop the server.
      child.stdout?.off('data', look).resume();
      child.stderr?.off('data', look).resume();
      resolve();
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(new Error('redis-server cannot be started', { cause: error }));
    });
    child.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`redis-server ended with ${code}:\n${output}`));
    });
  });
}

/** Below those that Linux gives to connections and to `listen(0)`: none of these takes a port before it is used. */
const FIRST_PORT = 10_000;
const LAST_PORT = 22_000;
const givenPorts = new Set<number>();

/** A port that is free at the moment, and another one at each call: the caller may not listen on it yet. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (givenPorts.has(port) || !(await isFree(port))) continue;
    givenPorts.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
