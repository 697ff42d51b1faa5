import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onBoth } from './on-both.js';

/**
 * @fastify/rate-limit's own suite for Redis, as it is in its package. It dials port 6379, which `redirect-redis.cjs`,
 * loaded before it, changes to the port of the server under test.
 */

const directory = dirname(createRequire(import.meta.url).resolve('@fastify/rate-limit'));
const redirect = join(dirname(fileURLToPath(import.meta.url)), 'redirect-redis.cjs');

async function ownSuite(port: number): Promise<unknown> {
  const words = [
    '--require',
    redirect,
    '--test',
    '--test-reporter=tap',
    join(directory, 'test/redis-rate-limit.test.js'),
  ];
  const child = spawn(process.execPath, words, {
    env: { ...process.env, REDIRECTED_REDIS_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  const failed = [...output.matchAll(/^ *not ok \d+ - (.*)$/gm)].map(([, name]) => name);
  return { code, failed, passed: Number(/^# pass (\d+)$/m.exec(output)?.[1]) };
}

onBoth('@fastify/rate-limit', {
  'its own suite': { run: ownSuite, expected: { code: 0, failed: [], passed: 16 } },
});
