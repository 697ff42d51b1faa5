import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Keeps a process, all its threads and those to come on one core. False where that cannot be done: not Linux, no `taskset`,
 * or only one core.
 */
export function pinToCore(pid: number, core: number): boolean {
  if (availableParallelism() <= core) return false;
  return spawnSync('taskset', ['-a', '-c', '-p', String(core), String(pid)], { stdio: 'ignore' }).status === 0;
}
