import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';
import { findExecutable } from './executable.js';
import { pinToCore } from './pin.js';

test('a core that the machine does not have is not pinned to', () => {
  expect(pinToCore(process.pid, availableParallelism())).toBe(false);
});

const canPin = process.platform === 'linux' && findExecutable('taskset') !== undefined;
test.skipIf(!canPin)('a process stays on the core it is pinned to', () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  try {
    expect(pinToCore(child.pid!, 0)).toBe(true);
    expect(readFileSync(`/proc/${child.pid}/status`, 'utf8')).toMatch(/^Cpus_allowed_list:\s+0$/m);
  } finally {
    child.kill('SIGKILL');
  }
});
