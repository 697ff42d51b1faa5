import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Undo, undoNow } from './cleanup.js';

/**
 * Holds a server to a number of CPUs and to an amount of memory, where this process may: by control groups of version 2
 * (one tree, controllers switched on in the parent) or of version 1 (a tree per controller). Both exist in the field,
 * and in many containers neither may be written; then the server runs unlimited and the result says so.
 */
export const LIMIT_CPUS = 2;
export const LIMIT_MEMORY_BYTES = 2 * 1024 ** 3;

const ROOT = '/sys/fs/cgroup';
const PERIOD_MICROSECONDS = 100_000;
/** A group cannot be removed until the kernel has let go of its last process, a moment after that process ended. */
const REMOVE_ATTEMPTS = 50;
const REMOVE_RETRY_MS = 20;

export interface ControlGroup extends Undo {
  /** Files that a process writes its own id to in order to join. */
  readonly joinFiles: readonly string[];
  holds(pid: number): boolean;
}

export type ControlGroupOutcome = { readonly group: ControlGroup } | { readonly refused: string };

export function createControlGroup(name: string, root: string = ROOT): ControlGroupOutcome {
  const directories: string[] = [];
  const make = (directory: string, settings: Record<string, string>) => {
    mkdirSync(directory);
    directories.push(directory);
    for (const [file, value] of Object.entries(settings)) writeFileSync(join(directory, file), value);
  };
  const quota = String(LIMIT_CPUS * PERIOD_MICROSECONDS);
  const memory = String(LIMIT_MEMORY_BYTES);
  try {
    if (existsSync(join(root, 'cgroup.controllers'))) {
      writeFileSync(join(root, 'cgroup.subtree_control'), '+cpu +memory');
      make(join(root, name), { 'cpu.max': `${quota} ${PERIOD_MICROSECONDS}`, 'memory.max': memory });
    } else if (existsSync(join(root, 'cpu')) && existsSync(join(root, 'memory'))) {
      make(join(root, 'cpu', name), { 'cpu.cfs_period_us': String(PERIOD_MICROSECONDS), 'cpu.cfs_quota_us': quota });
      make(join(root, 'memory', name), { 'memory.limit_in_bytes': memory });
    } else {
      return { refused: 'this machine has no control groups' };
    }
  } catch (error) {
    for (const directory of directories) rmdirSync(directory);
    return { refused: `no right to control groups (${(error as NodeJS.ErrnoException).code ?? error})` };
  }
  return { group: controlGroup(directories) };
}

function controlGroup(directories: readonly string[]): ControlGroup {
  const processFiles = directories.map((directory) => join(directory, 'cgroup.procs'));
  return {
    joinFiles: processFiles,
    holds: (pid) => processFiles.every((file) => readFileSync(file, 'latin1').split('\n').includes(String(pid))),
    ...undoNow(() => directories.forEach(removeOnceEmpty)),
  };
}

/** Blocks while it waits: the bench is about to leave, or between two servers. */
function removeOnceEmpty(directory: string): void {
  for (let attempt = 1; existsSync(directory); attempt++) {
    try {
      rmdirSync(directory);
    } catch (error) {
      if (attempt === REMOVE_ATTEMPTS) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, REMOVE_RETRY_MS);
    }
  }
}
