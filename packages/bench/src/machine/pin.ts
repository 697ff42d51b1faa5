import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Keeps a process on one core, with all its threads and those it starts later. False where that cannot be done: not
 * Linux, no `taskset`, or only one core.
 */
export function pinToCore(pid: number, core: number): boolean {
  if (availableParallelism() <= core) return false;
  return spawnSync('taskset', ['-a', '-c', '-p', String(core), String(pid)], { stdio: 'ignore' }).status === 0;
}
