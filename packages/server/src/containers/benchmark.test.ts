import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runProgram } from '../testing/index.js';
import { REPOSITORY } from './compose.js';

/** deploy/benchmark.sh with a redis-benchmark that measures nothing, and fails at the port 1. */
const STAND_IN = `#!/bin/sh
case "$*" in
  *'-p 1 '*) echo 'Could not connect to server at host:1: Connection refused'; exit 1 ;;
  *'-p 2 '*) echo 'Error from server: NOAUTH Authentication required.'; exit 0 ;;
esac
printf 'INCR: rps=0.0\\rINCR: 100.00 requests per second, p50=0.1 msec\\n'
`;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quotadb-benchmark-'));
  await writeFile(join(directory, 'redis-benchmark'), STAND_IN, { mode: 0o755 });
});
afterAll(() => rm(directory, { recursive: true }));

const benchmark = (...targets: readonly string[]) =>
  runProgram('sh', [join(REPOSITORY, 'deploy/benchmark.sh'), ...targets], {
    env: { ...process.env, PATH: `${directory}:${process.env.PATH}` },
  });

test('the benchmark measures both targets in turns, three times', async () => {
  const { code, stdout } = await benchmark('us:6380', 'redis:6379');
  expect(code).toBe(0);
  const lines = stdout.trim().split('\n');
  expect(lines).toHaveLength(12);
  expect(lines[0]).toBe('round 1, pipeline 1, us:6380: INCR: 100.00 requests per second, p50=0.1 msec');
  expect(lines[1]).toContain('redis:6379');
});

test.each([
  ['cannot be reached', 'redis:1', 'Connection refused'],
  ['gives no figures', 'redis:2', 'NOAUTH'],
])('the benchmark ends at a target that %s, and says why', async (_, target, reason) => {
  const { code, stdout, stderr } = await benchmark('us:6380', target);
  expect(code).toBe(1);
  expect(stdout.trim().split('\n')).toHaveLength(1);
  expect(stderr).toContain(`${target} cannot be measured: `);
  expect(stderr).toContain(reason);
});
